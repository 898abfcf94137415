"""The broker's time, as its append times tell it. This machine's own clock decides nothing."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # re-exported unsaid

from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import explain

__all__ = ["BrokerTime"]


class BrokerTime:
    """The newest append time in topics that the broker stamps."""

    def __init__(self, sources: Sequence[TopicSource]) -> None:
        self._asked = [(source, AdminClient({"log_level": 2, **source.config})) for source in sources]
        self._newest = 0

    def now(self, timeout: float) -> int:
        """Microseconds; 0 where the topics hold nothing. Never goes back.

        Whatever stood in them at that time is below the end offsets that are asked for afterwards. Raises a
        TopicUnreadable that names the cause.
        """
        spec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
        for source, admin in self._asked:
            partitions = range(source.shape(timeout).partitions)
            wanted = {TopicPartition(source.topic, partition): spec for partition in partitions}
            answers: dict[Any, Future[Any]] = admin.list_offsets(wanted, request_timeout=timeout)
            try:
                newest = max(answer.result(timeout=timeout).timestamp for answer in answers.values())
            except (KafkaException, TimeoutError) as error:
                raise explain(error, source.topic, source.bootstrap) from error
            self._newest = max(self._newest, newest * 1000)
        return self._newest
