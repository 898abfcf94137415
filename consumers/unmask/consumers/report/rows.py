"""Which lines a report has: one for every window that was asked for, also where nothing is known of it."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from unmask.consumers.report.cells import Labels, ReportRow, row_of, row_without_counts
from unmask.consumers.report.time_range import TimeRange
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence, FlawCause
from unmask.schemas.instants import to_micros
from unmask.schemas.models import Window
from unmask.schemas.windowing import LIFETIME, window_end

__all__ = ["Grouping", "Selection", "build_rows"]

Grouping = Literal["window", "scope", "capability"]


@dataclass(frozen=True, slots=True)
class Selection:
    """What of each window is wanted. None means any.

    Release line and composition make up the scope and are never added up over: counts of two compositions are not
    comparable; a composition may be named by the first digits of its digest. `window` shows each window as a whole.
    """

    by: Grouping = "capability"
    release_line: str | None = None
    composition: str | None = None
    capability: str | None = None

    def wants_scope_of(self, window: Window) -> bool:
        """Whether the window's scope is one of those wanted."""
        if self.by == "window":
            return window.scope is None
        scope = window.scope
        if scope is None:
            return False
        wanted_line = self.release_line in (None, scope.release_line)
        return wanted_line and (self.composition is None or scope.composition.startswith(self.composition))

    @property
    def labels(self) -> Labels:
        """What a line carries that stands for all that is wanted."""
        return Labels(self.release_line, self.composition, self.capability)


def build_rows(records: WindowRecords, wanted: TimeRange, selection: Selection, *, now: int) -> list[ReportRow]:
    """The lines of a report, by time, release line, composition and capability.

    A window of the range without any record is ABSENT, never zero; PENDING where it has not ended at `now`; LOSSY
    where its record cannot be read. Instants in microseconds.
    """
    found: defaultdict[int, list[Window]] = defaultdict(list)
    for window in records.windows:
        if selection.wants_scope_of(window):
            found[to_micros(window.window_start)].append(window)
    unreadable = set(records.unreadable)
    rows: list[ReportRow] = []
    for start in wanted.starts():
        lines = _lines(found.get(start, []), selection)
        if start in unreadable:
            causes = (str(FlawCause.QUARANTINED),)
            lines.append(row_without_counts(start, wanted.seconds, Evidence.LOSSY, selection.labels, causes))
        rows.extend(lines or [_unwitnessed(start, wanted.seconds, selection, now)])
    return rows


def _unwitnessed(start: int, seconds: int, selection: Selection, now: int) -> ReportRow:
    over = seconds != LIFETIME and window_end(start, seconds) <= now
    return row_without_counts(start, seconds, Evidence.ABSENT if over else Evidence.PENDING, selection.labels)


def _lines(windows: list[Window], selection: Selection) -> list[ReportRow]:
    whole = [window for window in windows if window.capability is None]
    if selection.by != "capability":
        return [row_of(window) for window in whole]
    counted = [window for window in windows if window.capability is not None]
    if selection.capability is None:
        # A scope that was witnessed and counted nothing still has its line, or it would look unwitnessed.
        speaking = {window.scope for window in counted}
        lines = [row_of(window) for window in (*counted, *(w for w in whole if w.scope not in speaking))]
    else:
        chosen = [window for window in counted if window.capability == selection.capability]
        speaking = {window.scope for window in chosen}
        silent = [window for window in whole if window.scope not in speaking]
        lines = [row_of(window) for window in chosen]
        lines += [row_of(window, capability=selection.capability) for window in silent]
    return sorted(lines, key=_order)


def _order(row: ReportRow) -> tuple[str, str, str]:
    return (row.labels.release_line or "", row.labels.composition or "", row.labels.capability or "")
