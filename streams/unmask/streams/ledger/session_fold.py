"""Sessions: what a batch says of them, into what this partition knows of each."""

from typing import Any

from unmask.schemas.codes import Equivalence, UpstreamClass
from unmask.schemas.signatures import classify_signature, is_unreachable
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import Emitter, PartitionState, Session

__all__ = ["abandon_sessions", "fold_sessions"]

_MAX_MASKED = 64
_MAX_DEGRADED = 1024
_MAX_TEARDOWNS = 8
_EXHAUSTED = {UpstreamClass.RATE_LIMITED, UpstreamClass.QUOTA}


def fold_sessions(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, batch: dict[str, Any], arrival: int
) -> None:
    """Folds a batch's openings, masked errors, fallbacks and teardowns into the sessions that they name."""
    for opening in batch["session_openings"]:
        session = _touch(state, rules, emitter_id, emitter, opening, arrival)
        if session is None:
            continue
        at = opening["occurred_at"]
        session.opened_at = at if session.opened_at is None else min(session.opened_at, at)
        session.predecessor = opening["predecessor_session_id"] or session.predecessor
        if not session.teardowns:
            # Opened again, here or on another emitter: whatever was abandoned is taken up.
            session.abandoned_at = session.ended_arrival = None
            emitter.open_sessions.add(opening["session_id"])
    for masked in batch["masked_errors"]:
        session = _touch(state, rules, emitter_id, emitter, masked, arrival)
        if session is not None:
            _mask(session, masked)
    for fallback in batch["kernel_fallbacks"]:
        if fallback["session_id"] is not None:
            session = _touch(state, rules, emitter_id, emitter, fallback, arrival)
            if session is not None:
                _fall_back(session, fallback["operation_id"])
    for teardown in batch["session_teardowns"]:
        session = _touch(state, rules, emitter_id, emitter, teardown, arrival)
        if session is not None:
            _tear_down(session, emitter_id, teardown, arrival)
            for other in session.emitters:
                known = state.emitters.get(other)
                if known is not None and teardown["session_id"] in known.open_sessions:
                    known.open_sessions.discard(teardown["session_id"])
                    state.touched.emitters.add(other)


def abandon_sessions(state: PartitionState, emitter_id: str, emitter: Emitter, at: int, arrival: int) -> None:
    """The emitter closed or fell silent: its open sessions are abandoned, unless another emitter has them open."""
    for session_id in sorted(emitter.open_sessions):
        session = state.sessions.get(session_id)
        if session is None or session.teardowns or session.abandoned_at is not None:
            continue
        others = (state.emitters.get(name) for name in session.emitters if name != emitter_id)
        if any(
            o is not None and not o.closed and o.unaccounted is None and session_id in o.open_sessions for o in others
        ):
            continue
        session.abandoned_at, session.ended_arrival = at, arrival
        state.touched.sessions.add(session_id)
        state.touched.urgent = True


def _touch(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, event: dict[str, Any], arrival: int
) -> Session | None:
    """The event's session, new if need be. None for a session that has been forgotten: its verdict stands."""
    session_id, at = event["session_id"], event["occurred_at"]
    session = state.sessions.get(session_id)
    if session is None:
        if at + rules.session_horizon_us < state.newest:
            return None
        session = state.sessions[session_id] = Session(emitter.scope)
    if emitter_id not in session.emitters:
        session.emitters.append(emitter_id)
        opened = at if session.opened_at is None and event.keys() >= {"predecessor_session_id"} else session.opened_at
        # Stretches that were lossy before this session was first seen may have held its opening.
        for stretch, (cut_after, cut_before) in emitter.flaws.items():
            if (opened or 0) <= cut_before and cut_after <= at:
                session.flaws.add(f"{emitter_id}/{stretch}")
    if session.abandoned_at is not None and not session.teardowns and at > session.abandoned_at:
        # It lives after all; its end is still to come.
        session.abandoned_at = session.ended_arrival = None
        emitter.open_sessions.add(session_id)
    session.last_seen_at = max(session.last_seen_at, at)
    state.touched.sessions.add(session_id)
    return session


def _mask(session: Session, masked: dict[str, Any]) -> None:
    operation, signature = masked["operation_id"], masked["masked_upstream_signature"]
    equal = masked["equivalence"] == Equivalence.BIT_FOR_BIT.value
    session.masked_errors += 1
    if len(session.degraded) < _MAX_DEGRADED:
        session.degraded.add(operation)
    session.proven[operation] = session.proven.get(operation, True) and equal
    session.unreachable += is_unreachable(signature)
    session.exhausted += classify_signature(signature) in _EXHAUSTED
    primary, fallback = masked["primary_shape"], masked["fallback_shape"]
    session.shape_drifts += primary is not None and fallback is not None and primary != fallback
    if len(session.masked) < _MAX_MASKED:
        session.masked.append({name: value for name, value in masked.items() if name != "session_id"})


def _fall_back(session: Session, operation: str | None) -> None:
    session.fallbacks += 1
    if operation is None:
        session.anonymous_fallbacks += 1
    elif len(session.degraded) < _MAX_DEGRADED:
        session.degraded.add(operation)


def _tear_down(session: Session, emitter_id: str, teardown: dict[str, Any], arrival: int) -> None:
    claim = {name: value for name, value in teardown.items() if name != "session_id"} | {"emitter_id": emitter_id}
    if claim not in session.teardowns:
        session.teardowns = sorted([*session.teardowns, claim], key=lambda t: t["occurred_at"])[-_MAX_TEARDOWNS:]
    session.abandoned_at = None
    session.ended_arrival = arrival
