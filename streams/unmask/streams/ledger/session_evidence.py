"""What is proven of a session: whether stretches that lack session events overlap it.

Derived from its emitters' stretches and never stored, so that it does not depend on the order in which things came.
What may change a session's evidence only marks it as touched, and it goes out anew.
"""

from unmask.streams.ledger.state import Emitter, PartitionState, Session

__all__ = ["is_lossy", "session_end", "touch_sessions"]

_OPEN_END = 1 << 62


def session_end(session: Session) -> int:
    """When it ended, as far as anybody said."""
    if not session.teardowns or session.open_on:
        return _OPEN_END
    return max(int(teardown["occurred_at"]) for teardown in session.teardowns)


def is_lossy(state: PartitionState, session: Session) -> bool:
    """Whether events of the session are missing, or may be."""
    begin, end = session.opened_at or 0, session_end(session)
    for name in session.emitters:
        emitter = state.emitters.get(name)
        if emitter is None:
            continue
        if any(_overlaps(cut_after, cut_before, begin, end) for cut_after, cut_before in emitter.flaws.values()):
            return True
        # A silent or late emitter may still tell of anything that came after its last cut.
        if emitter.unaccounted is not None and emitter.last_cut < end:
            return True
    return False


def _overlaps(cut_after: int, cut_before: int, begin: int, end: int) -> bool:
    """Whether a session from `begin` to `end` may lack events of the stretch between two cuts.

    What stands at a cut was told by the batch that was cut then, and is not of the stretch after it. Only where both
    cuts are one instant it may be of either.
    """
    return begin <= cut_before and (cut_after < end or cut_after == cut_before == end)


def touch_sessions(state: PartitionState, emitter: Emitter, first: int, last: int | None = None) -> None:
    """Marks the emitter's sessions that the stretch overlaps; without an end, all that end after its beginning."""
    for session_id in emitter.sessions:
        session = state.sessions[session_id]
        if session_end(session) >= first and (last is None or (session.opened_at or 0) <= last):
            state.touched.sessions.add(session_id)
