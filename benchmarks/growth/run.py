"""How cost grows: with emitters, labels, open windows, partitions, workers, cells of the tables, a gate's verdicts.

    python -m benchmarks growth [--quick] [--curves NAME,NAME] [--fresh]

Each point is a run of its own, checked as those of the comparison are. Results go to build/bench/growth.jsonl as they
come; what stands there is not measured again unless --fresh says so. `python -m benchmarks draw` draws them.
"""

import argparse
import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.compare.logs import delete
from benchmarks.compare.outcome import Outcome, RunFailed
from benchmarks.compare.setup import BUILD
from benchmarks.compare.store import Store
from benchmarks.compare.worker_run import count_log
from benchmarks.compare.workload import Workload
from benchmarks.growth.tables import measure_tables
from benchmarks.growth.verdicts import measure_verdicts
from benchmarks.machine import machine_facts

__all__ = ["CURVES", "main"]

Point = dict[str, Any]
_QUICK = 10
"""By so much smaller a quick run's largest points are, and by so much its events are fewer."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What one curve is over, its points, and how one of them is measured."""

    name: str
    points: tuple[int, ...]
    measure: Callable[[str, str, int, int, Path], Point]
    """Broker, a namespace of its own, the point, by how much less is counted, a folder."""


def _log(
    bootstrap: str, run: str, folder: Path, events: int, fill: int, *, number: int = 1,
    arguments: tuple[str, ...] = (), closing: bool = True, idle_s: float = 0.0, **load: Any,
) -> Point:  # fmt: skip
    outcome: Outcome = count_log(
        bootstrap, run, Workload(events, int(time.time()) - 30, **load), fill, folder, name=run, number=number,
        arguments=arguments, closing=closing, idle_s=idle_s,
    )  # fmt: skip
    if not outcome.exact:
        raise RunFailed(outcome.wrong)
    return outcome.record()


def _emitters(bootstrap: str, run: str, emitters: int, less: int, folder: Path) -> Point:
    """Batches of 10 events, at least two of each emitter; all stay alive for 10 s after the last."""
    events = max(1_000_000 // less, 20 * emitters)
    return _log(
        bootstrap, run, folder, events, 10, closing=False, idle_s=10.0, emitters=emitters, burst=10
    )  # fmt: skip


def _labels(bootstrap: str, run: str, labels: int, less: int, folder: Path) -> Point:
    """Batches of 100 events over two minutes; every emitter has all labels."""
    names = tuple(f"capability-{number}" for number in range(labels))
    return _log(bootstrap, run, folder, 1_000_000 // less, 100, capabilities=names, emitters=40, span_s=120)


def _windows(bootstrap: str, run: str, windows: int, less: int, folder: Path) -> Point:
    """Batches of 100 events over 20 minutes, in so many windows of equal size."""
    seconds = 1200 // windows
    return _log(
        bootstrap, run, folder, 2_000_000 // less, 100, arguments=("--window-seconds", f"{seconds},3600"),
        window_s=seconds,
    )  # fmt: skip


def _partitions(bootstrap: str, run: str, partitions: int, less: int, folder: Path) -> Point:
    """Batches of 100 events, one worker; then 10 s in which nothing happens."""
    return _log(bootstrap, run, folder, 2_000_000 // less, 100, partitions=partitions, emitters=256, idle_s=10.0)


def _workers(bootstrap: str, run: str, number: int, less: int, folder: Path) -> Point:
    """Batches of 10 events."""
    return _log(bootstrap, run, folder, 4_000_000 // less, 10, number=number)


def _cells(bootstrap: str, run: str, cells: int, less: int, folder: Path) -> Point:
    """The tables alone; one snapshot of each cell a second."""
    cost = measure_tables(bootstrap, run, cells, max(5, 30 // less), folder)
    lags = sorted(cost.lags_s)
    return {
        "cells": cost.cells, "rounds": cost.rounds, "keeps_up": cost.keeps_up, "peak_mb": round(cost.peak_mb, 1),
        "lag_p50_s": round(lags[len(lags) // 2], 3), "lag_max_s": round(lags[-1], 3),
        "cores": round(cost.cpu_s / cost.rounds, 3),
    }  # fmt: skip


def _verdicts(bootstrap: str, run: str, verdicts: int, less: int, folder: Path) -> Point:
    """A gate's view from nothing to ready, and questions to it."""
    return asdict(measure_verdicts(bootstrap, run, verdicts))


CURVES = (
    Curve("emitters", (10, 100, 1_000, 10_000, 100_000), _emitters),
    Curve("labels", (1, 10, 100, 1_000), _labels),
    Curve("windows", (1, 5, 20, 60, 300), _windows),
    Curve("partitions", (1, 4, 16, 64), _partitions),
    Curve("workers", (1, 2, 4), _workers),
    Curve("cells", (1_000, 3_000, 10_000, 20_000), _cells),
    Curve("verdicts", (1_000, 10_000, 100_000, 1_000_000), _verdicts),
)


def _points(curve: Curve, *, quick: bool) -> Iterator[int]:
    largest = curve.points[-1] // (_QUICK if quick and curve.points[-1] > _QUICK else 1)
    return (point for point in curve.points if point <= largest)


def main(arguments: list[str], bootstrap: str) -> int:
    """Measures what is missing; how many points failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without the largest points, and with fewer events")
    parser.add_argument("--curves", default="", help=", ".join(curve.name for curve in CURVES))
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    given = parser.parse_args(arguments)
    wanted = set(given.curves.split(",")) if given.curves else {curve.name for curve in CURVES}
    store = Store(BUILD / ("growth-quick.jsonl" if given.quick else "growth.jsonl"), fresh=given.fresh)
    folder = BUILD / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for curve in CURVES:
        for point in _points(curve, quick=given.quick) if curve.name in wanted else ():
            if store.has(curve=curve.name, point=point):
                continue
            run = f"bench-{secrets.token_hex(3)}-{curve.name}"
            try:
                found = curve.measure(bootstrap, run, point, _QUICK if given.quick else 1, folder)
            except (RunFailed, RuntimeError) as failure:
                failed += 1
                print(f"{curve.name} {point:,}: FAILED: {failure}", flush=True)
                continue
            finally:
                delete(bootstrap, run)
            store.add({"curve": curve.name, "point": point, **found})
            print(json.dumps(store.all()[-1]), flush=True)
    told = {"measured": datetime.now(UTC).date().isoformat(), "machine": machine_facts(), "points": store.all()}
    store.path.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return failed
