"""Records of a stretch of one partition, by their offsets."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from unmask.consumers.quarantine.judge import Original
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent, explain

__all__ = ["LogStretch", "Standing"]


class Standing(NamedTuple):
    """A record and its offset."""

    offset: int
    original: Original


class LogStretch:
    """Reads one topic anywhere. Every method raises a TopicUnreadable that names the cause; `timeout` in seconds."""

    def __init__(self, source: TopicSource, timeout: float) -> None:
        self._source = source
        self._timeout = timeout

    def original(self, partition: int, offset: int) -> Original | None:
        """The record at an offset; None where the log no longer has it, or never had."""
        return next((standing.original for standing in self.between(partition, offset, offset + 1)), None)

    def end(self, partition: int) -> int:
        """The offset after the newest record."""
        return self._source.end_offsets([partition], self._timeout)[partition]

    def between(self, partition: int, first: int, end: int) -> Iterator[Standing]:
        """Records from offset `first` on, below `end`, as far as the log has them."""
        if partition >= self._source.shape(self._timeout).partitions:
            return
        begin = max(first, self._source.start_offsets([partition], self._timeout)[partition])
        end = min(end, self.end(partition))
        if begin >= end:
            return
        settings = {
            "log_level": 2,
            **self._source.config,
            "group.id": "unmask.reader",
            "enable.auto.commit": False,
            "allow.auto.create.topics": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
        consumer = Consumer(settings)
        try:
            consumer.assign([TopicPartition(self._source.topic, partition, begin)])
            yield from self._until(consumer, end)
        except KafkaException as error:
            raise explain(error, self._source.topic, self._source.bootstrap) from error
        finally:
            consumer.close()

    def _until(self, consumer: Consumer, end: int) -> Iterator[Standing]:
        moved = time.monotonic()
        while True:
            messages = consumer.consume(1_000, 0.2)
            for message in messages:
                offset = message.offset() or 0
                failure = message.error()
                if failure is None and offset < end:
                    yield Standing(offset, Original(message.key(), message.value()))
                elif failure is not None and failure.code() != KafkaError._PARTITION_EOF:
                    raise explain(failure, self._source.topic, self._source.bootstrap)
                # The end of the partition is told with the offset that comes next.
                if offset + (failure is None) >= end:
                    return
            if messages:
                moved = time.monotonic()
            elif time.monotonic() - moved > self._timeout:
                raise BrokerSilent(
                    self._source.bootstrap, f"{self._source.topic} gave nothing in {self._timeout:.0f} s"
                )


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
