"""Topics of a test's own, and verdicts on them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer

from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

Publish = Callable[[str, Iterable[tuple[str, bytes | None]]], None]


@pytest.fixture
def topics(kafka: str, namespace: str) -> Topics:
    """All topics of a namespace that no other test has, made as the contract wants them."""
    made = Topics(namespace, events_partitions=3, table_partitions=3)
    create_topics(kafka, made)
    return made


@pytest.fixture
def publish(kafka: str) -> Iterator[Publish]:
    """Put keys and values on a topic, and wait until the broker has all of them."""
    producer = Producer(producer_config(kafka))

    def put(topic: str, records: Iterable[tuple[str, bytes | None]]) -> None:
        failures: list[KafkaError] = []

        def note(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failures.append(error)

        for key, value in records:
            producer.produce(topic, key=key, value=value, on_delivery=note)
            producer.poll(0)
        assert producer.flush(30) == 0
        assert failures == []

    yield put
    producer.flush(5)


@pytest.fixture
def publish_verdicts(topics: Topics, publish: Publish) -> Callable[..., None]:
    """Put verdicts on the verdict topic, as the streams do."""

    def put(*verdicts: dict[str, Any]) -> None:
        publish(topics.verdicts.name, ((verdict["session_id"], encode("verdict", verdict)) for verdict in verdicts))

    return put
