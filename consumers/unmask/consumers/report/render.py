"""A report on paper: a table for people, JSON and CSV for programs. Nothing is ever written as NaN."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from unmask.consumers.report.cells import COUNTED_FAMILIES, Labels, ReportRow
from unmask.consumers.report.time_range import TimeRange
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso

__all__ = ["to_csv", "to_json", "to_table"]

NOTHING = "–"
_STYLES = {
    Evidence.COMPLETE: "green",
    Evidence.LOSSY: "bold red",
    Evidence.PENDING: "yellow",
    Evidence.ABSENT: "dim",
}
_FLAT = (
    "window_start", "window_end", "window_seconds", "release_line", "composition", "capability", "state", "attempts",
    "fallbacks", "rate", "rate_state", "masked_errors", "emitters", "late", "skewed", "duplicates", "quarantined",
    "missing",
)  # fmt: skip
_MAPS = ("fallbacks_by_reason", "masked_errors_by_class", "teardowns_by_outcome", "dropped")


def to_json(rows: Sequence[ReportRow], wanted: TimeRange, *, generated_at: int) -> str:
    """The report as one JSON document; what is not known is null."""
    document = {
        "generated_at": iso(generated_at),
        "since": iso(wanted.since),
        "until": iso(wanted.until),
        "window_seconds": wanted.seconds,
        "rows": [row.as_dict() for row in rows],
    }
    return json.dumps(document, indent=2, allow_nan=False)


def to_csv(rows: Sequence[ReportRow]) -> str:
    """The report as CSV with a header; what is not known is empty, and maps are `code=count` divided by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_FLAT, *(f"state_{family}" for family in COUNTED_FAMILIES), "causes", *_MAPS])
    for row in rows:
        plain = row.as_dict()
        writer.writerow(
            [
                *("" if plain[name] is None else plain[name] for name in _FLAT),
                *(row.states.get(str(family), "") for family in COUNTED_FAMILIES),
                " ".join(row.causes),
                *(_pairs(plain[name]) for name in _MAPS),
            ]
        )
    return out.getvalue()


def to_table(rows: Sequence[ReportRow], wanted: TimeRange) -> Table:
    """The report as a table; runs of ABSENT windows share one line."""
    size = "all time" if wanted.seconds == 0 else f"{wanted.seconds} s"
    table = Table(title=f"Windows of {size}, UTC", box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("window", no_wrap=True)
    table.add_column("release / composition", overflow="fold")
    table.add_column("capability", overflow="fold")
    table.add_column("evidence", no_wrap=True)
    for name in ("attempts", "fallbacks", "rate", "masked", "emitters"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("what to know", overflow="fold")
    for line in _runs(rows):
        row = line.row
        table.add_row(
            Text(_period(line)),
            Text(_scope(row.labels)),
            Text(row.labels.capability or NOTHING),
            Text(str(row.state), style=_STYLES[row.state]),
            _count(row.attempts),
            _count(row.fallbacks),
            _rate(row),
            _count(row.masked_errors),
            _count(row.emitters),
            Text(_notes(row)),
        )
    return table


@dataclass(frozen=True, slots=True)
class _Line:
    row: ReportRow
    last: ReportRow
    windows: int


def _runs(rows: Sequence[ReportRow]) -> Iterator[_Line]:
    """Lines, with neighbouring windows that nobody witnessed drawn together."""
    run: list[ReportRow] = []
    for row in rows:
        if run and _continues(run[-1], row):
            run.append(row)
            continue
        if run:
            yield _Line(run[0], run[-1], len(run))
        run = [row]
    if run:
        yield _Line(run[0], run[-1], len(run))


def _continues(before: ReportRow, row: ReportRow) -> bool:
    return (
        before.labels == row.labels
        and before.state is row.state is Evidence.ABSENT
        and before.window_end == row.window_start
    )


def _period(line: _Line) -> str:
    start, end = iso(line.row.window_start), line.last.window_end
    if end is None:
        return "since the beginning"
    shown = start.removesuffix("Z").replace("T", " ")
    # A run is shown by the end of its last window, on the same day without the day.
    until = iso(end).removesuffix("Z").replace("T", " ")
    until = until.removeprefix(shown[:11])
    return shown if line.windows == 1 else f"{shown} – {until} ({line.windows} windows)"


def _scope(labels: Labels) -> str:
    if labels.release_line is None and labels.composition is None:
        return NOTHING
    # Eight digits tell compositions apart; JSON and CSV have them all.
    return f"{labels.release_line or 'any'} / {(labels.composition or 'any')[:8]}"


def _count(value: int | None) -> Text:
    return Text(NOTHING, style="dim") if value is None else Text(f"{value:,}")


def _rate(row: ReportRow) -> Text:
    if row.rate is None:
        return Text(f"{NOTHING} {row.rate_state}", style="dim")
    return Text(f"{row.rate:.2%}")


def _notes(row: ReportRow) -> str:
    if row.state is Evidence.ABSENT:
        return "nobody witnessed it; not a zero"
    notes = [f"{count} {code}" for code, count in sorted(row.fallbacks_by_reason.items())]
    counts = {
        "missing": row.missing,
        "late": row.late,
        "skewed": row.skewed,
        "duplicate batches": row.duplicates,
        "quarantined": row.quarantined,
    }
    notes += [f"{name} {count}" for name, count in counts.items() if count]
    notes += [f"dropped {count} ({cause})" for cause, count in sorted(row.dropped.items())]
    if row.causes:
        notes.append("because of " + ", ".join(row.causes))
    return "; ".join(notes)


def _pairs(counts: dict[str, int]) -> str:
    return " ".join(f"{code}={count}" for code, count in sorted(counts.items()))
