"""What is plotted: series over the times of a report, and runs of evidence. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unmask.consumers.report.cells import ReportRow
from unmask.consumers.report.dimensions import Labels
from unmask.consumers.report.words import composition_words
from unmask.schemas.codes import Evidence

__all__ = ["Series", "evidence_runs", "group_name", "groups_of", "rates_of", "reasons_of"]

MOST_SERIES = 6
"""More lines than this are not told apart by anybody."""
MOST_LANES = 24


@dataclass(frozen=True, slots=True)
class Series:
    """One value for each time; None where it is not known."""

    name: str
    values: tuple[float | None, ...]


def evidence_runs(rows: Sequence[ReportRow]) -> Iterator[tuple[Evidence, int, int]]:
    """State, first instant and the instant after the last, of neighbouring times with one state; microseconds."""
    run: tuple[Evidence, int, int] | None = None
    for row in rows:
        end = row.window_end or row.window_start
        if run is not None and run[0] is row.state and run[2] == row.window_start:
            run = (run[0], run[1], end)
            continue
        if run is not None:
            yield run
        run = (row.state, row.window_start, end)
    if run is not None:
        yield run


def reasons_of(rows: Sequence[ReportRow]) -> list[Series]:
    """Fallbacks by reason, the commonest first; those that come after the fifth are one series."""
    totals: Counter[str] = Counter()
    for row in rows:
        totals.update(row.fallbacks_by_reason)
    names = [name for name, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))]
    shown = names if len(names) <= MOST_SERIES else names[: MOST_SERIES - 1]
    rest = [name for name in names if name not in shown]
    series = [Series(name, tuple(_of(row, (name,)) for row in rows)) for name in shown]
    if rest:
        series.append(Series(f"{len(rest)} others", tuple(_of(row, rest) for row in rows)))
    return series


def _of(row: ReportRow, names: Sequence[str]) -> int | None:
    return None if row.fallbacks is None else sum(row.fallbacks_by_reason.get(name, 0) for name in names)


def groups_of(rows: Sequence[ReportRow]) -> list[tuple[str, list[ReportRow]]]:
    """The lines of each group, those with most attempts and fallbacks first."""
    groups: defaultdict[Labels, list[ReportRow]] = defaultdict(list)
    for row in rows:
        groups[row.labels].append(row)
    weights = {
        labels: sum((row.attempts or 0) + (row.fallbacks or 0) for row in found) for labels, found in groups.items()
    }
    order = sorted(groups, key=lambda labels: (-weights[labels], labels.order()))
    return [(group_name(labels), groups[labels]) for labels in order]


def group_name(labels: Labels) -> str:
    """A group in a few words."""
    parts = [labels.release_line, None if labels.composition is None else composition_words(labels.composition)]
    named = [part for part in (*parts, *labels[2:]) if part]
    return " / ".join(named) or "everything"


def rates_of(groups: Sequence[tuple[str, Sequence[ReportRow]]], times: Sequence[int]) -> list[Series]:
    """The rate of each group that has one anywhere, at each of `times`."""
    series = []
    for name, rows in groups:
        rates = {row.window_start: row.rate for row in rows}
        values = tuple(rates.get(time) for time in times)
        if any(value is not None for value in values):
            series.append(Series(name, values))
    return series[:MOST_SERIES]
