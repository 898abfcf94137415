"""The tables alone: snapshots of so many cells, each published again every second, as a busy ledger does.

The harness takes the ledger's place: one transaction a second holds a snapshot of every cell and the marks. The cells
lie in three windows, as they do while events come in: the current minute, the current hour, and the lifetime. What is
measured is the time from the commit to the window record that counts as much, and the worker's CPU time.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compare.logs import delete
from benchmarks.compare.worker_run import workers
from benchmarks.processes import cpu_seconds, peak_mb
from confluent_kafka import Consumer, Producer, TopicPartition

from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import Measure
from unmask.schemas.kafka import consumer_config, producer_config
from unmask.schemas.keys import mark_key, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics
from unmask.streams.ledger.quick_tally import QuickTally
from unmask.streams.ledger.state import CellId

__all__ = ["TablesCost", "measure_tables"]

_PARTITIONS = 4
_WINDOWS = 3
_SCOPES = 5
_ENTRY_POINTS = 8
_MICROS = 1_000_000
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class TablesCost:
    """Of one run."""

    cells: int
    rounds: int
    lags_s: tuple[float, ...]
    """Per round: from the commit of its snapshots to the window record that holds all of them."""
    cpu_s: float
    peak_mb: float

    @property
    def keeps_up(self) -> bool:
        """Whether the lag does not grow: that of the last quarter is within a second of that of the first."""
        part = max(1, len(self.lags_s) // 4)
        first, last = sorted(self.lags_s[:part]), sorted(self.lags_s[-part:])
        return last[len(last) // 2] <= first[len(first) // 2] + 1.0


def measure_tables(bootstrap: str, namespace: str, cells: int, rounds: int, folder: Path) -> TablesCost:
    """Publishes `cells` cells once a second, `rounds` times.

    A round that is not merged a minute after the last one has the lag that it has by then.
    """
    topics = Topics(namespace, events_partitions=_PARTITIONS, table_partitions=_PARTITIONS)
    create_topics(bootstrap, topics)
    producer = Producer(
        producer_config(bootstrap, transactional_id=namespace, linger_ms=0, queue_buffering_max_messages=500_000)
    )
    producer.init_transactions(30)
    now = int(time.time()) * _MICROS
    ids = _cells(cells // (_PARTITIONS * _WINDOWS), now)
    _publish(producer, topics, ids, 1, now)
    try:
        with workers(bootstrap, namespace, 1, folder, "--only", "tables") as ((pid,), _):
            watch = _Watch(bootstrap, topics, sum(1 for cell_id in ids if cell_id[1] == 0) * _PARTITIONS)
            before = cpu_seconds(pid)
            committed: list[float] = []
            begin = time.monotonic()
            for number in range(2, rounds + 2):
                while (wait := begin + number - 2 - time.monotonic()) > 0:
                    watch.look(wait)
                _publish(producer, topics, ids, number, int(time.time()) * _MICROS)
                committed.append(time.monotonic())
            deadline = time.monotonic() + _PATIENCE_S
            while rounds + 1 not in watch.seen and time.monotonic() < deadline:
                watch.look(0.2)
            cpu_s, peak = cpu_seconds(pid) - before, peak_mb(pid)
            watch.close()
        lags = [watch.at_least(number) - at for number, at in zip(range(2, rounds + 2), committed, strict=True)]
        return TablesCost(len(ids) * _PARTITIONS, rounds, tuple(lags), cpu_s, peak)
    finally:
        delete(bootstrap, namespace)


def _cells(labels: int, now: int) -> list[CellId]:
    """The cells of one source partition."""
    windows = [(now - now % (seconds * _MICROS), seconds) for seconds in (60, 3600)] + [(0, 0)]
    scopes = [Scope(f"release-{n}", "v1", "kafka", "strict", "switchboard-3") for n in range(_SCOPES)]
    names = [
        (scopes[n % _SCOPES], f"capability-{n // _SCOPES // _ENTRY_POINTS}", f"entry-{n // _SCOPES % _ENTRY_POINTS}")
        for n in range(labels)
    ]
    attempt = Measure.ROUTE_ATTEMPT.value
    return [(*window, scope, attempt, capability, code) for window in windows for scope, capability, code in names]


def _publish(producer: Producer, topics: Topics, ids: list[CellId], number: int, now: int) -> None:
    """One round: every cell of every source partition counts `number`, and a mark of each."""
    quick = QuickTally()
    name = topics.tallies.name
    producer.begin_transaction()
    for source in range(_PARTITIONS):
        for cell_id in ids:
            key, value = quick.encode(source, number, cell_id, number)
            route = partition_for(window_route(cell_id[0], cell_id[1]), _PARTITIONS)
            producer.produce(name, value, key, route)
        mark = encode("evidence_mark", _mark(source, number, now))
        for table in range(_PARTITIONS):
            producer.produce(name, mark, mark_key(source), table)
    producer.commit_transaction(60)


def _mark(source: int, number: int, now: int) -> dict[str, object]:
    return {
        "partition": source,
        "partitions": _PARTITIONS,
        "offset": number,
        "read_through": now,
        "grace_ms": 5000,
        "scopes": [],
        "unaccounted": [],
        "unaccounted_total": 0,
    }


class _Watch:
    """Notes when the lifetime window first counted as much as all snapshots of a round say together."""

    def __init__(self, bootstrap: str, topics: Topics, cells: int) -> None:
        self.seen: dict[int, float] = {}
        self._cells = cells
        self._consumer = Consumer(consumer_config("bench-watch", bootstrap=bootstrap, fetch_wait_max_ms=20))
        partitions = range(topics.table_partitions)
        self._consumer.assign([TopicPartition(topics.windows.name, partition, 0) for partition in partitions])

    def look(self, seconds: float) -> None:
        """Reads for so long at most."""
        for message in self._consumer.consume(1000, min(seconds, 0.05)):
            value = message.value()
            # The windows as a whole have `*` for scope and capability.
            if message.error() is not None or value is None or not (message.key() or b"").startswith(b"0|0|*|"):
                continue
            self.seen.setdefault(decode("window", value)["attempts"] // self._cells, time.monotonic())

    def at_least(self, number: int) -> float:
        """When a round, or a later one, was first seen whole; now where it was not."""
        return min((at for known, at in self.seen.items() if known >= number), default=time.monotonic())

    def close(self) -> None:
        """Ends it."""
        self._consumer.close()
