"""The comparison's report: medians and ratios, as JSON and as Markdown, with the targets and whether they are met."""

import json
import os
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.compare.store import Store
from benchmarks.compare.systems import SYSTEMS, named
from benchmarks.machine import machine_facts

__all__ = ["TARGETS", "Target", "markdown", "summary", "write_report"]

_FIGURES = ("events_per_s", "cpu_s_per_million", "peak_mb", "startup_s", "startup_cpu_s")


@dataclass(frozen=True, slots=True)
class Target:
    """A ratio of two systems in one run."""

    what: str
    system: str
    against: str
    figure: str
    limit: float
    at_least: bool = False
    """Whether the ratio must not be lower, rather than not be higher."""

    def met(self, ratio: float) -> bool:
        """Whether a ratio is good enough."""
        return ratio >= self.limit if self.at_least else ratio <= self.limit


def _cpu(what: str, system: str, against: str, limit: float) -> Target:
    return Target(what, system, against, "cpu_s_per_million", limit)


TARGETS = (
    _cpu("fill 500 against the plain one-event loop", "worker-500", "plain", 1 / 6),
    _cpu("fill 500 against Flink (heap)", "worker-500", "flink-heap", 1 / 4),
    _cpu("fill 500 against Kafka Streams", "worker-500", "kafka-streams", 1 / 8),
    _cpu("fill 500 against Faust", "worker-500", "faust", 1 / 250),
    _cpu("fill 100 against the plain one-event loop", "worker-100", "plain", 1 / 5),
    _cpu("fill 10 against the plain one-event loop", "worker-10", "plain", 1 / 2),
    _cpu("fill 10 against Flink (heap)", "worker-10", "flink-heap", 1.0),
    _cpu("fill 1 against the plain one-event loop", "worker-1", "plain", 1.5),
    _cpu("fill 1 against Kafka Streams", "worker-1", "kafka-streams", 1.0),
    _cpu("fill 1 against Bytewax", "worker-1", "bytewax", 1.0),
    _cpu("fill 100 against a plain loop over the same batches", "worker-100", "plain-100", 1.5),
    Target("two workers against one, fill 10", "worker-10-x2", "worker-10", "events_per_s", 1.7, at_least=True),
    Target("two workers against one, fill 100", "worker-100-x2", "worker-100", "events_per_s", 1.7, at_least=True),
)


def summary(lines: list[dict[str, Any]], *, quick: bool) -> dict[str, Any]:
    """Medians per system over its exact runs, the ratios of the targets, and what is missing."""
    systems: dict[str, dict[str, Any]] = {}
    absent: dict[str, str] = {}
    for system in SYSTEMS:
        mine = [line for line in lines if line["system"] == system.name]
        exact = [line for line in mine if line.get("exact")]
        if exact:
            figures = {name: statistics.median(line[name] for line in exact) for name in _FIGURES}
            ranges = {f"{name}_range": _range(line[name] for line in exact) for name in _FIGURES[:2]}
            whole = [line["machine_cpu_s"] / line["events"] * 1e6 for line in exact if line.get("machine_cpu_s")]
            if whole:
                figures["machine_cpu_s_per_million"] = round(statistics.median(whole), 4)
            systems[system.name] = {
                "title": system.title, "events": exact[-1]["events"], "runs": len(mine), "exact": len(exact),
                "durable": system.durable, **figures, **ranges,
            }  # fmt: skip
        elif mine:
            last = mine[-1]
            absent[system.name] = last.get("missing") or last.get("failed") or last.get("wrong", "")
    targets = []
    for target in TARGETS:
        ours, theirs = systems.get(target.system), systems.get(target.against)
        if ours and theirs:
            ratio = ours[target.figure] / theirs[target.figure]
            told = {
                "what": target.what, "figure": target.figure, "ratio": round(ratio, 4),
                "limit": round(target.limit, 4), "at_least": target.at_least, "met": target.met(ratio),
            }  # fmt: skip
            if target.at_least and "machine_cpu_s_per_million" in ours:
                told["ceiling"] = round(_ceiling(ours, theirs), 4)
            targets.append(told)
    return {
        "quick": quick, "measured": datetime.now(UTC).date().isoformat(), "machine": machine_facts(),
        "systems": systems, "targets": targets, "absent": absent,
    }  # fmt: skip


def _ceiling(many: dict[str, Any], one: dict[str, Any]) -> float:
    """The ratio that workers would reach which kept every core busy: the broker needs its part of the same cores."""
    all_cores = (os.cpu_count() or 1) / many["machine_cpu_s_per_million"] * 1e6
    return float(all_cores / one["events_per_s"])


def _range(values: Any) -> list[float]:
    known = sorted(values)
    return [known[0], known[-1]]


def markdown(told: dict[str, Any]) -> str:
    """The summary for people."""
    base = told["systems"].get("plain", {}).get("cpu_s_per_million")
    lines = [
        "| system | events | exact runs | events/s | CPU-s per million (range) | against the plain loop | peak MB | "
        "start-up s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in told["systems"].values():
        low, high = row["cpu_s_per_million_range"]
        ratio = f"{row['cpu_s_per_million'] / base:.2f}" if base else ""
        lines.append(
            f"| {row['title']} | {row['events']:,} | {row['exact']} of {row['runs']} | {row['events_per_s']:,.0f} | "
            f"{row['cpu_s_per_million']:.2f} ({low:.2f}–{high:.2f}) | {ratio} | {row['peak_mb']:.0f} | "
            f"{row['startup_s']:.1f} |"
        )
    lines += ["", "| target | ratio | at | met |", "|---|---:|---:|---|"]
    for target in told["targets"]:
        sign = "≥" if target["at_least"] else "≤"
        lines.append(
            f"| {target['what']} | {target['ratio']:.3f} | {sign} {target['limit']:.3f} | "
            f"{'yes' if target['met'] else 'no'}{_above(target)} |"
        )
    for name, reason in told["absent"].items():
        lines += ["", f"Not measured: {named(name).title}: {reason}."]
    facts = "; ".join(f"{name} {value}" for name, value in told["machine"].items())
    how = "A quick run: fewer events, so that the warm-up of the JVM systems counts." if told["quick"] else ""
    lines += ["", f"Measured {told['measured']} on: {facts}. {how}".rstrip(), ""]
    return "\n".join(lines)


def _above(target: dict[str, Any]) -> str:
    if "ceiling" not in target:
        return ""
    return f"; all cores of this machine, the broker's share taken off, give {target['ceiling']:.2f}"


def write_report(store: Store, *, quick: bool) -> Path:
    """Writes the summary beside the store, as .json and .md; the latter's path."""
    told = summary(store.all(), quick=quick)
    store.path.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    report = store.path.with_suffix(".md")
    report.write_text(markdown(told), "utf-8")
    return report
