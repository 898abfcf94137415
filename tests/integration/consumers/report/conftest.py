"""Topics, a worker and hosts of a test's own."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner, Result

from unmask.consumers.cli._commands import app
from unmask.consumers.devbroker.ports import free_ports
from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.keys import window_key, window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

Stamped = tuple[dict[str, Any], int]
"""A window record, and when it was published, in milliseconds."""


@pytest.fixture
def topics(kafka: str, namespace: str) -> Topics:
    """All topics of a namespace that no other test has."""
    made = Topics(namespace, events_partitions=2, table_partitions=2)
    create_topics(kafka, made)
    return made


@pytest.fixture
def unmask(kafka: str, namespace: str) -> Callable[..., Result]:
    """Run a command on the broker and in the namespace of this test."""
    run = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace, "COLUMNS": "200"})
    return lambda *words: run.invoke(app, list(words))


@pytest.fixture
def publish_windows(kafka: str, topics: Topics) -> Callable[[Iterable[Stamped]], None]:
    """Put window records on their partitions, with the times at which they were published."""

    def put(records: Iterable[Stamped]) -> None:
        producer = Producer(producer_config(kafka, linger_ms=20))
        for record, stamp in records:
            start, seconds = record["window_start"], record["window_seconds"]
            scope = None if record["scope"] is None else Scope(**record["scope"])
            producer.produce(
                topics.windows.name,
                key=window_key(start, seconds, scope, record["capability"]),
                value=encode("window", record),
                partition=partition_for(window_route(start, seconds), topics.table_partitions),
                timestamp=stamp,
            )
            producer.poll(0)
        assert producer.flush(30) == 0

    return put


@pytest.fixture
def start_worker(kafka: str, namespace: str, tmp_path: Path) -> Iterator[Callable[[], Callable[[], None]]]:
    """Start `unmask stream` with windows of 2 s and of an hour; what comes back stops it."""
    running: list[subprocess.Popen[bytes]] = []

    def start() -> Callable[[], None]:
        (port,) = free_ports(1)
        command = [sys.executable, "-m", "unmask.consumers.cli.main", "stream", "--port", str(port)]
        command += ["--window-seconds", "2,3600", "--grace-seconds", "0.5"]
        log = tmp_path / f"worker-{len(running)}.log"
        with log.open("wb") as out:
            environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace}
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        running.append(process)
        deadline = time.monotonic() + 60
        while not _ready(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        return lambda: _stop(process)

    yield start
    for process in running:
        _stop(process)


def _ready(port: int) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with contextlib.suppress(OSError):
        return bool(opener.open(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200)
    return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.terminate()
        process.wait(30)
