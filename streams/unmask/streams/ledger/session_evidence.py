"""What is proven of a session: whether stretches that lack session events overlap it.

Derived from its emitters' stretches and never stored, so that it does not depend on the order in which things came.
What may change a session's evidence only marks it as touched, and it goes out anew.

What is lost of fallbacks, masked errors and teardowns may be of any session of the emitter, and spoils all that the
stretch touches. Most sessions have neither selections nor delegations, and their verdict must not hang on those of
others: lost selections spoil the sessions of which that emitter told of a selection at any time, and lost progress or
effects those of which it told of a delegation. Of a session of which it told none, nothing is claimed; that a family
lacks events, its windows say.
"""

from typing import Any

from unmask.schemas.codes import Family
from unmask.streams.ledger.session_work import SessionWork
from unmask.streams.ledger.state import Emitter, PartitionState, Session

__all__ = ["is_lossy", "session_end", "touch_sessions"]

_OPEN_END = 1 << 62
_SELECTION = Family.ROUTE_SELECTION.value


def session_end(session: Session) -> int:
    """When it ended, as far as anybody said."""
    if not session.teardowns or session.open_on:
        return _OPEN_END
    return max(int(teardown["occurred_at"]) for teardown in session.teardowns)


def is_lossy(state: PartitionState, session: Session) -> bool:
    """Whether events of the session are missing, or may be."""
    if session.work is not None and session.work.identity_conflicts:
        return True
    begin, end = session.opened_at or 0, session_end(session)
    for name in session.emitters:
        emitter = state.emitters.get(name)
        if emitter is None:
            continue
        if any(_overlaps(cut_after, cut_before, begin, end) for cut_after, cut_before in emitter.flaws.values()):
            return True
        if emitter.beyond is not None and session.work is not None:
            for cut_after, cut_before, families in emitter.beyond.losses.values():
                if _overlaps(cut_after, cut_before, begin, end) and _tells(session.work, name, families):
                    return True
        # A silent or late emitter may still tell of anything that came after its last cut.
        if emitter.unaccounted is not None and emitter.last_cut < end:
            return True
    return False


def _tells(work: SessionWork, emitter_id: str, families: list[Any]) -> bool:
    """Whether the emitter told of something in the session that is of one of the families."""
    if emitter_id in work.selecting and _SELECTION in families:
        return True
    return emitter_id in work.delegating and any(family != _SELECTION for family in families)


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
