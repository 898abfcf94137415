"""With a schema registry set, every record from the host to the gate carries a registry's frame."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.schema_registry import running_registry

from unmask.schemas.kafka import consumer_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics, TopicSpec

pytestmark = pytest.mark.integration

_HOST = """
from unmask.producers import Emitter, EmitterSettings
emitter = Emitter(EmitterSettings.from_environment())
with emitter.session("framed") as session:
    session.call("prices", lambda: 1, lambda: 2, receipt="cache", capability="retrieval")
assert emitter.close(20).complete
"""
_UNMASK = [sys.executable, "-m", "unmask.consumers.cli.main"]


@pytest.fixture
def environment(kafka: str, namespace: str) -> Iterator[dict[str, str]]:
    with running_registry() as registry:
        yield {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": kafka,
            "UNMASK_NAMESPACE": namespace,
            "SCHEMA_REGISTRY_URL": registry.url,
        }


def first_value(kafka: str, spec: TopicSpec) -> bytes:
    consumer = Consumer(consumer_config("first-value", kafka))
    consumer.assign([TopicPartition(spec.name, partition, 0) for partition in range(spec.partitions)])
    try:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        value = message.value()
        assert value is not None
        return bytes(value)
    finally:
        consumer.close()


def test_a_session_reaches_the_gate_through_framed_records(
    kafka: str, namespace: str, environment: dict[str, str], tmp_path: Path
) -> None:
    topics = Topics(namespace, events_partitions=1, table_partitions=2)
    create_topics(kafka, topics)
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen([*_UNMASK, "stream", "--port", "0"], stdout=log, stderr=log, env=environment)
    try:
        subprocess.run([sys.executable, "-c", _HOST], check=True, timeout=60, env=environment)
        deadline = time.monotonic() + 60
        while True:
            asked = subprocess.run(
                [*_UNMASK, "gate", "framed", "--json"], capture_output=True, timeout=60, env=environment, check=False
            )
            answer = json.loads(asked.stdout)["answer"] if asked.stdout else asked.stderr.decode()
            if answer == "ADMITTED":
                break
            assert time.monotonic() < deadline, answer
            assert worker.poll() is None, (tmp_path / "worker.log").read_text()
            time.sleep(0.5)
    finally:
        worker.terminate()
        worker.wait(30)
    for spec in (topics.events, topics.tallies, topics.sessions, topics.windows, topics.verdicts, topics.admissions):
        assert first_value(kafka, spec)[0] == 0, spec.name
