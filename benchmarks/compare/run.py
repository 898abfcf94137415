"""One comparison: rounds of all systems, interleaved, each run checked before its time counts.

    python -m benchmarks compare [--quick] [--rounds N] [--systems NAME,NAME] [--fresh]

Results go to build/bench/compare.jsonl as they come (quick ones to compare-quick.jsonl); what stands there already is
not measured again unless --fresh says so. Medians and ratios follow in .json and .md beside it.
"""

import argparse
import os
import secrets
import shutil
import time

from benchmarks.compare.outcome import RunFailed
from benchmarks.compare.peer_run import Inputs, run_peer
from benchmarks.compare.report import write_report
from benchmarks.compare.setup import BUILD, missing
from benchmarks.compare.store import Store
from benchmarks.compare.systems import SYSTEMS, WORKER, System, named
from benchmarks.compare.worker_run import run_worker

__all__ = ["compare", "main"]

_PAUSE_S = 1.0


def compare(
    bootstrap: str, store: Store, systems: list[System], rounds: int, *, quick: bool, scale: float = 1.0
) -> None:
    """Runs every system in every round. `scale` changes how many events there are."""
    name = f"bench-{secrets.token_hex(3)}"
    folder = BUILD / "runs" / name
    folder.mkdir(parents=True)
    inputs = Inputs(bootstrap, name)
    failed = 0
    for round_number in range(1, rounds + 1):
        for system in systems:
            events = round((system.quick if quick else system.events) * scale)
            if store.has(system=system.name, round=round_number, events=events):
                continue
            reason = missing(system)
            line = {"system": system.name, "round": round_number, "events": events}
            if reason:
                store.add(line | {"missing": reason})
                print(f"{system.title}: not here: {reason}", flush=True)
                continue
            load_before = os.getloadavg()[0]
            run = f"{name}-{round_number}-{system.name}"
            try:
                if system.kind == WORKER:
                    outcome = run_worker(system, events, bootstrap, run, folder)
                else:
                    outcome = run_peer(system, events, inputs, run, folder)
            except RunFailed as failure:
                failed += 1
                store.add(line | {"failed": str(failure)})
                print(f"{system.title}: FAILED: {failure}", flush=True)
                continue
            record = outcome.record()
            store.add(line | record | {"load_before": round(load_before, 2)})
            print(
                f"round {round_number}  {system.title:<52} {record['events_per_s']:>10,} events/s "
                f"{record['cpu_s_per_million']:>9.3f} CPU-s per million  {record['peak_mb']:>5.0f} MB  "
                + ("exact" if outcome.exact else f"NOT EXACT: {outcome.wrong}"),
                flush=True,
            )
            time.sleep(_PAUSE_S)
    if not failed:
        # The logs of what failed are named beside its message.
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: list[str], bootstrap: str) -> int:
    """Compares and reports; the number of runs that failed or were not exact."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer events, one round")
    parser.add_argument("--rounds", type=int, help="default: 3, quick 1")
    parser.add_argument("--systems", default="", help="names, divided by commas; default: all")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    given = parser.parse_args(arguments)
    systems = [named(name) for name in given.systems.split(",")] if given.systems else list(SYSTEMS)
    if given.quick:
        systems = [system for system in systems if system.quick]
    store = Store(BUILD / ("compare-quick.jsonl" if given.quick else "compare.jsonl"), fresh=given.fresh)
    compare(bootstrap, store, systems, given.rounds or (1 if given.quick else 3), quick=given.quick)
    report = write_report(store, quick=given.quick)
    print(f"\n{report.read_text('utf-8')}", flush=True)
    return sum("failed" in line or line.get("exact") is False for line in store.all())
