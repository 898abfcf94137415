"""Runs a peer: a process that counts a log, marks its first and last event, and publishes what it counted."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.compare.encoding import ONE_EVENT_SCHEMA, Encoded, batches, one_event_records
from benchmarks.compare.logs import create, delete, read_values, write
from benchmarks.compare.outcome import Outcome, RunFailed, difference
from benchmarks.compare.setup import PEERS, command_of
from benchmarks.compare.systems import System
from benchmarks.compare.workload import PARTITIONS, Counts, Workload
from benchmarks.processes import peak_mb

from unmask.schemas.history import published

__all__ = ["Inputs", "run_peer"]

_TIMEOUT_S = 300.0
_AGE_S = 12 * 3600
_AFTER_LAST_S = 6 * 3600
"""Events that close windows come so much later than the last one, and are still of the past for the broker."""


@dataclass(slots=True)
class Inputs:
    """The logs that peers read, each written once; several runs read the same one."""

    bootstrap: str
    name: str
    _written: dict[tuple[int, int, str], tuple[str, Workload]] = field(default_factory=dict)

    def log(self, fill: int, events: int, compression: str, *, alone: bool) -> tuple[str, Workload]:
        """A topic with the workload, and the workload; `alone` a topic that nobody else reads."""
        what = (fill, events, compression)
        if not alone and what in self._written:
            return self._written[what]
        load = Workload(events, int(time.time()) - _AGE_S)
        topic = f"{self.name}-in-{fill}-{events}-{compression}" + (f"-{time.time_ns()}" if alone else "")
        create(self.bootstrap, topic, partitions=PARTITIONS)
        records = batches(load, fill) if fill else one_event_records(load)
        write(self.bootstrap, topic, records, compression=compression)
        if not alone:
            self._written[what] = topic, load
        return topic, load


def run_peer(system: System, events: int, inputs: Inputs, run: str, folder: Path) -> Outcome:
    """One run. Raises RunFailed."""
    bootstrap = inputs.bootstrap
    topic, load = inputs.log(system.fill, events, system.compression, alone=system.closing)
    out = f"{run}-out"
    create(bootstrap, out, partitions=PARTITIONS)
    state = folder / run
    state.mkdir(parents=True)
    wanted = load.attempts()
    schema = state / "schema.avsc"
    # Batches that tell nothing new are written in the first version.
    batch_schema = json.dumps(published("event_batch")[0].source)
    schema.write_text(batch_schema if system.fill else ONE_EVENT_SCHEMA.read_text("utf-8"))
    told = {
        "BENCH_BROKER": bootstrap, "BENCH_TOPIC": topic, "BENCH_OUT": out, "BENCH_GROUP": run,
        "BENCH_EVENTS": str(events), "BENCH_FORMAT": "batch" if system.fill else "one_event",
        "BENCH_MARKS": str(state / "marks"), "BENCH_STATE": str(state), "BENCH_SCHEMA": str(schema),
        "PYTHONPATH": str(PEERS), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    close = _closing(bootstrap, topic, load) if system.closing else None
    try:
        return _watch(system, load.events, told, state, close, lambda: _result(bootstrap, out), wanted)
    finally:
        delete(bootstrap, run)
        if system.closing:
            delete(bootstrap, topic)


def _watch(
    system: System, events: int, told: dict[str, str], state: Path, close: Callable[[], None] | None,
    result: Callable[[], Counts], wanted: Counts,
) -> Outcome:  # fmt: skip
    began = time.time()
    with (state / "log").open("wb") as log:
        process = subprocess.Popen(
            command_of(system, state, {**os.environ, **told}), cwd=PEERS, env={**os.environ, **told}, stdout=log,
            stderr=log,
        )  # fmt: skip
    peak = 0.0
    try:
        while process.poll() is None:
            with suppress(OSError):
                peak = max(peak, peak_mb(process.pid))
            if time.time() - began > _TIMEOUT_S:
                raise RunFailed(f"{system.name} was not done after {_TIMEOUT_S:.0f} s; see {state / 'log'}")
            if "done" in _marks(state):
                # Some end by themselves.
                process.terminate()
            elif close is not None and "counted" in _marks(state):
                close()
                _await(result, wanted)
                close = None
                process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    marks = _marks(state)
    if "first" not in marks or "done" not in marks:
        raise RunFailed(f"{system.name} ended with {process.returncode} before it was done; see {state / 'log'}")
    wrong = difference(result(), wanted)
    first, done = marks["first"], marks["done"]
    last = marks.get("counted", done)
    return Outcome(
        system.name, events, not wrong, wrong, last[0] - first[0], done[1] - first[1], first[0] - began, first[1], peak
    )


def _marks(state: Path) -> dict[str, tuple[float, float]]:
    """Time and CPU seconds of each mark."""
    path = state / "marks"
    if not path.exists():
        return {}
    lines = [line.split() for line in path.read_text("utf-8").splitlines()]
    return {name: (float(at), float(cpu)) for name, at, cpu in lines}


def _result(bootstrap: str, topic: str) -> Counts:
    """The last count of each window and group."""
    counts: Counts = {}
    for _, value in read_values(bootstrap, topic, PARTITIONS):
        line = json.loads(value or b"{}")
        release_line, capability, entry_point = line["k"].split("|")
        counts[line["w"], release_line, capability, entry_point] = line["n"]
    return counts


def _await(result: Callable[[], Counts], wanted: Counts, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while result() != wanted and time.monotonic() < deadline:
        time.sleep(0.3)


def _closing(bootstrap: str, topic: str, load: Workload) -> Callable[[], None]:
    """Sends an event of every group that lies hours later, so that event time passes the end of every window.

    They open windows that never close, and so are in no result.
    """

    def close() -> None:
        later = Workload(20_000, load.end_s + _AFTER_LAST_S)
        seen: set[tuple[str, str, str]] = set()
        records: list[Encoded] = []
        events = zip(later.emitter_of.tolist(), later.capability_of.tolist(), one_event_records(later), strict=True)
        for emitter, capability, record in events:
            host = later.hosts[emitter]
            label = (host.scope.release_line, host.entry_point, later.capabilities[capability])
            if label not in seen:
                seen.add(label)
                records.append(record)
        write(bootstrap, topic, records)

    return close
