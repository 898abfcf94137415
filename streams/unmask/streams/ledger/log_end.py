"""Which log a topic is, and where its partitions begin and end."""

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import IsolationLevel, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

__all__ = ["ask_log_ends", "log_ends", "log_id", "log_starts"]


def ask_log_ends(
    admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float
) -> dict[TopicPartition, Future[Any]]:
    """Futures of the end offsets, in one call; of all records, whether they are committed or not."""
    return _ask(admin, topic, partitions, timeout, OffsetSpec.latest())  # type: ignore[no-untyped-call]


def log_ends(admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float) -> dict[int, int]:
    """End offset per partition. Raises KafkaException."""
    return _offsets(ask_log_ends(admin, topic, partitions, timeout), timeout)


def log_starts(admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float) -> dict[int, int]:
    """First offset per partition: what stood before was removed. Raises KafkaException."""
    return _offsets(_ask(admin, topic, partitions, timeout, OffsetSpec.earliest()), timeout)  # type: ignore[no-untyped-call]


def log_id(admin: AdminClient, topic: str, timeout: float) -> str:
    """The broker's id of the topic; one made anew under the same name has another. Raises KafkaException."""
    answer = admin.describe_topics(TopicCollection([topic]), request_timeout=timeout)[topic]
    return str(answer.result(timeout=timeout).topic_id)


def _ask(
    admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float, where: Any
) -> dict[TopicPartition, Future[Any]]:
    wanted = {TopicPartition(topic, partition): where for partition in partitions}
    return admin.list_offsets(wanted, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=timeout)


def _offsets(answers: dict[TopicPartition, Future[Any]], timeout: float) -> dict[int, int]:
    return {target.partition: int(future.result(timeout=timeout).offset) for target, future in answers.items()}
