"""Selections and delegations as they are published: closed words, clean identifiers, whole numbers.

What is no word of a closed set, no number, or no instant makes the event invalid: it is dropped, and counted as such.
So is a number that no record may hold. One such number would have the whole batch refused, with everything beside it.
"""

from datetime import datetime
from enum import StrEnum
from operator import index
from typing import Any, SupportsIndex

from unmask.producers.buffer import RawEvent
from unmask.producers.published import Vocabulary, identifier, optional_identifier
from unmask.schemas.bounds import LAST_INSTANT, MOST
from unmask.schemas.codes import (
    CallOutcome,
    ClearedBy,
    EffectStep,
    Enforcer,
    Family,
    SelectionScope,
    SelectionSource,
    SelectionTimeline,
)
from unmask.schemas.instants import to_micros

__all__ = ["FurtherCleaner"]


def _words(codes: type[StrEnum]) -> dict[object, str]:
    """Every code that may be sent; those of older readers may not."""
    return {code: code.value for code in codes if not code.name.startswith("UNKNOWN_")}


_SOURCES, _SCOPES, _TIMELINES = _words(SelectionSource), _words(SelectionScope), _words(SelectionTimeline)
_CLEARED_BY, _OUTCOMES = {**_words(ClearedBy), None: None}, _words(CallOutcome)
_STEPS, _ENFORCERS = _words(EffectStep), {**_words(Enforcer), None: None}


class FurtherCleaner:
    """Cleans the events of the families beyond the first four; its vocabularies bound the labels."""

    def __init__(self, label_limit: int) -> None:
        self._answer = Vocabulary(label_limit)
        self._reason = Vocabulary(label_limit)

    def body(self, family: Family, raw: RawEvent) -> dict[str, Any]:
        """The wire's record without its instant. May raise anything that a foreign object raises."""
        if family is Family.ROUTE_SELECTION:
            return _selection(raw)
        if family is Family.DELEGATION_PROGRESS:
            return _progress(raw)
        return self._effect(raw)

    def _effect(self, raw: RawEvent) -> dict[str, Any]:
        (
            _, delegation_id, session_id, invocation_id, turn, step, enforcer, answer, effect_key, fingerprint,
            fencing_token, receipt, by, reason_code,
        ) = raw  # fmt: skip
        return {
            "delegation_id": identifier(delegation_id),
            "session_id": identifier(session_id),
            "invocation_id": identifier(invocation_id),
            "turn": _whole(turn),
            "step": _STEPS[step],
            "enforcer": _ENFORCERS[enforcer],
            "answer": None if answer is None else self._answer(answer),
            "effect_key": optional_identifier(effect_key),
            "fingerprint": optional_identifier(fingerprint),
            "fencing_token": _optional_whole(fencing_token),
            "receipt": optional_identifier(receipt),
            "by": optional_identifier(by),
            "reason_code": None if reason_code is None else self._reason(reason_code),
        }


def _selection(raw: RawEvent) -> dict[str, Any]:
    _, session_id, turn, profile, source, scope, timeline, cleared_by, reason_code, emergency, expires_at = raw
    return {
        "session_id": identifier(session_id),
        "turn": _whole(turn),
        "profile": identifier(profile),
        "source": _SOURCES[source],
        "scope": _SCOPES[scope],
        "timeline": _TIMELINES[timeline],
        "cleared_by": _CLEARED_BY[cleared_by],
        "reason_code": reason_code,
        "emergency": bool(emergency),
        "expires_at": _optional_instant(expires_at),
    }


def _progress(raw: RawEvent) -> dict[str, Any]:
    (
        _, delegation_id, session_id, invocation_id, step, turn, outcome, attempt, tokens, signal, state_digest,
        conditions, subject, measure, declared_scope, budget_calls, budget_tokens, budget_attempts,
    ) = raw  # fmt: skip
    return {
        "delegation_id": identifier(delegation_id),
        "session_id": identifier(session_id),
        "invocation_id": identifier(invocation_id),
        "step": _whole(step, 1),
        "turn": _whole(turn),
        "outcome": _OUTCOMES[outcome],
        "attempt": _whole(attempt, 1),
        "tokens": _whole(tokens),
        "signal": optional_identifier(signal),
        "state_digest": optional_identifier(state_digest),
        "conditions": optional_identifier(conditions),
        "subject": optional_identifier(subject),
        "measure": _optional_whole(measure, -MOST),
        "declared_scope": optional_identifier(declared_scope),
        "budget_calls": _optional_whole(budget_calls),
        "budget_tokens": _optional_whole(budget_tokens),
        "budget_attempts": _optional_whole(budget_attempts),
    }


def _whole(number: object, least: int = 0) -> int:
    if isinstance(number, bool) or not isinstance(number, SupportsIndex) or not least <= index(number) <= MOST:
        raise ValueError(f"must be a whole number from {least} to {MOST}")
    return index(number)


def _optional_whole(number: object, least: int = 0) -> int | None:
    return None if number is None else _whole(number, least)


def _optional_instant(instant: object) -> int | None:
    if instant is None:
        return None
    if not isinstance(instant, datetime):
        raise ValueError("must be an aware datetime: a bare number says no unit")
    # Hosts write the first or the last instant that there is for what is over already, and for what never ends.
    return min(max(to_micros(instant), 0), LAST_INSTANT)
