"""The alerts topic read by a consumer group: where it goes on after a restart, and who reads which partition.

What the group commits is the offset from which on a receiver has yet to be told something.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from unmask.consumers.alerts.begin import Begin, begin, metadata_of
from unmask.consumers.topic_reader import Row
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent, explain
from unmask.schemas.kafka import consumer_config

__all__ = ["AlertGroup", "GroupListener"]

_OPEN_SECONDS = 15.0
_BATCH = 100


class GroupListener(Protocol):
    """Who is told of partitions that come and go. Called while the group is polled."""

    def assigned(self, begins: Mapping[int, Begin]) -> None:
        """Partitions are this reader's; their records follow."""

    def revoked(self, partitions: Collection[int]) -> dict[int, int]:
        """Partitions are about to go: finish with them. The offsets to commit."""

    def lost(self, partitions: Collection[int]) -> None:
        """Partitions are another reader's already."""


class AlertGroup:
    """A member of the group. Not for use by several threads. Raises a TopicUnreadable that names the cause.

    `complain` is told, in a sentence, of troubles that heal by themselves.
    """

    def __init__(
        self,
        source: TopicSource,
        group: str,
        listener: GroupListener,
        *,
        standing: bool,
        complain: Callable[[str], None],
    ) -> None:
        self._source = source
        self._listener = listener
        self._standing = standing
        self._complain = complain
        self._begins: dict[int, Begin] = {}
        self._committed: dict[int, int] = {}
        self._paused = False
        self._silent = False
        self._cause: str | None = None
        source.shape(_OPEN_SECONDS)
        settings: dict[str, Any] = {
            "log_level": 2,
            "session_timeout_ms": 6_000,
            "heartbeat_interval_ms": 2_000,
            # A start reads what was told before, and the end of a membership waits for what is under way.
            "max_poll_interval_ms": 900_000,
            "fetch_wait_max_ms": 100,
            "on_commit": self._on_commit,
            "error_cb": self._on_error,
        }
        try:
            self._consumer = Consumer(consumer_config(group, source.bootstrap, **settings))
            self._consumer.subscribe(
                [source.topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
        except KafkaException as error:
            raise explain(error, source.topic, source.bootstrap) from error

    @property
    def member(self) -> bool:
        """Whether it has partitions."""
        return bool(self._begins)

    def read(self, timeout: float) -> list[Row]:
        """What has arrived; waits up to `timeout` seconds for the first."""
        try:
            first = self._consumer.poll(timeout)
            if first is None:
                return []
            messages = [first] if self._paused else [first, *self._consumer.consume(_BATCH, 0)]
        except KafkaException as error:
            raise explain(error, self._source.topic, self._source.bootstrap) from error
        self._silent = False
        return [row for message in messages if (row := self._row(message)) is not None]

    def pause(self, paused: bool) -> None:
        """Whether records are held back; membership goes on."""
        if paused is self._paused:
            return
        self._paused = paused
        self._apply_pause()

    def commit(self, positions: Mapping[int, int], *, wait: bool = False) -> None:
        """What is to be read next, by partition; without waiting, one that is lost is made good by the next."""
        moved = {p: position for p, position in positions.items() if p in self._begins and position > self._stood(p)}
        offsets = [self._offset(partition, position) for partition, position in moved.items()]
        if not offsets:
            return
        try:
            if wait:
                self._consumer.commit(offsets=offsets, asynchronous=False)
                self._committed.update(moved)
            else:
                self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self._complain(f"Progress could not be kept ({error.args[0].name()}); what follows may be told twice.")

    def close(self) -> None:
        """Leaves the group."""
        self._consumer.close()

    def _stood(self, partition: int) -> int:
        return self._committed.get(partition, -1)

    def _offset(self, partition: int, position: int) -> TopicPartition:
        metadata = metadata_of(self._begins[partition], position)
        return TopicPartition(self._source.topic, partition, position, metadata)

    def _on_assign(self, _: Consumer, assigned: list[TopicPartition]) -> None:
        numbers = [place.partition for place in assigned]
        deadline = time.monotonic() + _OPEN_SECONDS
        try:
            stored = self._consumer.committed(assigned, timeout=_OPEN_SECONDS)
        except KafkaException as error:
            raise explain(error, self._source.topic, self._source.bootstrap) from error
        lows = self._source.start_offsets(numbers, deadline - time.monotonic())
        ends = self._source.end_offsets(numbers, deadline - time.monotonic())
        self._committed = {}
        self._begins = {}
        for place in stored:
            partition = place.partition
            committed = place.offset if place.offset >= 0 else None
            found = begin(committed, place.metadata, lows[partition], ends[partition], standing=self._standing)
            if committed is not None and committed < lows[partition]:
                self._complain(
                    f"Changes on partition {partition} that are older than the topic's retention were deleted before "
                    "they were told."
                )
            self._begins[partition] = found
            self._committed[partition] = -1 if committed is None or committed > ends[partition] else committed
        self._consumer.assign(
            [TopicPartition(self._source.topic, partition, found.position) for partition, found in self._begins.items()]
        )
        self._apply_pause()
        self._listener.assigned(self._begins)
        # From here on it is known what a receiver has been told, also where that is nothing.
        self.commit({partition: found.position for partition, found in self._begins.items()}, wait=True)

    def _on_revoke(self, _: Consumer, revoked: list[TopicPartition]) -> None:
        positions = self._listener.revoked([place.partition for place in revoked])
        self.commit(positions, wait=True)
        self._begins = {}

    def _on_lost(self, _: Consumer, lost: list[TopicPartition]) -> None:
        self._listener.lost([place.partition for place in lost])
        self._begins = {}

    def _apply_pause(self) -> None:
        places = [TopicPartition(self._source.topic, partition) for partition in self._begins]
        if self._paused:
            self._consumer.pause(places)
        else:
            self._consumer.resume(places)

    def _on_commit(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        if error is not None:
            return  # positions only grow, so that the next commit says it again
        for place in offsets:
            if place.error is None and place.partition in self._begins:
                self._committed[place.partition] = max(self._stood(place.partition), place.offset)

    def _on_error(self, error: KafkaError) -> None:
        # Said once until something arrives again: the client goes on trying by itself. That all brokers are down says
        # less than the refused connection before it.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._cause = error.str()
        elif not self._silent:
            self._silent = True
            self._complain(f"{BrokerSilent(self._source.bootstrap, self._cause or error.str())} Trying again.")

    def _row(self, message: Message) -> Row | None:
        failure = message.error()
        if failure is not None:
            raise explain(failure, self._source.topic, self._source.bootstrap)
        partition, offset = message.partition(), message.offset()
        if partition is None or offset is None:
            return None
        return Row(partition, offset, message.key(), message.value(), message.timestamp()[1])
