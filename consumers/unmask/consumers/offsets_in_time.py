"""Offsets and times of a topic: where a time begins in it, and how new its newest record is."""

from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # re-exported unsaid

from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import explain

__all__ = ["newest_timestamp", "offsets_since"]


def offsets_since(source: TopicSource, instant: int, timeout: float) -> dict[int, int]:
    """The first offset of each partition whose timestamp is not before `instant`, microseconds.

    For a partition that has nothing so young it is its end. Timestamps are their writers' word: whoever relies on them
    looks at some records before as well. Raises a TopicUnreadable that names the cause.
    """
    spec = OffsetSpec.for_timestamp(max(0, instant // 1000))
    ends = source.end_offsets(range(source.shape(timeout).partitions), timeout)
    found = {partition: int(answer.offset) for partition, answer in _ask(source, spec, timeout).items()}
    return {partition: offset if offset >= 0 else ends[partition] for partition, offset in found.items()}


def newest_timestamp(source: TopicSource, timeout: float) -> int:
    """The newest timestamp in a topic, microseconds; 0 where it holds nothing. Raises a TopicUnreadable."""
    spec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
    answers = _ask(source, spec, timeout).values()
    return max(0, *(int(answer.timestamp) for answer in answers)) * 1000


def _ask(source: TopicSource, spec: OffsetSpec, timeout: float) -> dict[int, Any]:
    admin = AdminClient({"log_level": 2, **source.config})
    wanted = {TopicPartition(source.topic, partition): spec for partition in range(source.shape(timeout).partitions)}
    answers: dict[Any, Future[Any]] = admin.list_offsets(wanted, request_timeout=timeout)
    try:
        return {place.partition: answer.result(timeout=timeout) for place, answer in answers.items()}
    except (KafkaException, TimeoutError) as error:
        raise explain(error, source.topic, source.bootstrap) from error
