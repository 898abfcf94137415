"""Tables of a page: every column and row has its heading, every table its caption."""

from collections.abc import Iterable, Sequence
from html import escape

from unmask.consumers.report.cells import ReportRow
from unmask.consumers.report.words import (
    NOTHING,
    evidence_words,
    loss_words,
    notes_of,
    rate_words,
    when_words,
)
from unmask.consumers.report_html.palette import STATES
from unmask.consumers.report_html.series import Series, group_name
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso

__all__ = ["evidence_table", "line_table", "over_time", "plain_table", "state_badge"]

_LATER = {
    "selections": "selections",
    "delegation_calls": "delegation calls",
    "delegation_effects": "delegation effects",
}
_NUMBER = ' class="number"'
_UNKNOWN = f'<span class="unknown" title="not known, or not counted so">{NOTHING}</span>'


def plain_table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: range = range(1, 100)
) -> str:
    """A table whose cells are HTML already; each row's first cell is its heading, those of `numbers` are numbers."""
    head = "".join(
        f'<th scope="col"{_NUMBER if at in numbers else ""}>{escape(name)}</th>' for at, name in enumerate(columns)
    )
    body = []
    for first, *rest in rows:
        cells = "".join(f"<td{_NUMBER if at in numbers else ''}>{cell}</td>" for at, cell in enumerate(rest, 1))
        body.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def state_badge(state: Evidence, words: str | None = None) -> str:
    """A state, told by colour, sign and word."""
    name = str(state)
    mark = f'<span aria-hidden="true">{STATES[state].mark}</span>'
    return f'<span class="state {name.lower()}">{mark} {escape(words or name)}</span>'


def over_time(caption: str, rows: Sequence[ReportRow], series: Sequence[Series]) -> str:
    """Values of series at each time, with the evidence."""
    columns = ["from (UTC)", "evidence", *(one.name for one in series)]
    cells = (
        [_when(row), state_badge(row.state), *(_value(one.values[at]) for one in series)] for at, row in enumerate(rows)
    )
    return plain_table(caption, columns, cells, range(2, 100))


def evidence_table(caption: str, groups: Sequence[tuple[str, Sequence[ReportRow]]]) -> str:
    """How many windows of each group are in which state."""
    states = list(STATES)
    cells = []
    for name, rows in groups:
        counts = {state: sum(row.windows.get(str(state), 0) for row in rows) for state in states}
        cells.append([escape(name), *(f"{counts[state]:,}" for state in states)])
    return plain_table(caption, ["group", *(f"windows {state}" for state in states)], cells)


def line_table(caption: str, rows: Sequence[ReportRow]) -> str:
    """Everything that lines say."""
    # What nobody tells of has no column: an empty one would look as if there were none.
    later = {name: title for name, title in _LATER.items() if any(getattr(row, name) is not None for row in rows)}
    columns = [
        "from (UTC)", "group", "evidence", "attempts", "fallbacks", "rate", "masked errors", *later.values(), "late",
        "skewed", "duplicates", "lost", "what to know",
    ]  # fmt: skip
    cells = (
        [
            _when(row),
            escape(group_name(row.labels)),
            state_badge(row.state, evidence_words(row)),
            _value(row.attempts),
            _value(row.fallbacks),
            escape(rate_words(row)),
            _value(row.masked_errors),
            *(_value(getattr(row, name)) for name in later),
            _value(row.late),
            _value(row.skewed),
            _value(row.duplicates),
            escape(loss_words(row)),
            f'<span class="notes">{escape("; ".join(notes_of(row)))}</span>',
        ]
        for row in rows
    )
    return plain_table(caption, columns, cells, range(3, len(columns) - 1))


def _when(row: ReportRow) -> str:
    shown = when_words(row.window_start, row.window_end, row.window_seconds)
    return f'<time datetime="{iso(row.window_start)}">{escape(shown)}</time>'


def _value(value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    return f"{value:,}" if isinstance(value, int) else f"{value:.4%}"
