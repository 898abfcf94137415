"""The plots. What evidence is missing is hatched over the whole height: a gap is never a zero."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from typing import Any

from unmask.consumers.report.cells import ReportRow
from unmask.consumers.report.extras import need
from unmask.consumers.report_html.palette import GRID, INK, LINES, MARKS, PAPER, SERIES, STATES
from unmask.consumers.report_html.series import Series, evidence_runs
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import from_micros

__all__ = ["attempts_figure", "evidence_figure", "fallbacks_figure", "rate_figure", "style"]

_WANTED = "an HTML report"
_SIZE = (9.0, 2.8)
_HATCHES = ("", "////", "----", "xxxx", "\\\\\\\\", "++++")
_STYLE = {
    # Text stays text, so that it can be read, found and scaled.
    "svg.fonttype": "none",
    "svg.hashsalt": "unmask",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "timezone": "UTC",
}


def style() -> Any:
    """The context in which figures are drawn and saved. Raises ExtraMissing without matplotlib."""
    return need("matplotlib", _WANTED).rc_context(_STYLE)


@contextmanager
def _axes(rows: Sequence[ReportRow], height: float = _SIZE[1]) -> Iterator[tuple[Any, Any]]:
    """A figure with a time axis, drawn without a display. Raises ExtraMissing without matplotlib."""
    figures, dates = need("matplotlib.figure", _WANTED), need("matplotlib.dates", _WANTED)
    with style():
        figure = figures.Figure(figsize=(_SIZE[0], height), layout="constrained")
        axes = figure.add_subplot()
        locator = dates.AutoDateLocator(minticks=3, maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        axes.set_xlim(_edge(rows[0].window_start), _edge(rows[-1].window_end))
        yield figure, axes


def _edge(micros: int | None) -> datetime:
    return from_micros(micros or 0)


def _edges(rows: Sequence[ReportRow]) -> list[datetime]:
    return [*(_edge(row.window_start) for row in rows), _edge(rows[-1].window_end)]


def _numbers(dates: Sequence[datetime]) -> Any:
    return need("matplotlib.dates", _WANTED).date2num(dates)


def _bands(axes: Any, rows: Sequence[ReportRow]) -> list[Any]:
    """Hatched bands over everything that is not COMPLETE; what the legend needs of them."""
    patches = need("matplotlib.patches", _WANTED)
    met: dict[Evidence, Any] = {}
    for state, start, end in evidence_runs(rows):
        if state is Evidence.COMPLETE:
            continue
        look = STATES[state]
        axes.axvspan(
            _edge(start), _edge(end), facecolor="none", edgecolor=look.colour, hatch=look.hatch, linewidth=0.0, zorder=3
        )  # fmt: skip
        met[state] = patches.Patch(facecolor="none", edgecolor=look.colour, hatch=look.hatch, label=str(state))
    return list(met.values())


def _legend(axes: Any, handles: Sequence[Any], extra: Sequence[Any] = ()) -> None:
    shown = [*handles, *extra]
    if shown:
        axes.legend(handles=shown, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0, handlelength=2.6)


def attempts_figure(rows: Sequence[ReportRow]) -> Any:
    """Attempts over time."""
    values = [row.attempts for row in rows]
    with _axes(rows) as (figure, axes):
        handle = _steps(axes, rows, values, None, SERIES[0], "", "attempts")
        axes.set_ylabel("attempts")
        _whole_numbers(axes)
        _from_zero(axes)
        _legend(axes, [handle], _bands(axes, rows))
        return figure


def fallbacks_figure(rows: Sequence[ReportRow], reasons: Sequence[Series]) -> Any:
    """Fallbacks over time, stacked by reason."""
    with _axes(rows) as (figure, axes):
        base = [0] * len(rows)
        handles = []
        for number, reason in enumerate(reasons):
            top = [None if v is None else b + int(v) for v, b in zip(reason.values, base, strict=True)]
            look = (SERIES[number % len(SERIES)], _HATCHES[number % len(_HATCHES)])
            handles.append(_steps(axes, rows, top, base, *look, reason.name))
            base = [b if t is None else t for t, b in zip(top, base, strict=True)]
        axes.set_ylabel("fallbacks")
        _whole_numbers(axes)
        _from_zero(axes)
        _legend(axes, handles, _bands(axes, rows))
        return figure


def _steps(
    axes: Any, rows: Sequence[ReportRow], values: Sequence[int | None], base: Sequence[int] | None, colour: str,
    hatch: str, label: str,
) -> Any:  # fmt: skip
    """A filled step for each stretch of known values; unknown ones are left out, not drawn as nothing."""
    patches = need("matplotlib.patches", _WANTED)
    edges = _numbers(_edges(rows))
    # Hatches in the colour of the page, which stands out from fills in light and dark alike.
    look = {"facecolor": colour, "edgecolor": PAPER if hatch else colour, "hatch": hatch, "linewidth": 0.4}
    for first, last in _stretches(values):
        known = [value for value in values[first:last] if value is not None]
        below = 0 if base is None else list(base[first:last])
        axes.stairs(known, edges[first : last + 1], baseline=below, fill=True, **look)
    return patches.Patch(label=label, **look)


def _stretches(values: Sequence[float | None]) -> Iterator[tuple[int, int]]:
    """First index, and the index after the last, of each run of known values."""
    first: int | None = None
    for index, value in enumerate([*values, None]):
        if value is not None and first is None:
            first = index
        elif value is None and first is not None:
            yield first, index
            first = None


def rate_figure(rows: Sequence[ReportRow], groups: Sequence[Series]) -> Any:
    """Fallbacks per attempt over time, a line for each group; a line breaks where there is no rate."""
    ticker = need("matplotlib.ticker", _WANTED)
    with _axes(rows) as (figure, axes):
        middles = [(a + b) / 2 for a, b in _pairs(_numbers(_edges(rows)))]
        handles = []
        for number, group in enumerate(groups):
            look = {
                "color": SERIES[number % len(SERIES)], "linestyle": LINES[number % len(LINES)],
                "marker": MARKS[number % len(MARKS)], "markersize": 3.5, "linewidth": 1.2,
                "markevery": max(1, len(rows) // 40),
            }  # fmt: skip
            handle = axes.plot([], [], label=group.name, **look)[0]
            for first, last in _stretches(group.values):
                axes.plot(middles[first:last], group.values[first:last], **look)
            handles.append(handle)
        axes.set_ylabel("fallbacks per attempt")
        axes.yaxis.set_major_formatter(ticker.PercentFormatter(xmax=1.0))
        _from_zero(axes)
        _legend(axes, handles, _bands(axes, rows))
        return figure


def _pairs(edges: Any) -> Iterator[tuple[float, float]]:
    plain = [float(edge) for edge in edges]
    return pairwise(plain)


def evidence_figure(rows: Sequence[ReportRow], groups: Sequence[tuple[str, Sequence[ReportRow]]]) -> Any:
    """A bar for each group, in the look of its state; the topmost is `rows`."""
    patches = need("matplotlib.patches", _WANTED)
    lanes = [("everything", rows), *groups]
    with _axes(rows, height=0.9 + 0.3 * len(lanes)) as (figure, axes):
        met: dict[Evidence, Any] = {}
        for lane, (_, of_lane) in enumerate(lanes):
            for state, start, end in evidence_runs(of_lane):
                look = STATES[state]
                x = _numbers([_edge(start), _edge(end)])
                drawn = {"facecolor": look.colour if not look.hatch else "none", "edgecolor": look.colour}
                axes.broken_barh([(x[0], x[1] - x[0])], (lane - 0.38, 0.76), hatch=look.hatch, linewidth=0.6, **drawn)
                met[state] = patches.Patch(hatch=look.hatch, label=str(state), **drawn)
        axes.set_yticks(range(len(lanes)), [name for name, _ in lanes])
        axes.set_ylim(len(lanes) - 0.4, -0.6)
        axes.grid(visible=False)
        _legend(axes, [met[state] for state in STATES if state in met])
        return figure


def _whole_numbers(axes: Any) -> None:
    """Counts, as 20 k or 4 M; there is no half of one."""
    ticker = need("matplotlib.ticker", _WANTED)
    axes.yaxis.set_major_locator(ticker.MaxNLocator(nbins=5, integer=True))
    axes.yaxis.set_major_formatter(ticker.EngFormatter())


def _from_zero(axes: Any) -> None:
    axes.set_ylim(bottom=0.0)
    top = axes.get_ylim()[1]
    # An axis of nothing but zeros still needs a height.
    axes.set_ylim(0.0, top if top > 0 else 1.0)
