"""What the ledger's integration tests share: topics, hosts that send, workers to kill, and a look at all that came."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.property.streams.ledger.reader import TableReader
from tests.unit.streams.ledger.emitting import Life

from unmask.schemas.codec import decode, encode
from unmask.schemas.kafka import client_config, consumer_config, producer_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics, TopicSpec
from unmask.streams.settings import StreamSettings

__all__ = ["FAST", "Hosts", "Published", "Rig", "WorkerProcess", "wait_until"]

FAST: dict[str, Any] = {
    "session_timeout_ms": 2000,
    "transaction_timeout_ms": 10_000,
    "snapshot_ms": 300,
    "grace_ms": 500,
    "window_seconds": (2, 60),
}
"""Settings under which failures are noticed within seconds."""
_WORKER = Path(__file__).with_name("ledger_worker.py")


def wait_until(condition: Callable[[], bool], what: str, timeout: float = 30.0) -> None:
    """Returns once the condition holds; fails with `what` where it does not in time."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {timeout:.0f} s"
        time.sleep(0.03)


def now() -> int:
    """Microseconds since the epoch, as a host reads them."""
    return time.time_ns() // 1000


class WorkerProcess:
    """A ledger in a process of its own."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.name = settings["instance"]
        self.told: dict[str, Any] = {}
        self.struck = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, str(_WORKER), json.dumps(settings)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.log: list[str] = []
        for listen in (self._listen, self._keep_log):
            threading.Thread(target=listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told = json.loads(line)
            if "struck" in told:
                self.struck.set()
            else:
                self.told = told

    def _keep_log(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def wait_ready(self, partitions: int | None = None, timeout: float = 30.0) -> None:
        """Until it is ready, and has that many partitions."""

        def ready() -> bool:
            assert self.process.poll() is None, f"{self.name} ended: {self.told} {''.join(self.log[-20:])}"
            return bool(self.told.get("ready")) and partitions in (None, len(self.told["partitions"]))

        wait_until(ready, f"{self.name} ready with {partitions} partitions", timeout)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, number: int) -> None:
        """Sends a signal and waits for the end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(20)


class Hosts:
    """Emitters that send to the broker, with what they recorded."""

    def __init__(self, rig: "Rig", n: int, name: str = "emitter") -> None:
        self._rig = rig
        self.lives = [Life(f"{name}-{number}", now(), heartbeat_ms=2_000) for number in range(n)]
        self.batches = 0
        for life in self.lives:
            self.send(life)

    def send(self, life: Life, attempts: int = 0, *, closing: bool = False, deliver: bool = True) -> dict[str, Any]:
        """Cuts and sends a batch of so many attempts; every fifth holds a fallback."""
        at = now()
        life.attempt(at, attempts)
        if attempts and life.seq % 5 == 0:
            life.fallback(at)
        batch = life.cut(at, closing=closing)
        if deliver:
            self._rig.send(batch)
            self.batches += 1
        return batch

    def stream(self, seconds: float, rate: float = 400.0) -> None:
        """Batches of three attempts in turns, so many a second."""
        end, sent, began = time.monotonic() + seconds, 0, time.monotonic()
        while time.monotonic() < end:
            self.send(self.lives[sent % len(self.lives)], 3)
            sent += 1
            time.sleep(max(0.0, began + sent / rate - time.monotonic()))
        self._rig.flush()

    def close(self) -> None:
        """The last batch of each."""
        for life in self.lives:
            self.send(life, closing=True)
        self._rig.flush()

    def recorded(self) -> Counter[str]:
        """Events by family that they recorded and did not drop."""
        total: Counter[str] = Counter()
        for life in self.lives:
            total += life.recorded
        return total


class Published:
    """All committed records behind the ledger, at the time of asking."""

    def __init__(self, rig: "Rig") -> None:
        topics = rig.topics
        self.tables = [TableReader(topics.events_partitions) for _ in range(topics.table_partitions)]
        for partition, key, value in rig.read(topics.tallies):
            self.tables[partition].read(key, value)
        self.fallbacks = [decode("fallback", value) for _, _, value in rig.read(topics.fallbacks)]
        self.quarantined = [decode("quarantine", value) for _, _, value in rig.read(topics.quarantine)]

    def total(self, measure: str) -> int:
        """Count of all time."""
        return sum(
            tally["count"]
            for table in self.tables
            for tally in table.tallies.values()
            if tally["measure"] == measure and tally["window_seconds"] == 0
        )

    def windows(self, measure: str, seconds: int) -> int:
        """Sum over all windows of a size."""
        return sum(
            tally["count"]
            for table in self.tables
            for tally in table.tallies.values()
            if tally["measure"] == measure and tally["window_seconds"] == seconds
        )

    def causes(self) -> set[str]:
        """Causes of all flaws that stand."""
        return {flaw["cause"] for table in self.tables for flaw in table.flaws.values()}

    def flaws(self, cause: str) -> list[dict[str, Any]]:
        """Flaws of a cause that stand."""
        return [flaw for table in self.tables for flaw in table.flaws.values() if flaw["cause"] == cause]

    def exact(self, hosts: Hosts) -> None:
        """Everything recorded was counted once, at every size, each fallback was told once, and nothing is flawed."""
        recorded = hosts.recorded()
        for family in ("route_attempt", "kernel_fallback"):
            assert self.total(family) == recorded[family], family
            for seconds in (2, 60):
                assert self.windows(family, seconds) == recorded[family], (family, seconds)
        told = [(f["emitter_id"], f["batch_seq"], f["index"]) for f in self.fallbacks]
        assert len(told) == len(set(told)) == recorded["kernel_fallback"]
        assert self.total("emitters") == len(hosts.lives)
        assert self.causes() == set()
        assert self.quarantined == []


class Rig:
    """Topics of a namespace, a producer on them, and workers."""

    def __init__(self, bootstrap: str, namespace: str, partitions: int = 3, tables: int = 2) -> None:
        self.bootstrap = bootstrap
        self.topics = Topics(namespace, events_partitions=partitions, table_partitions=tables)
        create_topics(bootstrap, self.topics)
        self.admin = AdminClient(client_config(bootstrap))
        self._producer = Producer(producer_config(bootstrap, linger_ms=1))
        self.workers: list[WorkerProcess] = []

    def settings(self, instance: str = "a", **more: Any) -> StreamSettings:
        """For a ledger in this process."""
        return StreamSettings(
            bootstrap=self.bootstrap, namespace=self.topics.namespace, instance=instance, **(FAST | more)
        )

    def worker(self, instance: str, **more: Any) -> WorkerProcess:
        """Starts a worker."""
        topics = self.topics
        worker = WorkerProcess(
            {
                "bootstrap": self.bootstrap, "namespace": topics.namespace, "instance": instance,
                "partitions": topics.events_partitions, "tables": topics.table_partitions, **FAST, **more,
            }
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def send(self, batch: dict[str, Any], partition: int | None = None) -> None:
        """Sends a batch to its emitter's partition, or to another."""
        self.send_raw(batch["emitter"]["emitter_id"].encode(), encode("event_batch", batch), partition)

    def send_raw(self, key: bytes | None, value: bytes | None, partition: int | None = None) -> None:
        """Sends any record."""
        if partition is None:
            self._producer.produce(self.topics.events.name, value, key)
        else:
            self._producer.produce(self.topics.events.name, value, key, partition)
        self._producer.poll(0)

    def flush(self) -> None:
        """Waits until the broker has everything."""
        assert self._producer.flush(20) == 0

    def ends(self) -> dict[int, int]:
        """End offsets of unmask.events."""
        consumer = Consumer(consumer_config("rig", bootstrap=self.bootstrap))
        try:
            name = self.topics.events.name
            partitions = range(self.topics.events_partitions)
            return {p: consumer.get_watermark_offsets(TopicPartition(name, p), 10)[1] for p in partitions}
        finally:
            consumer.close()

    def settle(self, timeout: float = 40.0) -> Published:
        """What is published once marks tell that everything that stands in the log now was read."""
        self.flush()
        ends, after, deadline = self.ends(), now(), time.monotonic() + timeout
        while True:
            published = Published(self)
            marks = [table.marks for table in published.tables]
            if all(
                set(found) == set(ends)
                and all(m["offset"] >= ends[p] and m["read_through"] >= after for p, m in found.items())
                for found in marks
            ):
                return published
            told = {worker.name: worker.told for worker in self.workers}
            assert time.monotonic() < deadline, f"everything read within {timeout:.0f} s: {ends} {marks} {told}"
            time.sleep(0.3)

    def read(self, spec: TopicSpec, isolation: str = "read_committed") -> Iterator[tuple[int, bytes, bytes | None]]:
        """Partition, key and value of all records of a topic, up to the end that it has now."""
        consumer = Consumer(
            consumer_config("rig", bootstrap=self.bootstrap, isolation_level=isolation, enable_partition_eof=True)
        )
        try:
            ends = {
                p: consumer.get_watermark_offsets(TopicPartition(spec.name, p), 10)[1] for p in range(spec.partitions)
            }
            unread = {partition for partition, end in ends.items() if end}
            consumer.assign([TopicPartition(spec.name, partition, 0) for partition in unread])
            while unread:
                for message in consumer.consume(5000, 0.2):
                    partition, offset = message.partition(), message.offset()
                    assert partition is not None
                    assert offset is not None
                    if message.error() is None:
                        yield partition, message.key() or b"", message.value()
                    # Where somebody goes on writing, an end is never met, but passed.
                    if message.error() is not None or offset >= ends[partition] - 1:
                        unread.discard(partition)
        finally:
            consumer.close()

    def close(self) -> None:
        """Ends all workers."""
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait(10)
