"""Runs our worker: `unmask stream`, ledger and tables, as an operator starts it.

The log stands in the topic before the worker starts, and becomes visible once it is ready: so a start costs nothing
that is counted, and two processes have shared the partitions before the first event. The end is the commit of the
transaction that holds the last event. CPU is counted until the windows topic holds every count.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.encoding import batches
from benchmarks.compare.logs import HeldBack, delete, read_values
from benchmarks.compare.outcome import Outcome, RunFailed, difference
from benchmarks.compare.systems import System
from benchmarks.compare.workload import PARTITIONS, Counts, Workload
from benchmarks.processes import cpu_seconds, machine_cpu_seconds, peak_mb
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.consumers.devbroker.ports import free_ports
from unmask.schemas.codec import decode
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

__all__ = ["Published", "await_ready", "count_log", "published_counts", "run_worker", "workers"]

_GRACE_S = 7200
"""Windows of the log lie in the past; with this grace none of them is late, as none is when it happens."""
_READY_S = 60.0
_STALLED_S = 60.0
_PUBLISHED_S = 120.0
_POLL_S = 0.02


def run_worker(system: System, events: int, bootstrap: str, run: str, folder: Path) -> Outcome:
    """One run. Raises RunFailed."""
    load = Workload(events, int(time.time()) - 30, fallback_every=system.fallback_every)
    return count_log(bootstrap, run, load, system.fill, folder, name=system.name, number=system.workers)


def count_log(
    bootstrap: str, run: str, load: Workload, fill: int, folder: Path, *, name: str = "", number: int = 1,
    arguments: tuple[str, ...] = (), closing: bool = True, idle_s: float = 0.0,
) -> Outcome:  # fmt: skip
    """Has `number` workers count a log. Raises RunFailed.

    Without `closing` the emitters stay alive, with a heartbeat of a day, so that none of them is silent. For `idle_s`
    seconds after the last event nothing happens, and the CPU time of these is told apart.
    """
    topics = Topics(run, events_partitions=load.partitions, table_partitions=PARTITIONS)
    create_topics(bootstrap, topics)
    try:
        records = batches(load, fill, closing=closing, heartbeat_ms=10_000 if closing else 86_400_000)
        log = HeldBack(bootstrap, topics.events.name, records)
        told = ("--grace-seconds", str(_GRACE_S), *arguments)
        with workers(bootstrap, run, number, folder, *told) as (pids, startup_s):
            _await_shares(bootstrap, f"{run}.ledger", number, load.partitions)
            before, machine_before = sum(map(cpu_seconds, pids)), machine_cpu_seconds()
            began = log.release()
            ended = _await_committed(bootstrap, topics, log, pids)
            # As long as events/s are: what comes after is the harness that reads the windows.
            machine_after = machine_cpu_seconds()
            found = _await_counts(bootstrap, topics, load)
            after = sum(map(cpu_seconds, pids))
            wrong = _wrong(found, load)
            time.sleep(idle_s)
            return Outcome(
                name,
                load.events,
                not wrong,
                wrong,
                seconds=ended - began,
                cpu_s=after - before,
                startup_s=startup_s,
                startup_cpu_s=before,
                peak_mb=max(map(peak_mb, pids)),
                machine_cpu_s=machine_after - machine_before,
                idle_cpu=(sum(map(cpu_seconds, pids)) - after) / idle_s if idle_s else 0.0,
            )
    finally:
        delete(bootstrap, run)


@contextmanager
def workers(
    bootstrap: str, namespace: str, number: int, folder: Path, *arguments: str
) -> Iterator[tuple[list[int], float]]:
    """So many workers, ready: their process ids, and how long the first took to be. Their output goes to `folder`."""
    ports = free_ports(number)
    told = {"KAFKA_BOOTSTRAP_SERVERS": bootstrap, "UNMASK_NAMESPACE": namespace, "UNMASK_LOG_LEVEL": "WARNING"}
    command = [sys.executable, "-m", "unmask.consumers.cli.main", "stream", *arguments]
    started: list[subprocess.Popen[bytes]] = []
    try:
        began = time.monotonic()
        for index, port in enumerate(ports):
            with (folder / f"{namespace}-{index}.log").open("wb") as log:
                started.append(
                    subprocess.Popen(
                        [*command, "--port", str(port)], env={**os.environ, **told}, stdout=log, stderr=log
                    )
                )
        for process, port in zip(started, ports, strict=True):
            await_ready(process, port)
        yield [process.pid for process in started], time.monotonic() - began
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def await_ready(process: "subprocess.Popen[bytes]", port: int) -> None:
    """Waits until a worker would take in the first event. Raises RunFailed.

    As long as it may not see the log it cannot say that it has read everything, and so calls its marks stalled; that
    alone is no reason to wait.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _READY_S
    reasons: dict[str, str] = {"worker": "does not answer"}
    while time.monotonic() < deadline and process.poll() is None:
        try:
            answer = opener.open(f"http://127.0.0.1:{port}/readyz", timeout=2)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        except OSError:
            time.sleep(0.05)
            continue
        with answer:
            reasons = json.load(answer)["not_ready"]
        if all(" marks of source partitions " in reason for reason in reasons.values()):
            return
        time.sleep(0.05)
    raise RunFailed(f"the worker was not ready within {_READY_S:.0f} s: {reasons}")


def _await_shares(bootstrap: str, group: str, members: int, partitions: int) -> None:
    """Waits until every member of the group has an equal share of the partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        told = admin.describe_consumer_groups([group])[group].result(10).members
        shares = [len(member.assignment.topic_partitions) for member in told]
        if sorted(shares) == [partitions // members] * members:
            return
        time.sleep(0.2)
    raise RunFailed(f"{members} workers had not shared the partitions within {_READY_S:.0f} s")


def _await_committed(bootstrap: str, topics: Topics, log: HeldBack, pids: list[int]) -> float:
    """When the group had committed the whole log. Raises RunFailed where that stands still."""
    # It asks in the group's name without being a member; what is under way is not waited for.
    client = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": f"{topics.namespace}.ledger",
            "isolation.level": "read_uncommitted",
        }
    )  # fmt: skip
    wanted = [TopicPartition(topics.events.name, partition) for partition in log.records]
    try:
        done, moved = -1, time.monotonic()
        while True:
            offsets = {at.partition: max(0, at.offset) for at in client.committed(wanted, timeout=10)}
            if all(offsets[partition] >= count for partition, count in log.records.items()):
                return time.time()
            if sum(offsets.values()) != done:
                done, moved = sum(offsets.values()), time.monotonic()
            if time.monotonic() - moved > _STALLED_S or not all(Path(f"/proc/{pid}").exists() for pid in pids):
                raise RunFailed(f"the worker committed {done:,} of {log.records.total():,} records, and no more")
            time.sleep(_POLL_S)
    finally:
        client.close()


class Published:
    """What the windows topic says."""

    def __init__(self) -> None:
        self.attempts: Counts = {}
        self.fallbacks: Counts = {}
        self.blemishes: set[str] = set()
        """Evidence that speaks of loss, and events counted as late, ahead or seen before."""


def published_counts(bootstrap: str, topics: Topics, window_s: int) -> Published:
    """The newest record of each window, scope and capability."""
    newest = dict(read_values(bootstrap, topics.windows.name, topics.table_partitions))
    told = Published()
    for value in newest.values():
        window = decode("window", value)
        if window["window_seconds"] != window_s:
            continue
        told.blemishes.update(entry["state"] for entry in window["evidence"])
        told.blemishes.update(name for name in ("late", "skewed", "duplicates", "quarantined") if window[name])
        if window["capability"] is None:
            continue
        label = (window["window_start"] // 1_000_000, window["scope"]["release_line"], window["capability"])
        for code, count in window["attempts_by_entry_point"].items():
            told.attempts[(*label, code)] = count
        for code, count in window["fallbacks_by_reason"].items():
            told.fallbacks[(*label, code)] = count
    told.blemishes -= {"PENDING", "COMPLETE"}
    return told


def _await_counts(bootstrap: str, topics: Topics, load: Workload) -> Published:
    """What is published, as soon as it is what was sent; after `_PUBLISHED_S` whatever it is."""
    attempts, fallbacks = load.attempts(), load.fallbacks()
    deadline = time.monotonic() + _PUBLISHED_S
    while True:
        told = published_counts(bootstrap, topics, load.window_s)
        if (told.attempts == attempts and told.fallbacks == fallbacks) or time.monotonic() > deadline:
            return told
        time.sleep(0.1)


def _wrong(told: Published, load: Workload) -> str:
    problems = [difference(told.attempts, load.attempts()), difference(told.fallbacks, load.fallbacks())]
    if told.blemishes:
        problems.append("windows tell of " + ", ".join(sorted(told.blemishes)))
    return "; ".join(filter(None, problems))
