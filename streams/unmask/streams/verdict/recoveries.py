"""Automatic choices of a session, as far as its snapshots tell of them."""

from unmask.schemas.codes import Evidence
from unmask.schemas.recovery import Overlay, overlay
from unmask.streams.verdict.merge import SessionView

__all__ = ["are_all_told", "recovered"]

_NOTHING_CHOSEN = Overlay((), (), (), None)


def are_all_told(view: SessionView) -> bool:
    """Whether no selection of the session is missing, or still to come, but those that snapshots do not keep."""
    doubtful = view.left_open or bool(view.identity_conflicts) or view.evidence is not Evidence.COMPLETE
    return view.told and not doubtful


def recovered(view: SessionView, ended_at: int | None, *, certain: bool) -> Overlay:
    """What became of them; `ended_at` is when the session ended, None while it goes on.

    Where selections may be missing, nothing is concluded from one that is not there: up to the oldest that is kept
    where earlier ones were cut, and of the whole session where it is not `certain` that the others were all told.
    """
    if not view.selections:
        return _NOTHING_CHOSEN
    as_of = view.last_seen_at if ended_at is None else ended_at
    newest = max(selection["occurred_at"] for selection in view.selections)
    unknown_through = view.selections_cut_through if certain else max(as_of, newest)
    return overlay(view.selections, as_of=as_of, over=ended_at is not None, unknown_through=unknown_through)
