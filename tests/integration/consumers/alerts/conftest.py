"""A receiver, watchers that do not outlive their test, and alerts on the topic."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient
from tests.alert_records import alert_record
from tests.integration.consumers.alerts.receiving import Hook, Watcher, eventually

from unmask.schemas.codec import encode
from unmask.schemas.topics import Topics

Put = Callable[[str, Iterable[tuple[str, bytes | None]]], None]
Joined = Callable[..., None]
PublishAlerts = Callable[..., None]
Watch = Callable[..., Watcher]


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook that works."""
    server = Hook().start()
    yield server
    server.stop()


@pytest.fixture
def watch(kafka: str, topics: Topics) -> Iterator[Watch]:
    """Start a watcher: `watch("--webhook", url)`."""
    started: list[Watcher] = []

    def start(*arguments: str, **environment: str) -> Watcher:
        started.append(Watcher(kafka, topics.namespace, *arguments, **environment))
        return started[-1]

    yield start
    for watcher in started:
        if watcher.process.poll() is None:
            watcher.kill()


@pytest.fixture
def joined(kafka: str, topics: Topics) -> Joined:
    """Wait until so many watchers of a name share all partitions, and it stands where each of them begins."""
    admin = AdminClient({"bootstrap.servers": kafka})

    def shared(name: str, members: int) -> bool:
        group = f"{topics.namespace}.watch.{name}"
        try:
            found = admin.describe_consumer_groups([group])[group].result(10)
            kept = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(10)
        except KafkaException:
            return False
        places = [member.assignment.topic_partitions for member in found.members if member.assignment is not None]
        begun = [place for place in kept.topic_partitions if place.offset >= 0]
        all_read = sum(map(len, places)) == len(begun) == topics.table_partitions
        return len(places) == members and all(places) and all_read

    return lambda name, members=1: eventually(lambda: shared(name, members)) and None


@pytest.fixture
def publish_alerts(topics: Topics, publish: Put) -> PublishAlerts:
    """Publish alerts as the tables do: `publish_alerts(("prices", "FIRING", 1), ...)`."""

    def put(*alerts: tuple[str, str, int] | dict[str, Any]) -> None:
        records = [found if isinstance(found, dict) else alert_record(*found) for found in alerts]
        publish(topics.alerts.name, ((record["alert_id"], encode("alert", record)) for record in records))

    return put
