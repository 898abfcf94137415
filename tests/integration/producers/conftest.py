"""A namespace with its topics on a real broker, and what stands on its events topic."""

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codec import decode
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

EVENTS_PARTITIONS = 3

Read = Callable[[], list[Message]]
Batches = Callable[[], dict[str, list[dict[str, Any]]]]


@pytest.fixture
def topics(kafka: str, namespace: str) -> Topics:
    made = Topics(namespace, events_partitions=EVENTS_PARTITIONS, table_partitions=1)
    create_topics(kafka, made)
    return made


@pytest.fixture
def settings(kafka: str, topics: Topics) -> EmitterSettings:
    return EmitterSettings(
        bootstrap_servers=kafka, namespace=topics.namespace, release_line="r1", flush_interval_ms=50, heartbeat_ms=1_000
    )


@pytest.fixture
def emitter(settings: EmitterSettings) -> Iterator[Emitter]:
    made = Emitter(settings)
    yield made
    made.close(5)


@pytest.fixture
def read_records() -> Callable[[str, str], list[Message]]:
    """All records of a topic, from every partition's beginning to its end at the call."""
    return _read_all


@pytest.fixture
def records(kafka: str, topics: Topics) -> Read:
    """All records of the events topic."""
    return lambda: _read_all(kafka, topics.events.name)


@pytest.fixture
def batches(records: Read) -> Batches:
    """The batches of every emitter, in the order of batch_seq, each once; every record's key and place checked."""

    def read() -> dict[str, list[dict[str, Any]]]:
        found: dict[str, dict[int, dict[str, Any]]] = {}
        places: dict[str, set[int | None]] = {}
        for message in records():
            batch = decode("event_batch", message.value())
            emitter_id = batch["emitter"]["emitter_id"]
            assert message.key() == emitter_id.encode()
            places.setdefault(emitter_id, set()).add(message.partition())
            found.setdefault(emitter_id, {})[batch["batch_seq"]] = batch
        assert all(len(partitions) == 1 for partitions in places.values())
        return {emitter_id: [by_seq[seq] for seq in sorted(by_seq)] for emitter_id, by_seq in found.items()}

    return read


def _read_all(bootstrap: str, topic: str) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "enable.auto.commit": False})
    found: list[Message] = []
    try:
        for partition in consumer.list_topics(topic, timeout=10).topics[topic].partitions:
            place = TopicPartition(topic, partition, 0)
            end = consumer.get_watermark_offsets(place, timeout=10)[1]
            consumer.assign([place])
            read = 0
            deadline = time.monotonic() + 20
            while read < end and time.monotonic() < deadline:
                message = consumer.poll(0.5)
                if message is not None and message.error() is None:
                    found.append(message)
                    read = (message.offset() or 0) + 1
            assert read == end
    finally:
        consumer.close()
    return found
