"""Whether anybody tells of the families beyond the first four, as the windows of a time say.

That nothing is on record means something only where somebody would have told.
"""

import time
from collections.abc import Collection, Iterable

from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable
from unmask.consumers.windows_view import read_windows
from unmask.schemas.codes import Evidence, Family
from unmask.schemas.models import Window
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import window_start

__all__ = ["LATER_FAMILIES", "find_witnesses", "witnessed"]

LATER_FAMILIES = (Family.ROUTE_SELECTION, Family.DELEGATION_PROGRESS, Family.DELEGATION_EFFECT)
"""Families of which not every emitter tells."""
_HOUR = 3_600


def find_witnesses(
    source: TopicSource, scopes: Collection[Scope] | None, since: int, until: int, *, timeout: float
) -> frozenset[Family] | None:
    """Of which families somebody of these scopes (None: of any) told between two instants, microseconds.

    None where the windows cannot be read, so that it is not known.
    """
    deadline = time.monotonic() + timeout
    size = _HOUR
    try:
        found = read_windows(source, size, window_start(since, size), until + 1, timeout=timeout)
        sizes = [known for known in found.sizes if known]
        if size not in sizes and sizes:
            size = min(sizes)
            left = max(0.1, deadline - time.monotonic())
            found = read_windows(source, size, window_start(since, size), until + 1, timeout=left)
    except TopicUnreadable:
        return None
    return witnessed(window for window in found.windows if scopes is None or window.scope in scopes)


def witnessed(windows: Iterable[Window]) -> frozenset[Family]:
    """The families beyond the first four of which somebody told in these windows."""
    return frozenset(
        entry.family
        for window in windows
        for entry in window.evidence
        if entry.family in LATER_FAMILIES and _tells(window, entry.family, entry.state, lost=bool(entry.missing))
    )


def _tells(window: Window, family: Family, state: Evidence, *, lost: bool) -> bool:
    if state is Evidence.LOSSY:
        # What is lost may be of any family, also of one that nobody tells of.
        return lost or any(_counts(window, family).values())
    return state is not Evidence.ABSENT


def _counts(window: Window, family: Family) -> dict[str, int]:
    if family is Family.ROUTE_SELECTION:
        return window.selections
    return window.delegation_calls if family is Family.DELEGATION_PROGRESS else window.delegation_effects
