"""How long `unmask report windows` takes over 28 days of hourly windows on 64 partitions.

    python benchmarks/report_read.py [--broker HOST:PORT] [--days N] [--partitions N] [--lines N] [--capabilities N]
                                     [--minutes] [--runs N]

Records of the shape that the tables publish are written straight to the windows topic, for only the reading is
measured here: two release lines of which one takes over from the other, a window as a whole, each release line and
composition in it, and each capability of these; hours that are LOSSY and hours that nobody witnessed among them; each
record three times, as it was published while its window was open. With --minutes the minute windows of the same days
stand on the topic too, as they do in earnest, and must be read over. Each format is the whole command in a process of
its own, from its start to its end; of several runs all are told.
"""

import argparse
import os
import random
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from unmask.consumers.devbroker import resolve_broker
from unmask.consumers.testing import window_record
from unmask.schemas.codec import encode
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso
from unmask.schemas.kafka import producer_config
from unmask.schemas.keys import window_key, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS

TARGET_S = 10.0
HOUR = 3_600
DAY = 24 * HOUR
REASONS = ("timeout", "rate_limited", "upstream_error")
ENTRY_POINTS = ("chat", "batch", "webhook")


def scopes_at(share: float, lines: int) -> list[Scope]:
    """Who runs when that share of the time is over: one release line after the other, two of them side by side."""
    at = share * lines
    running = {min(lines - 1, int(at)), min(lines - 1, int(at + 0.5))}
    return [Scope(f"line-{n}", "contract-1", "backend-1", "redaction-1", f"switchboard-{n}") for n in sorted(running)]


def records_of(
    start: int, seconds: int, scopes: list[Scope], capabilities: int, chance: random.Random
) -> Iterator[dict[str, Any]]:
    """All records of one window, microseconds."""
    kind = chance.random()
    if kind < 0.01:
        yield window_record(start, seconds, scope=None, states=Evidence.ABSENT, emitters=0)
        return
    state, causes = (Evidence.LOSSY, ["silent"]) if kind < 0.03 else (Evidence.COMPLETE, [])
    whole_attempts = whole_fallbacks = 0
    for scope in scopes:
        attempts_of_scope = fallbacks_of_scope = 0
        for number in range(capabilities):
            attempts = chance.randrange(1, 40) * seconds
            fallbacks = chance.randrange(0, 9) if chance.random() < 0.3 else 0
            attempts_of_scope += attempts
            fallbacks_of_scope += fallbacks
            yield counted(start, seconds, scope, f"capability-{number}", attempts, fallbacks, state, causes)
        whole_attempts += attempts_of_scope
        whole_fallbacks += fallbacks_of_scope
        yield counted(start, seconds, scope, None, attempts_of_scope, fallbacks_of_scope, state, causes)
    yield counted(start, seconds, None, None, whole_attempts, whole_fallbacks, state, causes)


def counted(
    start: int, seconds: int, scope: Scope | None, capability: str | None, attempts: int, fallbacks: int,
    state: Evidence, causes: list[str],
) -> dict[str, Any]:  # fmt: skip
    """One record with its counts split by entry point and reason."""
    third = attempts // 3
    split = (third, third, attempts - 2 * third)
    return window_record(
        start, seconds, scope=scope, capability=capability, states=state, causes=causes, attempts=attempts,
        attempts_by_entry_point=dict(zip(ENTRY_POINTS, split, strict=True)), fallbacks_total=fallbacks,
        fallbacks_by_reason={REASONS[fallbacks % 3]: fallbacks} if fallbacks else {}, emitters=12, revision=3,
    )  # fmt: skip


def fill(bootstrap: str, given: argparse.Namespace, now: int) -> str:
    """A namespace whose windows topic holds the days before `now`, microseconds; its name."""
    namespace = f"bench-{secrets.token_hex(4)}"
    topics = Topics(namespace, events_partitions=1, table_partitions=given.partitions)
    create_topics(bootstrap, topics)
    producer = Producer(
        producer_config(bootstrap, linger_ms=50, batch_size=500_000, queue_buffering_max_messages=500_000)
    )
    chance = random.Random(1)
    name = topics.windows.name
    began, written, size = time.perf_counter(), 0, 0
    first = now - given.days * DAY * MICROS

    def put(start: int, seconds: int, revisions: int) -> None:
        nonlocal written, size
        partition = partition_for(window_route(start, seconds), given.partitions)
        end = start + seconds * MICROS
        scopes = scopes_at((start - first) / (now - first), given.lines)
        for record in records_of(start, seconds, scopes, given.capabilities, chance):
            scope = None if record["scope"] is None else Scope(**record["scope"])
            key = window_key(start, seconds, scope, record["capability"]).encode()
            value = encode("window", record)
            for revision in range(revisions):
                stamp = (end - (revisions - 1 - revision) * seconds * MICROS // 4) // 1000
                while True:
                    try:
                        producer.produce(name, key=key, value=value, partition=partition, timestamp=stamp)
                        break
                    except BufferError:
                        producer.poll(0.1)
                written += 1
                size += len(value)
        producer.poll(0)

    for hour in range(first, now, HOUR * MICROS):
        if given.minutes:
            for minute in range(hour, hour + HOUR * MICROS, 60 * MICROS):
                put(minute, 60, 1)
        put(hour, HOUR, 3)
    assert producer.flush(300) == 0
    took = time.perf_counter() - began
    print(f"wrote {written:,} records, {size / 1e6:.0f} MB of values, in {took:.0f} s", flush=True)
    return namespace


def measure(bootstrap: str, namespace: str, now: int, days: int, runs: int) -> float:
    """Every format, as the whole command; the slowest run, in seconds."""
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": bootstrap, "UNMASK_NAMESPACE": namespace}
    since = iso(now - days * DAY * MICROS)
    span = ["report", "windows", "--since", since, "--until", iso(now), "--granularity"]
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        asked: dict[str, list[str]] = {
            "1h, JSON": [*span, "1h", "--json"],
            "1h, table": [*span, "1h"],
            "1h, Parquet": [*span, "1h", "--parquet", str(Path(folder) / "report.parquet")],
            "1h, HTML": [*span, "1h", "--html", str(Path(folder) / "report.html")],
            "1d, JSON": [*span, "1d", "--json"],
        }
        for name, words in asked.items():
            times, cpu = [], []
            for _ in range(runs):
                began, used = time.perf_counter(), cpu_of_children()
                command = [sys.executable, "-m", "unmask.consumers.cli.main", *words]
                done = subprocess.run(command, env=environment, capture_output=True, check=False)
                times.append(time.perf_counter() - began)
                cpu.append(cpu_of_children() - used)
                if done.returncode:
                    raise SystemExit(f"{name}: exit {done.returncode}: {done.stderr.decode()}")
            slowest = max(slowest, *times)
            told = "  ".join(f"{taken:5.1f} s" for taken in times)
            size = len(done.stdout) / 1e6
            print(f"{name:<12} {told}   of which CPU {min(cpu):4.1f} s   {size:5.1f} MB written   (≤ {TARGET_S:.0f} s)")
    return slowest


def cpu_of_children() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """0 where the target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker", help="bootstrap servers")
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--lines", type=int, default=4, help="release lines that follow one another")
    parser.add_argument("--capabilities", type=int, default=12)
    parser.add_argument("--minutes", action="store_true", help="minute windows too")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--namespace", help="one that was filled before, with --until of that time")
    parser.add_argument("--until", type=int, help="seconds since the epoch at which the days end (a whole hour)")
    given = parser.parse_args()
    bootstrap = given.broker or resolve_broker(tethered=True).bootstrap
    now = (given.until or int(time.time()) // HOUR * HOUR) * MICROS
    namespace = given.namespace or fill(bootstrap, given, now)
    print(f"{given.days} days, {given.partitions} partitions, {os.cpu_count()} cores, {namespace}", flush=True)
    return int(measure(bootstrap, namespace, now, given.days, given.runs) > TARGET_S)


if __name__ == "__main__":
    sys.exit(main())
