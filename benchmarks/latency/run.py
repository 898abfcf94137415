"""Latencies at three loads: attempt to published window, end of a window to its proof, fallback to alert, teardown to
verdict.

    python -m benchmarks latency [--quick] [--seconds N] [--rates N,N,N] [--fresh]

One host in this process, `unmask stream` in another. An attempt is published when the lifetime window's record counts
it: it waits up to a second for its batch, a tenth for its transaction, a second for its snapshot. A closed window is
proven when its record says COMPLETE, which is after the grace of 5 s at the earliest. A fallback alerts when two
sessions had one upstream masked: UPSTREAM_OUTAGE. The first seconds are left out. Percentiles are of all events.
Results go to build/bench/latency.json and .md.
"""

import argparse
import bisect
import json
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.compare.logs import delete
from benchmarks.compare.setup import BUILD
from benchmarks.compare.store import Store
from benchmarks.compare.worker_run import workers
from benchmarks.gate import StampedView
from benchmarks.latency.load import Told, host
from benchmarks.latency.watch import SHORT_S, Watch
from benchmarks.machine import machine_facts
from benchmarks.processes import cpu_seconds

from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

__all__ = ["main", "measure"]

RATES = (100, 2_000, 20_000)
PARTITIONS = 4
_WARM_UP_S = 2.0
_SETTLE_S = 30.0
KINDS = {
    "attempt": "attempt recorded to window published",
    "complete": f"end of a {SHORT_S} s window to its proof (grace 5 s)",
    "outage": "fallback recorded to alert published",
    "verdict": "teardown to verdict in a gate's view",
}


def measure(bootstrap: str, namespace: str, rate: int, seconds: float, folder: Path) -> dict[str, Any]:
    """One run at one load: percentiles in milliseconds, and the worker's CPU seconds a second."""
    topics = Topics(namespace, events_partitions=PARTITIONS, table_partitions=PARTITIONS)
    create_topics(bootstrap, topics)
    try:
        with (
            workers(bootstrap, namespace, 1, folder, "--window-seconds", f"{SHORT_S},60,3600") as ((pid,), _),
            StampedView(bootstrap, namespace) as view,
        ):
            view.wait_ready(30)
            watch = Watch(bootstrap, topics)
            begin, before = time.monotonic(), cpu_seconds(pid)
            # The view stamps with another clock than the rest; both tick alike.
            shift = time.perf_counter() - time.monotonic()
            told = host(bootstrap, namespace, rate, _WARM_UP_S + seconds)
            cpu = (cpu_seconds(pid) - before) / (time.monotonic() - begin)
            last = told.attempts[-1][0]
            deadline = time.monotonic() + _SETTLE_S
            while time.monotonic() < deadline and not (
                watch.counted
                and watch.counted[-1][0] >= last
                and told.teardowns.keys() <= view.seen.keys()
                and told.outages.keys() <= watch.outages.keys()
            ):
                time.sleep(0.1)
            # The last windows close when their grace is over.
            time.sleep(SHORT_S + 6)
            watch.close()
            verdicts = {name: at - shift for name, at in view.seen.items()}
        return {"rate": rate, "seconds": seconds, "cpu": round(cpu, 3), **_latencies(told, watch, verdicts, begin)}
    finally:
        delete(bootstrap, namespace)


def _latencies(told: Told, watch: Watch, verdicts: dict[bytes, float], begin: float) -> dict[str, Any]:
    since = begin + _WARM_UP_S
    totals = [total for total, _ in watch.counted]
    attempts: list[float] = []
    before = 0
    for recorded, at in told.attempts:
        place = bisect.bisect_left(totals, recorded)
        if recorded > before and at >= since and place < len(totals):
            # All attempts of a tick were recorded at about its end.
            attempts.extend([watch.counted[place][1] - at] * (recorded - before))
        before = recorded
    day = time.time() - time.monotonic()
    ends = {start: start + SHORT_S for start in watch.complete}
    complete = [at - ends[start] for start, at in watch.complete.items() if ends[start] >= since + day]
    outages = [watch.outages[name] - at for name, at in told.outages.items() if at >= since and name in watch.outages]
    ended = [verdicts[name] - at for name, at in told.teardowns.items() if at >= since and name in verdicts]
    missing = len(told.outages.keys() - watch.outages.keys()) + len(told.teardowns.keys() - verdicts.keys())
    found = {"attempt": attempts, "complete": complete, "outage": outages, "verdict": ended}
    return {kind: _percentiles(values) for kind, values in found.items()} | {"missing": missing}


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    values = sorted(seconds)
    if not values:
        return {"n": 0}
    picked = {f"p{share}": values[min(len(values) - 1, int(len(values) * share / 100))] for share in (50, 99)}
    return {"n": len(values), **{name: round(value * 1000, 1) for name, value in picked.items()}}


def markdown(told: dict[str, Any]) -> str:
    """The results for people."""
    rates = told["loads"]
    heads = "".join(f" {load['rate']:,}/s p50 | p99 |" for load in rates)
    lines = [f"| milliseconds |{heads}", "|---|" + "---:|" * (2 * len(rates))]
    for kind, title in KINDS.items():
        cells = "".join(f" {load[kind].get('p50', 0):,.0f} | {load[kind].get('p99', 0):,.0f} |" for load in rates)
        lines.append(f"| {title} |{cells}")
    lines.append("| worker's CPU, cores |" + "".join(f" {load['cpu']:.2f} | |" for load in rates))
    facts = "; ".join(f"{name} {value}" for name, value in told["machine"].items())
    return "\n".join([*lines, "", f"Measured {told['measured']} on: {facts}.", ""])


def main(arguments: list[str], bootstrap: str) -> int:
    """Measures at every load; how many latencies are missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks latency", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 s at each load")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rates", default=",".join(map(str, RATES)))
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    given = parser.parse_args(arguments)
    seconds = given.seconds or (4.0 if given.quick else 60.0)
    store = Store(BUILD / ("latency-quick.jsonl" if given.quick else "latency.jsonl"), fresh=given.fresh)
    folder = BUILD / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    rates = [int(rate) for rate in given.rates.split(",")]
    for rate in rates:
        if not store.has(rate=rate, seconds=seconds):
            run = f"bench-{secrets.token_hex(3)}-latency-{rate}"
            store.add(measure(bootstrap, run, rate, seconds, folder))
            print(json.dumps(store.all()[-1]), flush=True)
    loads = [next(line for line in reversed(store.all()) if line["rate"] == rate) for rate in rates]
    told = {"measured": datetime.now(UTC).date().isoformat(), "machine": machine_facts(), "loads": loads}
    store.path.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    text = markdown(told)
    store.path.with_suffix(".md").write_text(text, "utf-8")
    print(text, flush=True)
    return sum(load["missing"] for load in loads)
