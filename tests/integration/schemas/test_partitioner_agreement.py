"""librdkafka, Faust's client and our own arithmetic put a key on one partition. Case V07."""

import random
from typing import Any

import pytest
from aiokafka.partitioner import murmur2
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # re-exported without saying so

from unmask.schemas.kafka import producer_config
from unmask.schemas.partitioner import partition_for

pytestmark = pytest.mark.integration

PARTITIONS = 6
RANDOM = random.Random(11)
KEYS = [f"session-{n}" for n in range(500)] + [
    "".join(RANDOM.choices("abcdefXYZ0189_.-", k=RANDOM.randint(1, 64))) for _ in range(500)
]


def produced(bootstrap: str, topic: str, config: dict[str, Any]) -> dict[str, int]:
    """Where a librdkafka producer puts each key, by its delivery reports."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)], operation_timeout=30)[topic].result()
    placed: dict[str, int] = {}

    def report(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        key, partition = message.key(), message.partition()
        assert isinstance(key, bytes)
        assert partition is not None
        placed[key.decode()] = partition

    producer = Producer(config)
    for key in KEYS:
        producer.produce(topic, b"x", key.encode(), on_delivery=report)
        producer.poll(0)
    producer.flush(30)
    return placed


def test_a_thousand_keys_land_where_all_three_say(kafka: str, namespace: str) -> None:
    placed = produced(kafka, f"{namespace}.murmur2", producer_config(kafka))
    assert set(placed) == set(KEYS)
    for key, partition in placed.items():
        assert partition == partition_for(key, PARTITIONS), key
        assert partition == (murmur2(key.encode()) & 0x7FFFFFFF) % PARTITIONS, key


def test_the_clients_default_would_scatter_them(kafka: str, namespace: str) -> None:
    placed = produced(kafka, f"{namespace}.crc32", {"bootstrap.servers": kafka})
    elsewhere = sum(partition != partition_for(key, PARTITIONS) for key, partition in placed.items())
    assert elsewhere > len(KEYS) // 2
