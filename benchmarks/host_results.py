"""Figures of several rounds: medians, ratios within one round, and the files that they go to."""

import json
import os
import statistics
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_facts

__all__ = ["BUILD", "median_of", "ratio_of", "table", "write"]

BUILD = Path("build/bench")


def median_of(rounds: Iterable[dict[str, float]], figure: str) -> float:
    """The median of one figure."""
    return statistics.median(each[figure] for each in rounds)


def ratio_of(ours: Sequence[dict[str, float]], theirs: Sequence[dict[str, float]], figure: str) -> float:
    """The median of the ratios, each of two figures of the same round: what disturbs a round disturbs both."""
    return statistics.median(mine[figure] / other[figure] for mine, other in zip(ours, theirs, strict=True))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def write(name: str, told: dict[str, Any], text: str, *, quick: bool) -> None:
    """Print the text and write both to build/bench, with the facts of the machine."""
    facts = machine_facts() | {"load": f"{os.getloadavg()[0]:.1f}"}
    measured = datetime.now(UTC).date().isoformat()
    where = "; ".join(f"{fact} {value}" for fact, value in facts.items())
    text = f"{text}\n\nMeasured {measured}{', a quick run,' if quick else ''} on: {where}.\n"
    BUILD.mkdir(parents=True, exist_ok=True)
    file = BUILD / (f"{name}-quick" if quick else name)
    record = {"quick": quick, "measured": measured, "machine": facts, **told}
    file.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    file.with_suffix(".md").write_text(text, "utf-8")
    print(f"\n{text}", flush=True)
