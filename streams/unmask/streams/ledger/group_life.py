"""One life as a member of a consumer group whose records become Kafka transactions. Both ledgers live so.

Whatever goes wrong ends the life: the transaction is aborted and every state is thrown away. Nothing is repaired in
place. What is done with the records, and when a transaction ends, is the subclass's.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.kafka import client_config, consumer_config
from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.last_resort import ending_the_process_after
from unmask.streams.ledger.membership import Membership
from unmask.streams.ledger.ownership import Ownership
from unmask.streams.ledger.status import Progress
from unmask.streams.ledger.transactor import Transactor, fence_writer
from unmask.streams.settings import StreamSettings

__all__ = ["GroupLife", "LifeEnded"]

logger = logging.getLogger(__name__)

_CONSUME = 500
_WAIT_S = 0.02
_JOIN_TIMEOUT_S = 60.0
_LEAVE_TIMEOUT_S = 5.0
_TELL_S = 0.5
_DRAINED = 3
"""So many empty looks into a queue; one may have found nothing but a callback."""
_DRAIN_TIMEOUT_S = 0.5
_CLOSE_S = 40.0
_LASTING_S = 5.0
"""A life that goes on for so long after it has joined holds; what a record brings about happens before."""


class LifeEnded(Exception):
    """This life cannot go on, the next one can."""


class _State(Protocol):
    next_offset: int


State = TypeVar("State", bound=_State)


class GroupLife(ABC, Generic[State]):
    """The membership, the rebalances and the end. The states are shared with whoever asks for the ledger's condition.

    `what` is the ledger's name in the log; `state_topic` is where its transactions keep the state.
    """

    def __init__(
        self, what: str, settings: StreamSettings, progress: Progress, *, group: str, topic: str, partitions: int,
        transactional_id: str, state_topic: str,
    ) -> None:  # fmt: skip
        self._what = what
        self._settings = settings
        self._group = group
        self._topic = topic
        self._partitions = partitions
        self._transactional_id = transactional_id
        self._state_topic = state_topic
        self._progress = progress
        self.states: dict[int, State] = {}
        """By partition."""
        self._failure: Exception | None = None
        self._clock = BrokerClock()
        self._admin = AdminClient(client_config(settings.bootstrap))
        self._ownership = Ownership(self._admin, group, topic, partitions)
        self._leaving = False
        self._closing = False
        self._transactor: Transactor | None = None
        self._consumer: Consumer | None = None
        self._membership: Membership | None = None
        self._joined_at: float | None = None
        self._began_at = time.monotonic()

    @abstractmethod
    def _take_over(self, partitions: list[int]) -> None:
        """Puts the states of newly assigned partitions in place."""

    @abstractmethod
    def _commit_before_revocation(self) -> None:
        """Commits what was folded, while the partitions are still owned."""

    @abstractmethod
    def _forget(self, partition: int) -> None:
        """The partition is somebody else's; its state is gone already."""

    def _join(self, instance_id: str, **options: Any) -> Consumer:
        """The member, subscribed; `options` are further ones of its client."""
        settings = self._settings
        self._transactor = Transactor(
            settings.bootstrap, self._transactional_id, settings.transaction_timeout_ms, self._clock, self._state_topic
        )
        static = {"group_instance_id": instance_id} if settings.static_membership else {}
        self._consumer = consumer = Consumer(
            consumer_config(
                self._group,
                bootstrap=settings.bootstrap,
                session_timeout_ms=settings.session_timeout_ms,
                heartbeat_interval_ms=max(200, settings.session_timeout_ms // 6),
                max_poll_interval_ms=max(90_000, settings.session_timeout_ms),
                partition_assignment_strategy="cooperative-sticky",
                # Records that are gone must be told, never jumped over.
                auto_offset_reset="error",
                enable_partition_eof=True,
                fetch_wait_max_ms=100,
                # A partition that was added counts as soon as somebody may send to it.
                topic_metadata_refresh_interval_ms=10_000,
                **static,
                **options,
            )
        )
        self._membership = Membership(consumer)
        consumer.subscribe([self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        return consumer

    def close(self) -> None:
        """Gives everything back. Never raises."""
        # The states go first: closing the consumer revokes its partitions, and a state whose changes were aborted must
        # not be committed then.
        self.states.clear()
        self._closing = True
        if self._transactor is not None:
            self._transactor.abort()
            self._transactor = None
        if self._consumer is not None:
            try:
                if self._leaving:
                    _leave(self._consumer)
                _close_drained(self._consumer)
            except Exception as error:
                # Among them SystemError, where a callback failed while the client was closing.
                logger.warning("the %s's consumer did not close cleanly: %s", self._what, error)

    # Rebalances. Called while the consumer is polled; exceptions are kept for the loop.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._closing:
            return
        assert self._membership is not None
        self._membership.assigned()
        try:
            wanted = [partition.partition for partition in partitions]
            if wanted:
                self._take_over(wanted)
            consumer.incremental_assign([TopicPartition(self._topic, p, self.states[p].next_offset) for p in wanted])
            self._progress.began()
            self._joined_at = self._joined_at or time.monotonic()
        except Exception as error:
            self._failure = error

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._closing:
            # Nothing is committed any more, and a client that is closing may never answer: see _close_drained().
            return
        assert self._membership is not None
        self._membership.assigned()
        try:
            self._commit_before_revocation()
        except Exception as error:
            self._failure = error
        self._drop(partitions)
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Somebody else may own them already. What is folded and not committed must not be.
        assert self._membership is not None
        self._membership.lost()
        self._drop(partitions)
        self._failure = self._failure or LifeEnded("partitions were given to another worker while this one was away")
        consumer.incremental_unassign(partitions)

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.states.pop(partition.partition, None)
            self._forget(partition.partition)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _fence(self, writer: str) -> None:
        # One's own predecessor is fenced by one's own start.
        if writer != self._transactional_id:
            logger.warning("the previous owner %s left a transaction open; it is fenced", writer)
            fence_writer(self._settings.bootstrap, writer, self._settings.transaction_timeout_ms)

    # What a poll brings beside records, and what is to be looked at between polls.

    def _on_error(self, error: KafkaError, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        state = None if partition is None else self.states.get(partition)
        if error.code() == KafkaError._PARTITION_EOF:
            if state is not None and offset is not None and offset > state.next_offset:
                # Only markers and aborted records of somebody's transactions stand between.
                state.next_offset = offset
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            if state is not None:
                raise LifeEnded(f"offset {state.next_offset} of partition {partition} is no longer in the log")
        elif error.fatal() or not (error.retriable() or error.code() in _TRANSIENT):
            raise KafkaException(error)

    def _check_joined(self, now: float) -> None:
        if self._joined_at is None and now - self._began_at > _JOIN_TIMEOUT_S:
            raise LifeEnded("the group has not taken this worker in; does the broker answer?")

    def _look_for_orphans(self, consumer: Consumer) -> None:
        if self._joined_at is None or len(self.states) == self._partitions:
            return
        self._ownership.look()
        if (orphans := self._ownership.orphans()) and consumer.memberid() == self._ownership.first_member:
            self._leaving = True
            raise LifeEnded(f"the group has given the partitions {orphans} to nobody; this worker joins it anew")

    def _note_held(self, now: float) -> None:
        if self._progress.failing_since is not None and now - (self._joined_at or now) >= _LASTING_S:
            self._progress.held()


def _leave(consumer: Consumer) -> None:
    """Leaves the group, which a consumer with a static name does not do when it is closed."""
    consumer.unsubscribe()
    began = time.monotonic()
    # It is told in the background, once nothing is assigned any more.
    while time.monotonic() - began < (_LEAVE_TIMEOUT_S if consumer.assignment() else _TELL_S):
        consumer.consume(1, _WAIT_S)


def _close_drained(consumer: Consumer) -> None:
    """Closes a group's consumer, after what waits in its queue was served.

    A rebalance that waits there is else called back by close(), when nobody answers for the group any more. The client
    then waits for ever, with the interpreter's lock held (librdkafka's issue 4041), and with it the whole worker.
    """
    began, empty = time.monotonic(), 0
    while empty < _DRAINED and time.monotonic() - began < _DRAIN_TIMEOUT_S:
        empty = 0 if consumer.consume(_CONSUME, 0) else empty + 1
    # One that comes while it closes still finds nobody.
    with ending_the_process_after(_CLOSE_S):
        consumer.close()


_TRANSIENT = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError._MAX_POLL_EXCEEDED,
}
