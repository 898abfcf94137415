"""Sessions: what a batch says of them, into what this partition knows of each.

A session is open on every emitter that named it until a teardown ends it. An emitter that closes, falls silent or has
too many open leaves its sessions abandoned, unless another emitter still has them open.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from unmask.schemas.codes import Equivalence, UpstreamClass
from unmask.schemas.signatures import classify_signature, is_unreachable
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_life import abandon_session, leave_session
from unmask.streams.ledger.session_work import SessionWork
from unmask.streams.ledger.state import Beyond, Emitter, PartitionState, Session

__all__ = ["MAX_DEGRADED", "MAX_FURTHER", "fold_sessions"]

MAX_DEGRADED = 1024
"""Degraded operations that are known by name; further ones are by a digest, 48 bits each, and counted."""
MAX_FURTHER = 16_384
"""Further ones that are told apart for certain; of even more, those that one batch tells of are."""
_MAX_MASKED = 64
_MAX_TEARDOWNS = 8
_MAX_MOVED = 256
_EXHAUSTED = {UpstreamClass.RATE_LIMITED, UpstreamClass.QUOTA}


class _Naming:
    """One batch naming sessions."""

    __slots__ = ("_counted_further", "_emitter", "_emitter_id", "_late", "_rules", "_state", "arrival")

    def __init__(
        self, state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, arrival: int, *, late: bool
    ) -> None:
        self._state = state
        self._rules = rules
        self._emitter_id = emitter_id
        self._emitter = emitter
        self.arrival = arrival
        # A batch that fills a gap: what it opens may have ended, and been forgotten, long ago.
        self._late = late
        # An operation tells of itself as a masked error and as a fallback, mostly in one batch.
        self._counted_further: set[tuple[str, str]] = set()

    def open(self, opening: dict[str, Any]) -> None:
        """A session begins on this emitter, or is taken up again."""
        session_id, at = opening["session_id"], opening["occurred_at"]
        session = self._named(session_id, at, opens=True)
        if session is None:
            return
        session.opened_at = at if session.opened_at is None else min(session.opened_at, at)
        session.predecessor = opening["predecessor_session_id"] or session.predecessor
        if not session.teardowns or at > max(teardown["occurred_at"] for teardown in session.teardowns):
            session.abandoned_at = session.ended_arrival = None
            self._keep_open(session_id, session)

    def mask(self, masked: dict[str, Any]) -> None:
        """An error of one of its operations was masked."""
        session_id, operation = masked["session_id"], masked["operation_id"]
        session = self._named(session_id, masked["occurred_at"])
        if session is None:
            return
        signature = masked["masked_upstream_signature"]
        session.masked_errors += 1
        if self._degrade(session_id, session, operation):
            equal = masked["equivalence"] == Equivalence.BIT_FOR_BIT.value
            session.proven[operation] = session.proven.get(operation, True) and equal
        session.unreachable += is_unreachable(signature)
        session.exhausted += classify_signature(signature) in _EXHAUSTED
        primary, fallback = masked["primary_shape"], masked["fallback_shape"]
        session.shape_drifts += primary is not None and fallback is not None and primary != fallback
        if len(session.masked) < _MAX_MASKED:
            session.masked.append({name: value for name, value in masked.items() if name != "session_id"})

    def fall_back(self, fallback: dict[str, Any]) -> None:
        """One of its operations fell back."""
        session_id, operation = fallback["session_id"], fallback["operation_id"]
        session = self._named(session_id, fallback["occurred_at"])
        if session is None:
            return
        session.fallbacks += 1
        if operation is None:
            session.anonymous_fallbacks += 1
        else:
            self._degrade(session_id, session, operation)

    def select(self, selection: dict[str, Any]) -> None:
        """A profile was chosen, persisted or cleared for it."""
        work = self._work(selection)
        if work is not None:
            work.select(self._emitter_id, selection)

    def progress(self, progress: dict[str, Any]) -> None:
        """A call of one of its delegations ended."""
        work, beyond = self._work(progress), self._emitter.beyond
        if work is None:
            return
        moved = work.call(self._emitter_id, progress, beyond.moved if beyond is not None else ())
        if moved:
            _learn(self._emitter, moved)

    def effect(self, effect: dict[str, Any]) -> None:
        """Something became of an effect that one of its delegations wanted."""
        work = self._work(effect)
        if work is not None:
            work.effect(self._emitter_id, effect)

    def _work(self, event: dict[str, Any]) -> SessionWork | None:
        session = self._named(event["session_id"], event["occurred_at"])
        if session is None:
            return None
        work = session.work
        if work is None:
            work = session.work = SessionWork()
        return work

    def tear_down(self, teardown: dict[str, Any]) -> None:
        """It ended."""
        session_id = teardown["session_id"]
        session = self._named(session_id, teardown["occurred_at"])
        if session is None:
            return
        said = {name: value for name, value in teardown.items() if name != "session_id"}
        claim = said | {"emitter_id": self._emitter_id}
        if claim not in session.teardowns:
            session.teardowns = sorted([*session.teardowns, claim], key=lambda t: t["occurred_at"])[-_MAX_TEARDOWNS:]
        session.abandoned_at = None
        session.ended_arrival = self.arrival
        for name in session.open_on:
            if (emitter := self._state.emitters.get(name)) is not None:
                emitter.open_sessions.pop(session_id, None)
        session.open_on.clear()

    def _named(self, session_id: str, at: int, *, opens: bool = False) -> Session | None:
        """The session, new if need be. None for one that may have been forgotten: its verdict stands."""
        state, emitter, emitter_id = self._state, self._emitter, self._emitter_id
        session = state.sessions.get(session_id)
        if session is None:
            # One that begins here was never known, unless this is a batch that was long overdue.
            if at + self._rules.session_horizon_us < state.newest and (self._late or not opens):
                return None
            session = state.sessions[session_id] = Session(emitter.scope)
        if session_id not in emitter.sessions:
            emitter.sessions.add(session_id)
            if emitter_id not in session.emitters:
                session.emitters.append(emitter_id)
        ended = bool(session.teardowns)
        if session.abandoned_at is not None and (
            at > session.abandoned_at or not (ended or session_id in emitter.open_sessions)
        ):
            # It lives after all, on this emitter; its end is still to come.
            session.abandoned_at = session.ended_arrival = None
            ended = False
        if not ended:
            self._keep_open(session_id, session)
        session.last_seen_at = max(session.last_seen_at, at)
        state.touched.sessions.add(session_id)
        return session

    def _keep_open(self, session_id: str, session: Session) -> None:
        emitter = self._emitter
        if session_id in emitter.open_sessions:
            return
        session.open_on.add(self._emitter_id)
        emitter.open_sessions[session_id] = None
        if len(emitter.open_sessions) > self._rules.open_session_limit:
            oldest = next(iter(emitter.open_sessions))
            leave_session(self._state, oldest, self._emitter_id, emitter)
            abandon_session(
                self._state, oldest, self._emitter_id, self._state.sessions[oldest].last_seen_at, self.arrival
            )

    def _degrade(self, session_id: str, session: Session, operation: str) -> bool:
        """Counts the operation as degraded, once. Returns whether it is known by its name."""
        if operation in session.degraded:
            return True
        if len(session.degraded) < MAX_DEGRADED:
            session.degraded.add(operation)
            return True
        short = _short(operation)
        if short in session.further or (session_id, operation) in self._counted_further:
            return False
        if len(session.further) < MAX_FURTHER:
            session.further.add(short)
        else:
            self._counted_further.add((session_id, operation))
        session.degraded_further += 1
        return False


def fold_sessions(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, batch: dict[str, Any], arrival: int,
    *, late: bool,
) -> None:  # fmt: skip
    """Folds what a batch says of sessions into the sessions that it names."""
    naming = _Naming(state, rules, emitter_id, emitter, arrival, late=late)
    for opening in batch["session_openings"]:
        naming.open(opening)
    for masked in batch["masked_errors"]:
        naming.mask(masked)
    for fallback in batch["kernel_fallbacks"]:
        if fallback["session_id"] is not None:
            naming.fall_back(fallback)
    for selection in batch["route_selections"]:
        naming.select(selection)
    for progress in batch["delegation_progress"]:
        naming.progress(progress)
    for effect in batch["delegation_effects"]:
        naming.effect(effect)
    for teardown in batch["session_teardowns"]:
        naming.tear_down(teardown)


def _learn(emitter: Emitter, moved: Iterable[str]) -> None:
    """Signals that were seen to move in one delegation of an emitter count as seen to move in its others."""
    beyond = emitter.beyond = emitter.beyond or Beyond()
    for signal in moved:
        if signal not in beyond.moved:
            beyond.moved[signal] = None
            beyond.changed = True
    while len(beyond.moved) > _MAX_MOVED:
        del beyond.moved[next(iter(beyond.moved))]


def _short(operation: str) -> str:
    return b64encode(hashlib.blake2b(operation.encode(), digest_size=6).digest()).decode()
