"""Record calls of the families beyond the first four: what was selected, what a delegation did, what it changed.

As all record calls they return at once, never raise and never change what the host does.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum

from unmask.producers.bell import Bell
from unmask.producers.buffer import Lane, RawEvent
from unmask.producers.classify_reason import classify_refusal
from unmask.producers.custody import Clock
from unmask.producers.selection import Selections
from unmask.schemas.codes import (
    CallOutcome,
    ClearedBy,
    EffectStep,
    Enforcer,
    SelectionScope,
    SelectionSource,
    SelectionTimeline,
)

__all__ = ["FurtherRecords"]

_CLOSED: tuple[type[StrEnum], ...] = (
    SelectionSource, SelectionScope, SelectionTimeline, ClearedBy, CallOutcome, EffectStep, Enforcer,
)  # fmt: skip
# Texts instead of members: a member in a lane is something that the garbage collector goes through again and again.
_WORDS = {code.value: code.value for codes in _CLOSED for code in codes}


class FurtherRecords:
    """The part of an emitter that takes them. A lane, the clock and the bell are the emitter's."""

    _clock: Clock
    _bell: Bell
    _lane_selection: Lane
    _lane_progress: Lane
    _lane_effect: Lane

    def record_selection(
        self,
        session_id: object,
        turn: int,
        profile: str,
        *,
        source: str,
        scope: str,
        timeline: str,
        cleared_by: str | None = None,
        reason_code: object = None,
        emergency: bool = False,
        expires_at: datetime | None = None,
    ) -> None:
        """A profile was used in a turn (`live`), written down for later turns (`persisted`), or taken back (`cleared`).

        `profile` is an opaque identifier. `source` is who chose it, also where it is taken back, by `cleared_by` then;
        `scope` is for how long it was meant, with `expires_at` (an aware datetime) where that is a window.
        `reason_code` is the fault of this very turn that made it necessary: an exception, a status, a text or a code.
        """
        lane = self._lane_selection
        try:
            now = self._clock()
            if type(session_id) is not str:
                session_id = getattr(session_id, "session_id", session_id)
            code = None if reason_code is None else classify_refusal(reason_code)
            event = (
                now, session_id, turn, profile, _word(source), _word(scope), _word(timeline), _word(cleared_by),
                None if code is None else code._value_, emergency, expires_at,
            )  # fmt: skip
        except Exception:
            self._refuse(lane)
            return
        self._record(lane, event)
        self._bell.ring()

    def record_delegation_progress(
        self,
        *,
        delegation_id: str,
        session_id: object,
        invocation_id: str,
        step: int,
        turn: int,
        outcome: str,
        attempt: int = 1,
        tokens: int = 0,
        signal: str | None = None,
        state_digest: str | None = None,
        conditions: str | None = None,
        subject: str | None = None,
        measure: int | None = None,
        declared_scope: str | None = None,
        budget_calls: int | None = None,
        budget_tokens: int | None = None,
        budget_attempts: int | None = None,
    ) -> None:
        """A call of a delegation ended. As attempts it waits up to a second for its batch."""
        lane = self._lane_progress
        try:
            now = self._clock()
            if type(session_id) is not str:
                session_id = getattr(session_id, "session_id", session_id)
            event = (
                now, delegation_id, session_id, invocation_id, step, turn, _word(outcome), attempt, tokens, signal,
                state_digest, conditions, subject, measure, declared_scope, budget_calls, budget_tokens,
                budget_attempts,
            )  # fmt: skip
        except Exception:
            self._refuse(lane)
            return
        self._record(lane, event)

    def record_delegation_effect(
        self,
        *,
        delegation_id: str,
        session_id: object,
        invocation_id: str,
        turn: int,
        step: str,
        enforcer: str | None = None,
        answer: str | None = None,
        effect_key: str | None = None,
        fingerprint: str | None = None,
        fencing_token: int | None = None,
        receipt: str | None = None,
        by: str | None = None,
        reason_code: str | None = None,
    ) -> None:
        """What became of an effect that a delegation wanted. `answer` and `reason_code` are labels."""
        lane = self._lane_effect
        try:
            now = self._clock()
            if type(session_id) is not str:
                session_id = getattr(session_id, "session_id", session_id)
            event = (
                now, delegation_id, session_id, invocation_id, turn, _word(step), _word(enforcer), answer, effect_key,
                fingerprint, fencing_token, receipt, by, reason_code,
            )  # fmt: skip
        except Exception:
            self._refuse(lane)
            return
        self._record(lane, event)
        self._bell.ring()

    def selections(
        self,
        session: object,
        *,
        candidates: Iterable[str],
        emergency: Iterable[str] = (),
        preference: str | None = None,
        persist: Callable[[str | None], object] | None = None,
    ) -> Selections:
        """The guard of a session's selections (a session or its id): see Selections. Raises InvalidProfiles.

        `candidates` are profiles in the order in which they stand in for one another, the first one being used while
        nothing fails and the user prefers none; `emergency` are those for a turn whose primary failed, and no other.
        """
        return Selections(
            self, session, candidates=candidates, emergency=emergency, preference=preference, persist=persist
        )

    def _record(self, lane: Lane, event: RawEvent) -> None:
        raise NotImplementedError

    def _refuse(self, lane: Lane) -> None:
        raise NotImplementedError


def _word(code: str | None) -> str | None:
    return None if code is None else _WORDS.get(code, code)
