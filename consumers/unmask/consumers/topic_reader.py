"""Reads chosen partitions of one topic from their beginning, without a consumer group and without committing.

How far it must read is taken at its start: the end offsets of that moment. An empty poll means nothing, and a record
at the last offset need not exist (compaction and transaction markers leave holes), so that the end of a partition is
recognised by position.
"""

import time
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicNotThere, TopicRewound, explain

__all__ = ["Row", "TopicReader"]

_BATCH = 2_000


class Row(NamedTuple):
    """One record. A value of None is a tombstone; empty bytes are a value, and not a good one."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


class TopicReader:
    """A bounded or endless read of a topic's partitions (all of them by default). Not for use by several threads.

    `resume` holds positions of an earlier reader to go on from; those that the topic does not have any more are read
    from the beginning. With `committed`, caught_up does not wait for transactions that are still open. Opening asks
    the broker, at most `timeout` seconds. Raises a TopicUnreadable that names the cause.
    """

    def __init__(
        self,
        source: TopicSource,
        partitions: Collection[int] | None = None,
        *,
        from_end: bool = False,
        resume: Mapping[int, int] | None = None,
        committed: bool = False,
        timeout: float,
    ) -> None:
        deadline = time.monotonic() + timeout
        self._source = source
        count = source.shape(timeout).partitions
        self.partition_count = count
        """Partitions of the topic, also those that are not read."""
        chosen = range(count) if partitions is None else sorted(partitions)
        if any(partition >= count for partition in chosen):
            raise TopicNotThere(f"{source.topic} (partition {max(chosen)} of {count})")
        self.ends = source.end_offsets(chosen, deadline - time.monotonic(), committed=committed)
        """End offsets taken at the start."""
        starts = dict(self.ends) if from_end else source.start_offsets(chosen, deadline - time.monotonic())
        for partition, position in (resume or {}).items():
            if starts.get(partition, position) < position <= self.ends.get(partition, -1):
                starts[partition] = position
        self.positions = dict(starts)
        """The next offset to be read, by partition."""
        try:
            self._consumer = Consumer(_reading(source))
            self._consumer.assign([TopicPartition(source.topic, p, offset) for p, offset in starts.items()])
        except KafkaException as error:
            raise explain(error, source.topic, source.bootstrap) from error

    @property
    def caught_up(self) -> bool:
        """Whether every partition was read to the end offset taken at the start."""
        return all(self.positions[partition] >= end for partition, end in self.ends.items())

    @property
    def remaining(self) -> int:
        """Offsets that are still to be read until caught_up."""
        return sum(max(0, end - self.positions[partition]) for partition, end in self.ends.items())

    def read(self, timeout: float) -> list[Row]:
        """What has arrived, at most a few thousand records; waits up to `timeout` seconds for the first."""
        try:
            messages = self._consumer.consume(_BATCH, 0)
            if not messages and timeout > 0:
                # Asking for a batch with a timeout waits for the whole batch; asking for one does not.
                first = self._consumer.poll(timeout)
                messages = [] if first is None else [first, *self._consumer.consume(_BATCH, 0)]
        except KafkaException as error:
            raise explain(error, self._source.topic, self._source.bootstrap) from error
        rows: list[Row] = []
        for message in messages:
            self._take(message, rows)
        return rows

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, message: Message, rows: list[Row]) -> None:
        failure = message.error()
        partition, offset = message.partition(), message.offset()
        if failure is None:
            if partition is None or offset is None:
                return
            if offset < self.positions[partition]:
                raise TopicRewound(self._source.topic)
            rows.append(Row(partition, offset, message.key(), message.value(), message.timestamp()[1]))
            self.positions[partition] = offset + 1
        elif failure.code() == KafkaError._PARTITION_EOF:
            if partition is not None and offset is not None and offset > self.positions[partition]:
                self.positions[partition] = offset
        else:
            raise explain(failure, self._source.topic, self._source.bootstrap)


def _reading(source: TopicSource) -> dict[str, Any]:
    return {
        "log_level": 2,
        "fetch.queue.backoff.ms": 10,
        "fetch.wait.max.ms": 100,
        **source.config,
        # Named since the client wants a name; nothing is ever joined or committed.
        "group.id": "unmask.reader",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "allow.auto.create.topics": False,
        "enable.partition.eof": True,
        # Jumping over lost offsets silently is what a reader that proves something must not do.
        "auto.offset.reset": "error",
        # What was aborted never was. An open transaction holds the reader back, which refuses, and that is right.
        "isolation.level": "read_committed",
        "error_cb": _ignore,
    }


def _ignore(error: KafkaError) -> None:
    """Connection troubles heal or show up as a missed deadline, whose message the caller writes."""
