"""Which log a topic is, and where its partitions begin and end."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

__all__ = ["ask_log_ends", "log_ends", "log_id", "log_starts"]

_AGAIN_S = 0.1
_PASSING = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
}
_Answer = TypeVar("_Answer")


def ask_log_ends(
    admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float
) -> dict[TopicPartition, Future[Any]]:
    """Futures of the end offsets, in one call; of all records, whether they are committed or not."""
    return _ask(admin, topic, partitions, timeout, OffsetSpec.latest())  # type: ignore[no-untyped-call]


def log_ends(admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float) -> dict[int, int]:
    """End offset per partition. Raises KafkaException."""
    return _offsets(admin, topic, partitions, timeout, OffsetSpec.latest())  # type: ignore[no-untyped-call]


def log_starts(admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float) -> dict[int, int]:
    """First offset per partition: what stood before was removed. Raises KafkaException."""
    return _offsets(admin, topic, partitions, timeout, OffsetSpec.earliest())  # type: ignore[no-untyped-call]


def log_id(admin: AdminClient, topic: str, timeout: float) -> str:
    """The broker's id of the topic; one made anew under the same name has another. Raises KafkaException."""

    def ask() -> str:
        answer = admin.describe_topics(TopicCollection([topic]), request_timeout=timeout)[topic]
        return str(answer.result(timeout=timeout).topic_id)

    return _patiently(ask, timeout)


def _offsets(admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float, where: Any) -> dict[int, int]:
    wanted = list(partitions)

    def ask() -> dict[int, int]:
        answers = _ask(admin, topic, wanted, timeout, where)
        found = {target.partition: int(future.result(timeout=timeout).offset) for target, future in answers.items()}
        if any(offset < 0 for offset in found.values()):
            # The client's way of saying that a partition has no leader just now.
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
        return found

    return _patiently(ask, timeout)


def _ask(
    admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float, where: Any
) -> dict[TopicPartition, Future[Any]]:
    wanted = {TopicPartition(topic, partition): where for partition in partitions}
    return admin.list_offsets(wanted, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=timeout)


def _patiently(ask: Callable[[], _Answer], timeout: float) -> _Answer:
    """Asks again while a broker has yet to learn of the topic, or a partition is between two leaders."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in _PASSING or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_S)
