"""One life of the ledger: a consumer, a producer, and the states of the assigned partitions.

Whatever goes wrong ends the life: the transaction is aborted and every state is thrown away. Nothing is repaired in
place.
"""

import logging
import threading
import time
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing
from unmask.schemas.kafka import client_config, consumer_config
from unmask.schemas.topics import Topics
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.errors import LogRewound, PartitionsAdded
from unmask.streams.ledger.fold import QuarantineFlood, fold_batch, fold_unreadable, skip_to
from unmask.streams.ledger.fold_single import fold_single
from unmask.streams.ledger.frontier import Frontier
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.last_resort import ending_the_process_after
from unmask.streams.ledger.log_end import log_id, log_starts
from unmask.streams.ledger.membership import Membership
from unmask.streams.ledger.outputs import Outputs, Record
from unmask.streams.ledger.ownership import Ownership
from unmask.streams.ledger.quarantine import quarantine_entry
from unmask.streams.ledger.recovery import recover
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState
from unmask.streams.ledger.status import Progress
from unmask.streams.ledger.transactor import Transactor, fence_writer
from unmask.streams.settings import StreamSettings

__all__ = ["TRANSIENT", "Life", "LifeEnded", "close_drained", "leave"]

logger = logging.getLogger(__name__)

_CONSUME = 500
_WAIT_S = 0.02
_RECOVERY_TIMEOUT_S = 45.0
_JOIN_TIMEOUT_S = 60.0
_ASK_TIMEOUT_S = 10.0
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


class Life:
    """Reads, folds and commits. The states are shared with whoever asks for the ledger's condition."""

    def __init__(
        self, settings: StreamSettings, topics: Topics, rules: FoldRules, framing: Framing, progress: Progress
    ) -> None:
        self._settings = settings
        self._events = topics.events.name
        self._ledger = topics.ledger.name
        self._partitions = topics.events_partitions
        self._rules = rules
        self._progress = progress
        self.states: dict[int, PartitionState] = {}
        """By partition."""
        self._failure: Exception | None = None
        self._clock = BrokerClock()
        self._intake = Intake(framing)
        self._outputs = Outputs(topics, rules, settings.transactional_id, framing)
        self._admin = AdminClient(client_config(settings.bootstrap))
        self.frontier = Frontier(self._admin, self._events, self._clock)
        self._ownership = Ownership(self._admin, settings.ledger_group, self._events, self._partitions)
        self._leaving = False
        self._closing = False
        self._transactor: Transactor | None = None
        self._consumer: Consumer | None = None
        self._membership: Membership | None = None
        self._joined_at: float | None = None
        self._began_at = time.monotonic()
        self._opened_at: float | None = None
        self._marked_at = 0.0
        self._asked_at = 0.0

    def run(self, stopping: threading.Event) -> None:
        """Works until `stopping` is set, then commits what was folded. Raises whatever ends this life."""
        settings = self._settings
        self._transactor = Transactor(
            settings.bootstrap, settings.transactional_id, settings.transaction_timeout_ms, self._clock, self._ledger
        )
        static = {"group_instance_id": f"{settings.namespace}.ledger.{settings.instance}"}
        self._consumer = consumer = Consumer(
            consumer_config(
                settings.ledger_group,
                bootstrap=settings.bootstrap,
                session_timeout_ms=settings.session_timeout_ms,
                heartbeat_interval_ms=max(200, settings.session_timeout_ms // 6),
                max_poll_interval_ms=max(90_000, settings.session_timeout_ms),
                partition_assignment_strategy="cooperative-sticky",
                # Records that are gone must be told, never jumped over.
                auto_offset_reset="error",
                enable_partition_eof=True,
                fetch_wait_max_ms=100,
                queued_max_messages_kbytes=16_384,
                # A partition that was added counts as soon as somebody may send to it.
                topic_metadata_refresh_interval_ms=10_000,
                **(static if settings.static_membership else {}),
            )
        )
        self._membership = Membership(consumer)
        consumer.subscribe([self._events], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        while not stopping.is_set():
            messages = consumer.consume(_CONSUME, _WAIT_S)
            self._raise_failure()
            urgent = self._fold(messages)
            self._advance()
            self._commit_if_due(urgent=urgent)
            self._look_at_group(consumer)
        self._commit(mark=True)

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
                    leave(self._consumer)
                close_drained(self._consumer)
            except Exception as error:
                # Among them SystemError, where a callback failed while the client was closing.
                logger.warning("ledger consumer did not close cleanly: %s", error)

    # Rebalances. Called inside consume(); exceptions are kept for the loop.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._closing:
            return
        assert self._membership is not None
        self._membership.assigned()
        try:
            wanted = [partition.partition for partition in partitions]
            if wanted:
                self._take_over(wanted)
            consumer.incremental_assign([TopicPartition(self._events, p, self.states[p].next_offset) for p in wanted])
            self._progress.began()
            self._joined_at = self._joined_at or time.monotonic()
            # A new owner publishes at once what its predecessor may not have.
            self._marked_at = 0.0
        except Exception as error:
            self._failure = error

    def _take_over(self, partitions: list[int]) -> None:
        if max(partitions) >= self._partitions:
            raise PartitionsAdded(self._events, self._partitions)
        recovered = recover(
            self._settings.bootstrap, self._admin, self._ledger, partitions, _RECOVERY_TIMEOUT_S, self._fence
        )
        log = log_id(self._admin, self._events, _ASK_TIMEOUT_S)
        starts = log_starts(self._admin, self._events, partitions, _ASK_TIMEOUT_S)
        for partition, (state, head) in recovered.items():
            if head is not None and head.log_id != log:
                raise LogRewound(self._events, partition, "is not the log that was counted before")
            state.log_id = log
            self.states[partition] = state
            logger.info(
                "partition %d: %d cells, %d emitters, continuing at %d",
                partition, len(state.cells), len(state.emitters), state.next_offset,
            )  # fmt: skip
        for partition, start in starts.items():
            if start > self.states[partition].next_offset:
                self._skip(partition, start)

    def _skip(self, partition: int, start: int) -> None:
        if self._clock.now() is None:
            # Only an acknowledgement tells the broker's time.
            self._commit(mark=True)
        now = self._clock.now()
        if now is None:
            raise LifeEnded("the broker did not tell its time")
        state = self.states[partition]
        logger.warning(
            "partition %d begins at %d: %d records were removed unread",
            partition, start, start - state.next_offset,
        )  # fmt: skip
        skip_to(state, self._rules, start, now)

    def _fence(self, writer: str) -> None:
        # One's own predecessor is fenced by one's own start.
        if writer != self._settings.transactional_id:
            logger.warning("the previous owner %s left a transaction open; it is fenced", writer)
            fence_writer(self._settings.bootstrap, writer, self._settings.transaction_timeout_ms)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._closing:
            # Nothing is committed any more, and a client that is closing may never answer: see close_drained().
            return
        assert self._membership is not None
        self._membership.assigned()
        try:
            self._commit(mark=False)
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
            self.frontier.forget(partition.partition)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    # Reading and folding.

    def _fold(self, messages: list[Message]) -> bool:
        progress, states, rules, intake = self._progress, self.states, self._rules, self._intake
        keys, values = [message.key() for message in messages], [message.value() for message in messages]
        for message, key, value, single in zip(messages, keys, values, intake.read_singles(keys, values), strict=True):
            error = message.error()
            if error is not None:
                self._on_error(error, message)
                continue
            partition, offset = message.partition(), message.offset()
            state = states.get(partition) if partition is not None else None
            if state is None or offset is None:
                continue
            if offset < state.next_offset:
                # Fetched before the partition was moved; or the log was made anew, which the next life finds out.
                raise LifeEnded(f"offset {offset} of partition {partition} came again")
            arrival = message.timestamp()[1] * 1000
            progress.records += 1
            if single is not None and fold_single(state, rules, offset, arrival, single):
                progress.events += 1
                continue
            try:
                batch = intake.read(key, value)
            except DecodeError as refused:
                self._put_aside(state, offset, arrival, key, value, refused)
                continue
            progress.events += fold_batch(state, rules, offset, arrival, batch)
        return any(state.touched.urgent for state in states.values())

    def _put_aside(
        self, state: PartitionState, offset: int, arrival: int, key: bytes | None, value: bytes | None,
        refused: DecodeError,
    ) -> None:  # fmt: skip
        entry = quarantine_entry(self._events, state.partition, offset, arrival, key, value, refused)
        try:
            fold_unreadable(state, self._rules, offset, arrival, entry)
        except QuarantineFlood:
            # What was folded before stands.
            self._commit(mark=False)
            raise
        self._progress.quarantined += 1

    def _on_error(self, error: KafkaError, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        state = None if partition is None else self.states.get(partition)
        if error.code() == KafkaError._PARTITION_EOF:
            if state is not None and offset is not None and offset > state.next_offset:
                # Only markers and aborted records of somebody's transactions stand between; they hold no batches.
                state.next_offset = offset
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            if state is not None:
                raise LifeEnded(f"offset {state.next_offset} of partition {partition} is no longer in the log")
        elif error.fatal() or not (error.retriable() or error.code() in TRANSIENT):
            raise KafkaException(error)

    def _advance(self) -> None:
        now = time.monotonic()
        self.frontier.collect()
        if now - self._asked_at >= min(0.5, self._settings.snapshot_ms / 2000):
            self.frontier.ask({partition: state.next_offset for partition, state in self.states.items()})
            self._asked_at = now
        for partition, state in self.states.items():
            if (rewound := self.frontier.rewound.get(partition)) is not None:
                raise LogRewound(self._events, partition, "ends at {}, but {} records were counted".format(*rewound))
            through = self.frontier.reached(partition, state.next_offset)
            if through is not None:
                advance(state, self._rules, through)

    def _look_at_group(self, consumer: Consumer) -> None:
        if self._joined_at is None or len(self.states) == self._partitions:
            return
        self._ownership.look()
        if (orphans := self._ownership.orphans()) and consumer.memberid() == self._ownership.first_member:
            self._leaving = True
            raise LifeEnded(f"the group has given the partitions {orphans} to nobody; this worker joins it anew")

    # Committing.

    def _commit_if_due(self, *, urgent: bool) -> None:
        now = time.monotonic()
        if not self.states:
            if self._joined_at is not None:
                # Nothing to commit is no standstill.
                self._progress.moved_at = now
                self._note_held(now)
            elif now - self._began_at > _JOIN_TIMEOUT_S:
                raise LifeEnded("the group has not taken this worker in; does the broker answer?")
            return
        mark = now - self._marked_at >= self._settings.snapshot_ms / 1000
        pending = any(state.touched.emitters or state.touched.quarantined for state in self.states.values())
        if pending and self._opened_at is None:
            self._opened_at = now
        aged = self._opened_at is not None and now - self._opened_at >= self._settings.transaction_ms / 1000
        if urgent or mark or aged:
            self._commit(mark=mark)

    def _commit(self, *, mark: bool) -> None:
        transactor, membership = self._transactor, self._membership
        if transactor is None or membership is None or not self.states:
            return
        records: list[Record] = []
        offsets = []
        for state in self.states.values():
            if not mark and state.committed_offset == state.next_offset and not state.touched.urgent:
                continue
            records.extend(self._outputs.records(state, state.take_touched(), mark=mark))
            offsets.append(TopicPartition(self._events, state.partition, state.next_offset))
            state.committed_offset = state.next_offset
        if offsets:
            transactor.commit(records, offsets, membership)
        now = time.monotonic()
        self._opened_at = None
        if mark:
            self._marked_at = now
        self._progress.transactions += 1
        self._progress.moved_at = now
        self._note_held(now)

    def _note_held(self, now: float) -> None:
        if self._progress.failing_since is not None and now - (self._joined_at or now) >= _LASTING_S:
            self._progress.held()


def leave(consumer: Consumer) -> None:
    """Leaves the group, which a consumer with a static name does not do when it is closed."""
    consumer.unsubscribe()
    began = time.monotonic()
    # It is told in the background, once nothing is assigned any more.
    while time.monotonic() - began < (_LEAVE_TIMEOUT_S if consumer.assignment() else _TELL_S):
        consumer.consume(1, _WAIT_S)


def close_drained(consumer: Consumer) -> None:
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


TRANSIENT = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError._MAX_POLL_EXCEEDED,
}
"""Errors of the client that pass by themselves."""
