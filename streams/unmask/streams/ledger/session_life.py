"""How sessions go on without a word of their own: abandoned, left, taken up again, forgotten."""

from unmask.schemas.codes import FlawCause
from unmask.streams.ledger.state import Emitter, PartitionState

__all__ = [
    "abandon_session",
    "abandon_sessions",
    "forget_session",
    "leave_session",
    "leave_sessions",
    "revive_sessions",
]

_SILENT = FlawCause.SILENT.value


def abandon_sessions(state: PartitionState, emitter_id: str, emitter: Emitter, at: int, arrival: int) -> None:
    """The emitter fell silent: its open sessions are abandoned, unless another emitter has them open."""
    for session_id in emitter.open_sessions:
        abandon_session(state, session_id, emitter_id, at, arrival)


def leave_sessions(state: PartitionState, emitter_id: str, emitter: Emitter, at: int, arrival: int) -> None:
    """The emitter closed: as abandon_sessions, and it will never say more of them."""
    for session_id in list(emitter.open_sessions):
        leave_session(state, session_id, emitter_id, emitter)
        abandon_session(state, session_id, emitter_id, at, arrival)


def revive_sessions(state: PartitionState, emitter: Emitter) -> None:
    """The emitter was silent and sends again: what was abandoned for its silence goes on."""
    for session_id in emitter.open_sessions:
        session = state.sessions[session_id]
        if session.abandoned_at is not None:
            session.abandoned_at = session.ended_arrival = None
            state.touched.sessions.add(session_id)


def forget_session(state: PartitionState, session_id: str) -> None:
    """Removes a session that ended long ago."""
    session = state.sessions.pop(session_id)
    for name in session.emitters:
        if (emitter := state.emitters.get(name)) is not None:
            emitter.sessions.discard(session_id)
            emitter.open_sessions.pop(session_id, None)
    state.touched.sessions.discard(session_id)
    state.touched.removed_sessions.append(session_id)
    if session.work is not None:
        state.touched.removed_work.append((session_id, tuple(session.work.delegations)))


def leave_session(state: PartitionState, session_id: str, emitter_id: str, emitter: Emitter) -> None:
    """The session is no longer open on the emitter."""
    emitter.open_sessions.pop(session_id, None)
    state.sessions[session_id].open_on.discard(emitter_id)
    state.touched.sessions.add(session_id)


def abandon_session(state: PartitionState, session_id: str, emitter_id: str, at: int, arrival: int) -> None:
    """Nobody will end it, unless another emitter that sends has it open."""
    session = state.sessions[session_id]
    if session.abandoned_at is not None:
        return
    for name in session.open_on:
        other = state.emitters.get(name)
        if name != emitter_id and other is not None and other.unaccounted != _SILENT:
            return
    session.abandoned_at, session.ended_arrival = at, arrival
    state.touched.sessions.add(session_id)
    state.touched.urgent = True
