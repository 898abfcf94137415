"""A report for people in a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from unmask.consumers.report.cells import ReportRow
from unmask.consumers.report.dimensions import Labels
from unmask.consumers.report.time_range import TimeRange
from unmask.consumers.report.words import (
    NOTHING,
    composition_words,
    evidence_words,
    length_words,
    loss_words,
    notes_of,
    rate_words,
    when_words,
)
from unmask.schemas.codes import Evidence

__all__ = ["MOST_LINES", "STATE_STYLES", "to_table"]

MOST_LINES = 2_000
"""The most lines of a report that a table shows, the newest: nobody reads more of them in a terminal."""

STATE_STYLES = {
    Evidence.COMPLETE: "green",
    Evidence.LOSSY: "bold red",
    Evidence.PENDING: "yellow",
    Evidence.ABSENT: "dim",
}
_COUNTS = ("masked_errors", "late", "skewed", "duplicates")
_NAMES = {"masked_errors": "masked", "delegation_calls": "delegation calls", "delegation_effects": "effects"}
_LATER = ("selections", "delegation_calls", "delegation_effects")
_NARROW = 110


def to_table(rows: Sequence[ReportRow], wanted: TimeRange, *, width: int | None = None) -> Table:
    """The report as a table; runs of lines of one group of which nothing is known share a line.

    Columns of labels that no line has are left out. Where `width` is little, so are counts that no line has, and those
    that are mostly zero are told in the last column alone.
    """
    narrow = width is not None and width < _NARROW
    title = f"Windows of {length_words(wanted.seconds)}, UTC"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("window", no_wrap=not narrow)
    labels = _shown_labels(rows)
    for name in labels:
        table.add_column(name, overflow="fold")
    table.add_column("evidence", overflow="fold")
    counts = _counts_shown(rows, narrow=narrow)
    lost = not narrow or any(row.losses for row in rows)
    for name in ("attempts", "fallbacks", "rate", *(_NAMES.get(name, name) for name in counts)):
        table.add_column(name, justify="right", no_wrap=name != "rate")
    if lost:
        table.add_column("lost", overflow="fold")
    table.add_column("what to know", overflow="fold")
    for line in _runs(rows[-MOST_LINES:]):
        row = line.row
        table.add_row(
            Text(_period(line)),
            *(Text(_label(row.labels, name)) for name in labels),
            Text(evidence_words(row), style=STATE_STYLES[row.state]),
            _count(row.attempts),
            _count(row.fallbacks),
            Text(rate_words(row), style="" if row.rate is not None else "dim"),
            *(_count(getattr(row, name)) for name in counts),
            *([Text(loss_words(row), style="bold red" if row.losses else "dim")] if lost else []),
            Text("; ".join(notes_of(row, counts=narrow))),
        )
    return table


def _counts_shown(rows: Sequence[ReportRow], *, narrow: bool) -> tuple[str, ...]:
    later = tuple(name for name in _LATER if any(getattr(row, name) is not None for row in rows))
    if not narrow:
        return _COUNTS + later
    masked = ("masked_errors",) if any(row.masked_errors is not None for row in rows) else ()
    return masked + later


@dataclass(frozen=True, slots=True)
class _Line:
    row: ReportRow
    last: ReportRow
    windows: int


def _runs(rows: Sequence[ReportRow]) -> Iterator[_Line]:
    """Lines in their order, with neighbouring windows of a group of which nothing is known drawn together."""
    runs: dict[Labels, list[ReportRow]] = {}
    lines: list[list[ReportRow]] = []
    for row in rows:
        run = runs.get(row.labels)
        if run is not None and _continues(run[-1], row):
            run.append(row)
        else:
            runs[row.labels] = started = [row]
            lines.append(started)
    for run in lines:
        yield _Line(run[0], run[-1], len(run))


def _continues(before: ReportRow, row: ReportRow) -> bool:
    same = before.labels == row.labels and before.state is row.state and before.window_end == row.window_start
    return same and row.state in (Evidence.ABSENT, Evidence.PENDING) and before.silent and row.silent


def _period(line: _Line) -> str:
    words = when_words(line.row.window_start, line.last.window_end, line.row.window_seconds, runs=line.windows > 1)
    return words if line.windows == 1 else f"{words} ({line.windows} windows)"


def _shown_labels(rows: Sequence[ReportRow]) -> list[str]:
    scoped = any(row.labels.release_line or row.labels.composition for row in rows)
    shown = ["release / composition"] if scoped else []
    names = ("capability", "reason", "entry_point", "tenant")
    return shown + [
        name.replace("_", " ") for name in names if any(getattr(row.labels, name) is not None for row in rows)
    ]


def _label(labels: Labels, name: str) -> str:
    if name == "release / composition":
        if labels.release_line is None and labels.composition is None:
            return NOTHING
        return f"{labels.release_line or 'any'} / {composition_words(labels.composition)}"
    return getattr(labels, name.replace(" ", "_")) or NOTHING


def _count(value: int | None) -> Text:
    return Text(NOTHING, style="dim") if value is None else Text(f"{value:,}")
