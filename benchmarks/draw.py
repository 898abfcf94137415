"""Fills docs/performance.md from the results in build/bench, and draws its curves.

    python -m benchmarks draw [--quick]

A block between `<!-- bench: NAME -->` and `<!-- end -->` is replaced by build/bench/NAME.md; without one it stays
as it is, and is named. Curves go to docs/performance/*.svg, drawn from growth.json alone, so that equal results make
equal files. With --quick the results of quick runs are taken.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["PLOTS", "draw_curves", "fill", "main"]

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
CURVES = ROOT / "docs" / "performance"
_BLOCK = re.compile(r"(<!-- bench: ([a-z_]+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Plot:
    """One picture: figures of a curve over what it grows with."""

    curve: str
    over: str
    figures: tuple[tuple[str, str], ...]
    """Name in the results, and what it is."""


PLOTS = (
    Plot(
        "emitters",
        "live emitters",
        (("cpu_s_per_million", "CPU-s per million events"), ("peak_mb", "peak MB"), ("idle_cpu", "cores when idle")),
    ),
    Plot("labels", "labels of a host", (("cpu_s_per_million", "CPU-s per million events"), ("peak_mb", "peak MB"))),
    Plot("windows", "open windows", (("cpu_s_per_million", "CPU-s per million events"), ("peak_mb", "peak MB"))),
    Plot(
        "partitions",
        "partitions",
        (("cpu_s_per_million", "CPU-s per million events"), ("idle_cpu", "cores when idle"), ("peak_mb", "peak MB")),
    ),
    Plot("workers", "workers", (("events_per_s", "events/s"), ("cpu_s_per_million", "CPU-s per million events"))),
    Plot(
        "cells",
        "cells, one snapshot each a second",
        (("cores", "cores"), ("lag_p50_s", "lag, median s"), ("lag_max_s", "lag, largest s")),
    ),
    Plot(
        "verdicts",
        "verdicts that a gate holds",
        (("ready_s", "s until ready"), ("memory_mb", "MB"), ("look_up_p99_us", "look-up p99, µs")),
    ),
)


def fill(text: str, build: Path, suffix: str) -> tuple[str, list[str]]:
    """The page with its blocks replaced, and the names of those for which there is no result."""
    absent: list[str] = []

    def block(found: re.Match[str]) -> str:
        source = build / f"{found.group(2)}{suffix}.md"
        if not source.exists():
            absent.append(found.group(2))
            return found.group(0)
        return f"{found.group(1)}{source.read_text('utf-8').strip()}\n{found.group(3)}"

    return _BLOCK.sub(block, text), absent


def draw_curves(points: list[dict[str, Any]], folder: Path) -> list[Path]:
    """One SVG for each plot that has points."""
    # Only whoever draws pays for it.
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "unmask", "svg.fonttype": "none", "font.size": 9, "axes.grid": True})
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[Path] = []
    for plot in PLOTS:
        mine = sorted((point for point in points if point["curve"] == plot.curve), key=lambda point: point["point"])
        if not mine:
            continue
        over = [point["point"] for point in mine]
        figure, panels = pyplot.subplots(1, len(plot.figures), figsize=(3.2 * len(plot.figures), 2.4), squeeze=False)
        for panel, (name, title) in zip(panels[0], plot.figures, strict=True):
            panel.plot(over, [point[name] for point in mine], marker="o", markersize=3, color="#1f5f8b")
            panel.set_title(title)
            panel.set_xlabel(plot.over)
            if over[-1] / over[0] >= 20:
                panel.set_xscale("log")
            else:
                panel.set_xticks(over)
            panel.set_ylim(bottom=0)
        figure.tight_layout()
        path = folder / f"{plot.curve}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
        drawn.append(path)
    return drawn


def curve_tables(points: list[dict[str, Any]]) -> dict[str, str]:
    """The figures of each curve as Markdown, by its name."""
    tables: dict[str, str] = {}
    for plot in PLOTS:
        mine = sorted((point for point in points if point["curve"] == plot.curve), key=lambda point: point["point"])
        if mine:
            head = f"| {plot.over} | {' | '.join(title for _, title in plot.figures)} |"
            rows = [
                f"| {point['point']:,} | {' | '.join(_number(point[name]) for name, _ in plot.figures)} |"
                for point in mine
            ]
            tables[plot.curve] = "\n".join([head, "|" + "---:|" * (len(plot.figures) + 1), *rows])
    return tables


def growth_targets(points: list[dict[str, Any]]) -> str:
    """The targets that are points of curves, as Markdown."""
    at = {(point["curve"], point["point"]): point for point in points}
    lines = ["| target | measured | at | met |", "|---|---:|---:|---|"]
    emitters, cells = at.get(("emitters", 10_000)), at.get(("cells", 10_000))
    if emitters is not None:
        peak = emitters["peak_mb"]
        lines.append(f"| memory at 10,000 live emitters, MB | {peak:.0f} | ≤ 300 | {'yes' if peak <= 300 else 'no'} |")
    if cells is not None:
        lag, met = cells["lag_p50_s"], "yes" if cells["keeps_up"] else "no"
        lines.append(f"| 10,000 cells, a snapshot each a second: median lag, s | {lag:.2f} | does not grow | {met} |")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main(arguments: list[str]) -> int:
    """Fills and draws; 1 where a result is missing."""
    suffix = "-quick" if "--quick" in arguments else ""
    results = BUILD / f"growth{suffix}.json"
    if results.exists():
        told = json.loads(results.read_text("utf-8"))
        for path in draw_curves(told["points"], CURVES):
            print(path.relative_to(ROOT))
        facts = "; ".join(f"{name} {value}" for name, value in told["machine"].items())
        for name, table in curve_tables(told["points"]).items():
            text = f"{table}\n\n![{name}](performance/{name}.svg)\n"
            (BUILD / f"curve_{name}{suffix}.md").write_text(text, "utf-8")
        (BUILD / f"growth{suffix}.md").write_text(
            f"{growth_targets(told['points'])}\n\nMeasured {told['measured']} on: {facts}.\n", "utf-8"
        )
    text, absent = fill(PAGE.read_text("utf-8"), BUILD, suffix)
    PAGE.write_text(text, "utf-8")
    for name in absent:
        print(f"no result for {name}: its block stays as it is")
    return int(bool(absent))
