"""Real workers on a real broker, fed with tallies as the ledger writes them."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from unmask.schemas.codec import decode, encode
from unmask.schemas.kafka import consumer_config, producer_config
from unmask.schemas.keys import session_key, upstream_route, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

PARTITIONS = 3
_NAMES = {"c": "tally", "f": "evidence_flaw", "m": "evidence_mark"}
__all__ = ["PARTITIONS", "Stream", "WorkerProcess", "eventually"]

Keyed = tuple[str, dict[str, Any]]


def eventually(check: Callable[[], Any], timeout: float = 30.0) -> Any:
    """The first true answer of a check that is asked again and again."""
    deadline = time.monotonic() + timeout
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {timeout:.0f} s: {check}"
        time.sleep(0.1)


class Stream:
    """The topics of a namespace: writes as the ledger does, reads what the tables published."""

    def __init__(self, bootstrap: str, namespace: str) -> None:
        self.bootstrap = bootstrap
        self.topics = Topics(namespace, events_partitions=1, table_partitions=PARTITIONS)
        create_topics(bootstrap, self.topics, 1)
        self._producer = Producer(producer_config(bootstrap, linger_ms=0))

    def tally(self, *keyed: Keyed, remove: bool = False, producer: Producer | None = None) -> None:
        """Writes cells, flaws and marks, each to the partition that it is routed to; or removes them."""
        for key, record in keyed:
            value = None if remove else encode(_NAMES[key[0]], record)
            for partition in self._routes(key, record):
                (producer or self._producer).produce(self.topics.tallies.name, value, key.encode(), partition)
        (producer or self._producer).flush(10)

    def _routes(self, key: str, record: dict[str, Any]) -> list[int]:
        if key.startswith("m"):
            return list(range(PARTITIONS))
        route = window_route(record["window_start"], record["window_seconds"])
        if record.get("measure") == "upstream":
            route = upstream_route(record["capability"])
        return [partition_for(route, PARTITIONS)]

    def session(self, tally: dict[str, Any]) -> None:
        """Writes a session's snapshot."""
        name, key = tally["session_id"], session_key(tally["session_id"], tally["partition"])
        value, partition = encode("session_tally", tally), partition_for(name, PARTITIONS)
        self._producer.produce(self.topics.sessions.name, value, key.encode(), partition)
        self._producer.flush(10)

    def admission(self, record: dict[str, Any]) -> None:
        """Writes what a gate recorded."""
        name = record["session_id"]
        value = encode("admission", record)
        self._producer.produce(self.topics.admissions.name, value, name.encode(), partition_for(name, PARTITIONS))
        self._producer.flush(10)

    def queue(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Queues bytes, to be sent with whatever is written next."""
        self._producer.produce(topic, value, key, partition)

    def raw(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Writes bytes."""
        self.queue(topic, partition, key, value)
        self._producer.flush(10)

    def read(self, name: str) -> list[tuple[str, dict[str, Any]]]:
        """Every record of an output topic (`window`, `verdict`, `alert`), by partition in the order of its log."""
        topic = {"window": self.topics.windows, "verdict": self.topics.verdicts, "alert": self.topics.alerts}[name].name
        consumer = Consumer(consumer_config("test-reader", self.bootstrap, fetch_wait_max_ms=20))
        found: list[tuple[str, dict[str, Any]]] = []
        try:
            for partition in range(PARTITIONS):
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
                consumer.assign([TopicPartition(topic, partition, low)])
                position = low
                while position < high:
                    message = consumer.poll(10)
                    assert message is not None
                    assert message.error() is None
                    position = (message.offset() or 0) + 1
                    key = message.key()
                    assert key is not None
                    found.append((key.decode(), decode(name, message.value())))
        finally:
            consumer.close()
        return found

    def newest(self, name: str) -> dict[str, dict[str, Any]]:
        """The newest record of every key of an output topic."""
        return dict(self.read(name))


class WorkerProcess:
    """`unmask stream` in a process of its own; `command` is what runs it instead, for example of another version."""

    def __init__(
        self, bootstrap: str, namespace: str, *arguments: str, command: Sequence[str] | None = None, **variables: str
    ) -> None:
        command = command or [str(Path(sys.executable).with_name("unmask")), "stream"]
        environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": bootstrap, "UNMASK_NAMESPACE": namespace, **variables}
        self.process = subprocess.Popen(
            [*command, "--port", "0", *arguments], env=environment, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)

    @property
    def log(self) -> str:
        """Standard error so far."""
        return "".join(self.lines)

    @property
    def port(self) -> int:
        """The port that it told."""
        (line,) = eventually(lambda: [line for line in list(self.lines) if line.startswith("unmask stream: ")])
        return int(line.rsplit(":", 1)[1])

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a GET."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> dict[str, float]:
        """Series, as text, to value."""
        lines = self.get("/metrics")[1].splitlines()
        return {s: float(v) for s, _, v in (line.rpartition(" ") for line in lines if not line.startswith("#"))}

    def wait_ready(self) -> "WorkerProcess":
        """Waits until it is ready."""
        eventually(lambda: self.get("/readyz")[0] == 200 or self.ended())
        assert not self.ended(), self.log
        return self

    def not_ready(self) -> dict[str, str]:
        """Why it is not ready."""
        found: dict[str, str] = json.loads(self.get("/readyz")[1])["not_ready"]
        return found

    def ended(self) -> bool:
        """Whether the process is gone."""
        return self.process.poll() is not None

    def send(self, number: signal.Signals) -> None:
        """Sends a signal."""
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Sends a signal and waits; the exit code."""
        if not self.ended():
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        code = self.process.wait(40)
        self._reader.join(10)
        return code
