"""Partitions are added as docs/operations/adding-partitions.md says, and every number stays right."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # re-exported silently
from tests.tables_on_kafka import WorkerProcess, eventually
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics
from unmask.streams.ledger.log_end import log_ends

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.fixture
def start(kafka: str, namespace: str) -> Iterator[Any]:
    """Starts workers."""
    started: list[WorkerProcess] = []

    def begin() -> WorkerProcess:
        started.append(WorkerProcess(kafka, namespace, "--window-seconds", "5", "--grace-seconds", "1"))
        return started[-1].wait_ready()

    yield begin
    for worker in started:
        worker.end(signal.SIGKILL)


def test_old_and_new_emitters_are_counted_to_the_last_event(kafka: str, namespace: str, start: Any) -> None:
    topics = Topics(namespace, events_partitions=1, table_partitions=2)
    create_topics(kafka, topics, 1)
    common: dict[str, Any] = {"bootstrap_servers": kafka, "namespace": namespace, "heartbeat_ms": 1_000}
    worker = start()
    with ExitStack() as hosts:
        old = hosts.enter_context(closing(Emitter(EmitterSettings(**common))))
        for _ in range(100):
            old.record_route_attempt("search", "api")
        eventually(lambda: _attempts(worker) == 100)
        assert worker.end() == 0

        admin = AdminClient({"bootstrap.servers": kafka})
        for name in (topics.ledger.name, topics.fallbacks.name, topics.events.name):
            assert _checked(kafka, namespace) is (name == topics.ledger.name)
            admin.create_partitions([NewPartitions(name, 4)])[name].result()
        eventually(lambda: _checked(kafka, namespace))

        for _ in range(8):
            young = hosts.enter_context(closing(Emitter(EmitterSettings(**common))))
            for _ in range(10):
                young.record_route_attempt("search", "api")
        for _ in range(50):
            old.record_route_attempt("search", "api")
        worker = start()
        eventually(lambda: _attempts(worker) == 230)
    assert _used(kafka, topics) > 1, "eight random emitters all chose one of four partitions"
    verified = _unmask(kafka, namespace, "verify", "--since", "1h", "--window-seconds", "5")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def _attempts(worker: WorkerProcess) -> float:
    return worker.metrics().get('unmask_capability_attempts_total{capability="search"}', 0.0)


def _checked(kafka: str, namespace: str) -> bool:
    where = {"KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace}
    return CliRunner(env=where).invoke(app, ["topics", "check"]).exit_code == 0


def _unmask(kafka: str, namespace: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace}
    command = [str(Path(sys.executable).with_name("unmask")), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90, check=False)


def _used(kafka: str, topics: Topics) -> int:
    """How many partitions of the events hold anything."""
    admin = AdminClient({"bootstrap.servers": kafka})
    return sum(end > 0 for end in log_ends(admin, topics.events.name, range(4), 10.0).values())
