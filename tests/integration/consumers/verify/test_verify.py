"""`unmask verify` against a real worker on a real broker, fed with batches by hand, then with forged records."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.integration.consumers.conftest import Publish
from tests.tables_on_kafka import WorkerProcess
from tests.unit.consumers.verify.hosts import BLUE, GREEN, Host

from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import decode, encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.topics import Topics
from unmask.schemas.verdict_digest import seal
from unmask.schemas.windowing import MICROS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SIZES = ("--window-seconds", "2", "--window-seconds", "60", "--window-seconds", "0")
PATIENCE = ("--settle", "20")
BRIEFLY = ("--settle", "5")
"""For a stream that has stopped: nothing heals any more."""


@dataclass
class Pipeline:
    """A namespace with a worker of its own."""

    bootstrap: str
    topics: Topics
    publish: Publish
    worker: WorkerProcess | None = None

    def start(self) -> None:
        self.worker = WorkerProcess(
            self.bootstrap, self.topics.namespace, "--window-seconds", "2,60", "--grace-seconds", "1"
        ).wait_ready()

    def stop(self) -> None:
        if self.worker is not None:
            assert self.worker.end() == 0, self.worker.log
            self.worker = None

    def send(self, partition: int, *values: dict[str, Any] | bytes, key: str = "nobody") -> None:
        """Appends batches, or bytes as they are, to a partition of the log."""
        producer = Producer(producer_config(self.bootstrap))
        for value in values:
            raw = value if isinstance(value, bytes) else encode("event_batch", value)
            name = key if isinstance(value, bytes) else value["emitter"]["emitter_id"]
            producer.produce(self.topics.events.name, raw, name, partition)
        assert producer.flush(20) == 0

    def verify(self, *options: str) -> tuple[int, dict[str, Any]]:
        """Exit code and JSON of `unmask verify`, in a process of its own."""
        command = [str(Path(sys.executable).with_name("unmask")), "verify", "--json", "--bootstrap", self.bootstrap]
        command += ["--namespace", self.topics.namespace, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def stands(self, topic: str, record: str) -> dict[str, dict[str, Any]]:
        """What stands on an output topic, by key."""
        found: dict[str, dict[str, Any]] = {}
        with TopicReader(TopicSource(topic, self.bootstrap), timeout=20) as reader:
            while not reader.caught_up:
                for row in reader.read(1.0):
                    assert row.key is not None
                    found.pop(row.key.decode(), None)
                    if row.value is not None:
                        found[row.key.decode()] = decode(record, row.value)
        return found

    def put_window(self, key: str, record: dict[str, Any] | None) -> None:
        """Writes a window record by hand, to the partition on which the key's record stands."""
        producer = Producer(producer_config(self.bootstrap))
        partition = self._partition_of(key)
        producer.produce(
            self.topics.windows.name, None if record is None else encode("window", record), key, partition
        )  # fmt: skip
        assert producer.flush(20) == 0

    def _partition_of(self, key: str) -> int:
        with TopicReader(TopicSource(self.topics.windows.name, self.bootstrap), timeout=20) as reader:
            places = {}
            while not reader.caught_up:
                places.update({row.key: row.partition for row in reader.read(1.0)})
        return places[key.encode()]


@pytest.fixture
def pipeline(kafka: str, topics: Topics, publish: Publish) -> Iterator[Pipeline]:
    made = Pipeline(kafka, topics, publish)
    yield made
    if made.worker is not None and not made.worker.ended():
        made.worker.end()


def history(pipeline: Pipeline) -> int:
    """Half a minute of two hosts with everything that can go wrong; returns the instant at which it begins."""
    base = time.time_ns() // 1000 // (2 * MICROS) * 2 * MICROS - 40 * MICROS
    one = Host("e-one", BLUE, base=base, heartbeat_ms=60_000)
    two = Host("e-two", GREEN, base=base, heartbeat_ms=60_000)
    for number, kind in enumerate(("clean", "degraded", "failed", "contradicted")):
        one.opening(0.1 * number, f"s-{kind}")
    two.opening(0.1, "s-abandoned")
    pipeline.send(0, one.cut(0.5))
    pipeline.send(1, two.cut(0.5))
    one.attempt(1.0, 1.5, 2.5)
    one.attempt(1.2, capability="summarize", entry_point="cli")
    one.fallback(2.6, "rate_limited")
    one.masked(2.7, "s-degraded", "op-1", masked_upstream_signature="TIMEOUT_5000ms")
    one.masked(2.8, "s-contradicted", "op-1", masked_upstream_signature="HTTP_500")
    pipeline.send(0, one.cut(3.0))
    one.teardown(4.0, "s-clean", operations=10)
    one.teardown(4.1, "s-degraded", operations=10, degraded=1)
    one.teardown(4.2, "s-failed", operations=3, outcome="failure")
    one.teardown(4.3, "s-contradicted", operations=10, degraded=0)
    late = one.cut(4.5)
    one.attempt(5.0, 6.0, 7.0)
    after = one.cut(8.0)
    # Out of order, and one of them twice.
    pipeline.send(0, after, late, late)
    two.attempt(3.0, 9.0)
    lost = two.cut(10.0)
    assert lost["batch_seq"] == 2
    two.drop("kernel_fallback", 2)
    two.attempt(11.0, 13.0)
    pipeline.send(1, two.cut(14.0))
    pipeline.send(2, b"\xc3\x01garbage that nobody can read")
    one.attempt(20.0, 25.0)
    pipeline.send(0, one.cut(30.0, closing=True))
    two.attempt(16.0)
    pipeline.send(1, two.cut(30.0, closing=True))
    return base


def test_a_worker_that_counts_right_is_found_equal_running_and_stopped(pipeline: Pipeline) -> None:
    pipeline.start()
    history(pipeline)
    code, told = pipeline.verify(*SIZES, *PATIENCE)
    assert (code, told["differences"]) == (0, []), told
    assert told["read"]["events"] == 19
    assert told["read"]["duplicates"] == told["read"]["unreadable"] == 1
    assert told["checked"]["windows"] >= 16
    assert told["checked"]["verdicts"] == 5
    pipeline.stop()
    code, again = pipeline.verify(*SIZES, *PATIENCE)
    assert (code, again["differences"]) == (0, [])
    code, other = pipeline.verify("--window-seconds", "7", *BRIEFLY)
    assert (code, other["differences"], other["checked"]["windows"]) == (2, [], 0)
    assert "no windows of 7 s, only of 0, 2, 60" in other["obstacles"][0]


def test_each_forged_record_is_exactly_one_difference(pipeline: Pipeline) -> None:
    pipeline.start()
    history(pipeline)
    assert pipeline.verify(*SIZES, *PATIENCE)[0] == 0
    pipeline.stop()
    windows = pipeline.stands(pipeline.topics.windows.name, "window")
    key = next(key for key, record in windows.items() if key.startswith("2|") and record["fallbacks_total"])

    pipeline.put_window(key, windows[key] | {"late": windows[key]["late"] + 1})
    code, told = pipeline.verify(*SIZES, *BRIEFLY)
    assert code == 1
    (difference,) = told["differences"]
    assert (difference["what"], difference["field"]) == ("window", "late")
    assert difference["published"] == difference["recounted"] + 1
    assert difference["window_seconds"] == 2

    pipeline.put_window(key, None)
    code, told = pipeline.verify(*SIZES, *BRIEFLY)
    assert code == 1
    (difference,) = told["differences"]
    assert (difference["field"], difference["published"]) == ("record", "no record")
    assert "fallbacks_total=1" in difference["recounted"]

    pipeline.put_window(key, windows[key])
    lossy = next(
        key
        for key, record in windows.items()
        if key.startswith("2|") and record["capability"] is None and record["evidence"][1]["state"] == "LOSSY"
    )
    evidence = [entry | ({"state": "COMPLETE"} if n == 1 else {}) for n, entry in enumerate(windows[lossy]["evidence"])]
    pipeline.put_window(lossy, windows[lossy] | {"evidence": evidence})
    code, told = pipeline.verify(*SIZES, *BRIEFLY)
    assert code == 1
    (difference,) = told["differences"]
    assert difference["field"] == "evidence.kernel_fallback.state"
    assert (difference["published"], difference["recounted"]) == ("COMPLETE", "LOSSY")

    pipeline.put_window(lossy, windows[lossy])
    assert pipeline.verify(*SIZES, *BRIEFLY)[0] == 0


def test_a_forged_verdict_is_found_by_its_digest_and_by_the_recount(
    pipeline: Pipeline, publish_verdicts: Callable[..., None]
) -> None:
    pipeline.start()
    history(pipeline)
    assert pipeline.verify(*SIZES, *PATIENCE)[0] == 0
    pipeline.stop()
    verdicts = pipeline.stands(pipeline.topics.verdicts.name, "verdict")
    assert {name: verdict["verdict"] for name, verdict in verdicts.items()} == {
        "s-clean": "CLEAN_SUCCESS",
        "s-degraded": "DEGRADED_SUCCESS",
        "s-failed": "HARD_FAILURE",
        "s-contradicted": "DEGRADED_SUCCESS",
        "s-abandoned": "HARD_FAILURE",
    }
    honest = verdicts["s-degraded"]

    publish_verdicts(honest | {"degraded_operation_ratio": 0.01})
    code, told = pipeline.verify(*BRIEFLY)
    found = {difference["field"]: difference["recounted"] for difference in told["differences"]}
    assert code == 1
    assert found == {"digest": "of its content", "degraded_operation_ratio": 0.1}
    assert {difference["session_id"] for difference in told["differences"]} == {"s-degraded"}

    publish_verdicts(seal(honest | {"degraded_operation_ratio": 0.01}))
    code, told = pipeline.verify(*BRIEFLY)
    (difference,) = told["differences"]
    assert (code, difference["field"], difference["published"]) == (1, "degraded_operation_ratio", 0.01)

    publish_verdicts(honest, seal(honest | {"session_id": "s-nobody"}))
    code, told = pipeline.verify(*BRIEFLY)
    (difference,) = told["differences"]
    assert (code, difference["session_id"], difference["recounted"]) == (1, "s-nobody", "no record")


def test_what_the_stream_has_not_read_yet_is_not_checked_and_not_called_different(pipeline: Pipeline) -> None:
    code, told = pipeline.verify("--settle", "1")
    assert code == 2
    assert "published no mark" in told["obstacles"][0]

    pipeline.start()
    base = history(pipeline)
    assert pipeline.verify(*SIZES, *PATIENCE)[0] == 0
    pipeline.stop()
    three = Host("e-three", BLUE, base=base)
    three.attempt(1.0)
    pipeline.send(2, three.cut(2.0, closing=True))
    code, told = pipeline.verify(*SIZES, "--settle", "4")
    assert (code, told["differences"]) == (2, [])
    assert told["read"]["unread"] == 1
    assert any("1 record(s) stand in the log" in obstacle for obstacle in told["obstacles"])

    pipeline.start()
    code, told = pipeline.verify(*SIZES, *PATIENCE)
    assert (code, told["differences"]) == (0, [])


def test_windows_whose_records_were_deleted_from_the_log_are_told_apart(kafka: str, pipeline: Pipeline) -> None:
    pipeline.start()
    history(pipeline)
    assert pipeline.verify(*SIZES, *PATIENCE)[0] == 0
    topic = TopicPartition(pipeline.topics.events.name, 0, 2)
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_records([topic])[topic].result(timeout=20)
    code, told = pipeline.verify(*SIZES, "--settle", "5")
    assert (code, told["differences"]) == (2, [])
    why = {entry["why"] for entry in told["not_checked"]}
    assert "partly before the oldest record that the log still has" in why
    assert told["checked"]["windows"] == 0
