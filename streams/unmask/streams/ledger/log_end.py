"""Where partitions end, in one call for all of them."""

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

__all__ = ["ask_log_ends"]


def ask_log_ends(
    admin: AdminClient, topic: str, partitions: Iterable[int], timeout: float
) -> dict[TopicPartition, Future[Any]]:
    """Futures of the end offsets, whether the records before them are committed or not."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {TopicPartition(topic, partition): latest for partition in partitions}
    return admin.list_offsets(wanted, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=timeout)
