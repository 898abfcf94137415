"""The page: what it is about, the state of the pipeline in words, plots each with its table, and every line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from unmask.consumers.report.cells import ReportRow
from unmask.consumers.report.dimensions import Selection
from unmask.consumers.report.pipeline import PipelineState
from unmask.consumers.report.time_range import TimeRange
from unmask.consumers.report.words import length_words, state_words
from unmask.consumers.report_html.figures import attempts_figure, evidence_figure, fallbacks_figure, rate_figure
from unmask.consumers.report_html.series import MOST_LANES, Series, groups_of, rates_of, reasons_of
from unmask.consumers.report_html.svg import inline_svg
from unmask.consumers.report_html.tables import evidence_table, line_table, over_time, plain_table, state_badge
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso

__all__ = ["MOST_LINES", "to_html"]

MOST_LINES = 3_000
"""The most lines that the table of all lines has; a browser does not read more gladly."""


@dataclass(frozen=True, slots=True)
class _Plot:
    name: str
    title: str
    description: str
    draw: Callable[[], Any]
    table: str


def to_html(
    rows: Sequence[ReportRow],
    wanted: TimeRange,
    *,
    overall: Sequence[ReportRow],
    generated_at: int,
    selection: Selection | None = None,
    pipeline: PipelineState | None = None,
    remarks: Sequence[str] = (),
) -> str:
    """One HTML file that needs nothing else. `overall` has one line for each time, of everything that was selected.

    Raises ExtraMissing without matplotlib.
    """
    length = length_words(wanted.seconds).removeprefix("1 ")
    title = f"Fallbacks per {length}, {_day(wanted.since)} to {_day(wanted.until)} UTC"
    plots = _plots(rows, overall) if overall and wanted.seconds else []
    sections = [
        _summary(overall, pipeline, remarks),
        *(_section(plot) for plot in plots),
        _all_lines(rows),
    ]
    links = [("summary", "Summary"), *((plot.name, plot.title) for plot in plots), ("lines", "All lines")]
    nav = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in links)
    css = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    chosen = _chosen(selection)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
{css}</style>
</head>
<body>
<a class="skip" href="#main">To the report</a>
<header>
<h1>{escape(title)}</h1>
<p>From {iso(wanted.since)} to {iso(wanted.until)}, made {iso(generated_at - generated_at % 1_000_000)}.
{escape(chosen)} All times are UTC.</p>
</header>
<nav aria-label="Parts of this report"><ul>{nav}</ul></nav>
<main id="main">
{"".join(sections)}
</main>
<footer>
<p>A count is never without its evidence. {_legend()}</p>
<p>A dash is a count that is not known, or not kept for what the line is divided by: not a zero.</p>
</footer>
</body>
</html>
"""


def _day(micros: int) -> str:
    return iso(micros)[:16].replace("T", " ")


def _chosen(selection: Selection | None) -> str:
    if selection is None:
        return ""
    names = ("release_line", "composition", "capability", "tenant")
    only = [f"{name.replace('_', ' ')} {value}" for name in names if (value := getattr(selection, name)) is not None]
    by = ", ".join(sorted(name.replace("_", " ") for name in selection.dimensions))
    return (f"Only {', '.join(only)}. " if only else "") + (f"Divided by {by}." if by else "Not divided.")


def _legend() -> str:
    return " ".join(f"{state_badge(state)} {escape(state_words(state).partition(': ')[2])}." for state in Evidence)


def _summary(overall: Sequence[ReportRow], pipeline: PipelineState | None, remarks: Sequence[str]) -> str:
    parts = ['<section id="summary" aria-labelledby="summary-h"><h2 id="summary-h">Summary</h2>']
    if pipeline is not None:
        well = "well" if pipeline.well else "unwell"
        parts.append(f'<p class="pipeline {well}"><strong>Pipeline {pipeline.stage}.</strong> {escape(pipeline.words)}')
        parts.append(f" To do: {escape(pipeline.fix)}." if pipeline.fix else "")
        parts.append("</p>")
    parts += [f"<p>{escape(remark)}</p>" for remark in remarks]
    if overall:
        parts.append(_totals(overall))
    else:
        parts.append("<p>There is nothing to report on.</p>")
    return "".join([*parts, "</section>"])


def _totals(overall: Sequence[ReportRow]) -> str:
    def total(name: str) -> str:
        known = [value for row in overall if (value := getattr(row, name)) is not None]
        return f"{sum(known):,}" if known else "–"

    states = {state: sum(row.windows.get(str(state), 0) for row in overall) for state in Evidence}
    losses: dict[str, int] = {}
    for row in overall:
        for cause, count in row.losses.items():
            losses[cause] = losses.get(cause, 0) + count
    lost = ", ".join(f"{count:,} {escape(cause)}" for cause, count in sorted(losses.items())) or "0"
    names = ("attempts", "fallbacks", "masked_errors", "late", "skewed", "duplicates")
    cells = [[escape(name.replace("_", " ")), total(name)] for name in names]
    cells.append(["lost, by cause", lost])
    cells += [[f"windows {state_badge(state)}", f"{count:,}"] for state, count in states.items()]
    return plain_table("In this time, as far as it was witnessed", ["what", "count"], cells)


def _plots(rows: Sequence[ReportRow], overall: Sequence[ReportRow]) -> list[_Plot]:
    times = [row.window_start for row in overall]
    groups = groups_of(rows)
    shown = groups[:MOST_LANES] if any(name != "everything" for name, _ in groups) else []
    hidden = len(groups) - len(shown) if shown else 0
    gaps = _gaps(overall)
    reasons = reasons_of(overall)
    rates = rates_of(groups, times)
    plots = []
    if any(row.attempts is not None for row in overall):
        attempts = Series("attempts", tuple(row.attempts for row in overall))
        plots.append(
            _Plot(
                "attempts", "Attempts", f"{_range(attempts)} {gaps}", lambda: attempts_figure(overall),
                over_time("Attempts", overall, [attempts]),
            )
        )  # fmt: skip
    total = Series("fallbacks", tuple(row.fallbacks for row in overall))
    plots.append(
        _Plot(
            "fallbacks", "Fallbacks by reason",
            f"{_range(total)} {_share(reasons)} {gaps}", lambda: fallbacks_figure(overall, reasons or [total]),
            over_time("Fallbacks by reason", overall, [total, *reasons]),
        )
    )  # fmt: skip
    left = len([1 for _, found in groups if any(row.rate is not None for row in found)]) - len(rates)
    more = f" {left} groups with fewer attempts are in the table of all lines." if left > 0 else ""
    none = "" if rates else " There is no rate: nowhere are attempts and fallbacks COMPLETE with attempts above 0."
    plots.append(
        _Plot(
            "rates", "Fallbacks per attempt",
            f"A line for each group, broken where there is no rate.{more}{none} {gaps}",
            lambda: rate_figure(overall, rates), over_time("Fallbacks per attempt", overall, rates),
        )
    )  # fmt: skip
    more = f" {hidden} groups with fewer attempts are left out." if hidden else ""
    lanes = [("everything", list(overall)), *shown]
    plots.append(
        _Plot(
            "evidence", "Evidence", f"A bar for each group, in the look of what its counts prove.{more} {gaps}",
            lambda: evidence_figure(overall, shown), evidence_table("Windows by evidence", lanes),
        )
    )  # fmt: skip
    return plots


def _range(series: Series) -> str:
    known = [value for value in series.values if value is not None]
    if not known:
        return f"No {series.name} are known."
    return f"Between {min(known):,} and {max(known):,} {series.name} at a time, {sum(known):,} in all."


def _share(reasons: Sequence[Series]) -> str:
    totals = [f"{reason.name} {sum(value or 0 for value in reason.values):,}" for reason in reasons]
    return f"By reason: {', '.join(totals)}." if totals else ""


def _gaps(overall: Sequence[ReportRow]) -> str:
    bad = {state: sum(row.state is state for row in overall) for state in Evidence if state is not Evidence.COMPLETE}
    told = [f"{count} {state}" for state, count in bad.items() if count]
    if not told:
        return f"All {len(overall)} times are COMPLETE."
    return f"Of {len(overall)} times, {', '.join(told)}; these are hatched."


def _section(plot: _Plot) -> str:
    svg = inline_svg(plot.draw(), plot.name, plot.title, plot.description)
    region = f'role="region" aria-label="{escape(plot.title)} as a table" tabindex="0"'
    return (
        f'<section id="{plot.name}" aria-labelledby="{plot.name}-h"><h2 id="{plot.name}-h">{escape(plot.title)}</h2>'
        f'<div class="pair"><figure>{svg}<figcaption>{escape(plot.description)}</figcaption></figure>'
        f'<div class="scroll" {region}>{plot.table}</div>'
        "</div></section>"
    )


def _all_lines(rows: Sequence[ReportRow]) -> str:
    told = [row for row in rows if not row.silent]
    shown = told[-MOST_LINES:]
    left = [f"{len(rows) - len(told):,} lines that nobody witnessed or that are still to come are left out."]
    left = left if len(told) < len(rows) else []
    if len(shown) < len(told):
        left.append(f"The {len(shown):,} newest of {len(told):,} are shown; --csv and --parquet have all of them.")
    note = f"<p>{escape(' '.join(left))}</p>" if left else ""
    table = line_table("Every time and group", shown)
    return (
        f'<section id="lines" aria-labelledby="lines-h"><h2 id="lines-h">All lines</h2>{note}'
        f'<div class="scroll tall" role="region" aria-label="All lines" tabindex="0">{table}</div></section>'
    )
