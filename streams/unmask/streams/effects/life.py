"""One life of the effects ledger: a consumer, a producer, and the states of the assigned partitions.

Whatever goes wrong ends the life: the transaction is aborted and every state is thrown away. Nothing is repaired in
place. A transaction ends as soon as there is something in it, since hosts wait for its decisions.
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
from unmask.streams.effects.errors import EffectsLogRewound, RequestPartitionsAdded
from unmask.streams.effects.expiry import Expiry
from unmask.streams.effects.fold import fold_request, fold_unreadable
from unmask.streams.effects.intake import Intake
from unmask.streams.effects.log_watch import LogWatch
from unmask.streams.effects.outputs import Outputs
from unmask.streams.effects.pieces import read_head, restore
from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.state import PartitionState
from unmask.streams.effects.status import EffectsProgress
from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.life import TRANSIENT, LifeEnded, close_drained, leave
from unmask.streams.ledger.log_end import log_ends, log_id, log_starts
from unmask.streams.ledger.membership import Membership
from unmask.streams.ledger.outputs import Record
from unmask.streams.ledger.ownership import Ownership
from unmask.streams.ledger.quarantine import quarantine_entry
from unmask.streams.ledger.recovery import read_pieces
from unmask.streams.ledger.transactor import Transactor, fence_writer
from unmask.streams.settings import StreamSettings

__all__ = ["EffectsLife"]

logger = logging.getLogger(__name__)

_CONSUME = 500
_WAIT_S = 0.05
_RECOVERY_TIMEOUT_S = 45.0
_JOIN_TIMEOUT_S = 60.0
_ASK_TIMEOUT_S = 10.0
_LASTING_S = 5.0
"""A life that goes on for so long after it has joined holds; what a record brings about happens before."""


class EffectsLife:
    """Reads, decides and commits. The states are shared with whoever asks for the ledger's condition."""

    def __init__(
        self, settings: StreamSettings, topics: Topics, rules: EffectRules, framing: Framing, progress: EffectsProgress
    ) -> None:
        self._settings = settings
        self._requests = topics.effects_requests.name
        self._state_topic = topics.effects_state.name
        self._partitions = topics.table_partitions
        self._rules = rules
        self._progress = progress
        self.states: dict[int, PartitionState] = {}
        """By partition."""
        self._failure: Exception | None = None
        self._clock = BrokerClock()
        self._intake = Intake(self._partitions, framing)
        self._outputs = Outputs(topics, settings.effects_transactional_id, framing)
        self._admin = AdminClient(client_config(settings.bootstrap))
        self.log = LogWatch(self._admin, self._requests)
        self._ownership = Ownership(self._admin, settings.effects_group, self._requests, self._partitions)
        self._expiry = Expiry(
            settings.bootstrap, self._requests, settings.effects_transactional_id, self._clock, framing
        )
        self._leaving = False
        self._closing = False
        self._transactor: Transactor | None = None
        self._consumer: Consumer | None = None
        self._membership: Membership | None = None
        self._joined_at: float | None = None
        self._began_at = time.monotonic()

    def run(self, stopping: threading.Event) -> None:
        """Works until `stopping` is set. Raises whatever ends this life."""
        settings = self._settings
        self._transactor = Transactor(
            settings.bootstrap,
            settings.effects_transactional_id,
            settings.transaction_timeout_ms,
            self._clock,
            self._state_topic,
        )
        static = {"group_instance_id": settings.effects_transactional_id}
        self._consumer = consumer = Consumer(
            consumer_config(
                settings.effects_group,
                bootstrap=settings.bootstrap,
                session_timeout_ms=settings.session_timeout_ms,
                heartbeat_interval_ms=max(200, settings.session_timeout_ms // 6),
                max_poll_interval_ms=max(90_000, settings.session_timeout_ms),
                partition_assignment_strategy="cooperative-sticky",
                # Requests that are gone must be told, never jumped over.
                auto_offset_reset="error",
                enable_partition_eof=True,
                fetch_wait_max_ms=100,
                topic_metadata_refresh_interval_ms=10_000,
                **(static if settings.static_membership else {}),
            )
        )
        self._membership = Membership(consumer)
        consumer.subscribe(
            [self._requests], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )
        while not stopping.is_set():
            # Asked for a batch, the client waits for the whole of it; asked for one record, it does not.
            first = consumer.poll(_WAIT_S)
            self._raise_failure()
            if first is not None:
                self._fold([first, *consumer.consume(_CONSUME, 0)])
                self._raise_failure()
            self._commit()
            self._look_around(consumer)

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
                logger.warning("the effects ledger's consumer did not close cleanly: %s", error)
        self._expiry.close()

    # Rebalances. Called inside poll(); exceptions are kept for the loop.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._closing:
            return
        assert self._membership is not None
        self._membership.assigned()
        try:
            wanted = [partition.partition for partition in partitions]
            if wanted:
                self._take_over(wanted)
            consumer.incremental_assign([TopicPartition(self._requests, p, self.states[p].next_offset) for p in wanted])
            self._progress.began()
            self._joined_at = self._joined_at or time.monotonic()
        except Exception as error:
            self._failure = error

    def _take_over(self, partitions: list[int]) -> None:
        if max(partitions) >= self._partitions:
            raise RequestPartitionsAdded(self._requests, self._partitions)
        pieces = read_pieces(
            self._settings.bootstrap, self._admin, self._state_topic, partitions, _RECOVERY_TIMEOUT_S, self._fence,
            lambda head: read_head(head).writer,
        )  # fmt: skip
        log = log_id(self._admin, self._requests, _ASK_TIMEOUT_S)
        starts = log_starts(self._admin, self._requests, partitions, _ASK_TIMEOUT_S)
        ends = log_ends(self._admin, self._requests, partitions, _ASK_TIMEOUT_S)
        for partition in partitions:
            state, head = restore(partition, pieces[partition])
            if head is not None and head.log_id != log:
                raise EffectsLogRewound(self._requests, partition, "is not the log that was decided before")
            if ends[partition] < state.next_offset:
                found = f"ends at {ends[partition]}, but {state.next_offset} requests were decided"
                raise EffectsLogRewound(self._requests, partition, found)
            state.log_id = log
            if starts[partition] > state.next_offset:
                # Nobody waits for these any more; what was granted before stands, and ends by its time.
                logger.warning(
                    "partition %d of %s begins at %d: %d requests were removed unread",
                    partition, self._requests, starts[partition], starts[partition] - state.next_offset,
                )  # fmt: skip
                state.next_offset = starts[partition]
            self.states[partition] = state
            self._expiry.begin(state)
            logger.info(
                "partition %d of the effects: %d keys, continuing at %d",
                partition, len(state.effects), state.next_offset,
            )  # fmt: skip

    def _fence(self, writer: str) -> None:
        # One's own predecessor is fenced by one's own start.
        if writer != self._settings.effects_transactional_id:
            logger.warning("the previous owner %s left a transaction open; it is fenced", writer)
            fence_writer(self._settings.bootstrap, writer, self._settings.transaction_timeout_ms)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._closing:
            # Nothing is committed any more, and a client that is closing may never answer: see close_drained().
            return
        assert self._membership is not None
        self._membership.assigned()
        try:
            self._commit()
        except Exception as error:
            self._failure = error
        self._drop(partitions)
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Somebody else may own them already. What is decided and not committed must not be.
        assert self._membership is not None
        self._membership.lost()
        self._drop(partitions)
        self._failure = self._failure or LifeEnded("partitions were given to another worker while this one was away")
        consumer.incremental_unassign(partitions)

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.states.pop(partition.partition, None)
            self._expiry.end(partition.partition)
            self.log.forget(partition.partition)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    # Reading and deciding.

    def _fold(self, messages: list[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is not None:
                self._on_error(error, message)
                continue
            partition, offset = message.partition(), message.offset()
            state = self.states.get(partition) if partition is not None else None
            if state is None or offset is None:
                continue
            if offset < state.next_offset:
                # Fetched before the partition was moved; or the log was made anew, which the next life finds out.
                raise LifeEnded(f"offset {offset} of partition {partition} came again")
            arrival = message.timestamp()[1] * 1000
            key, value = message.key(), message.value()
            self._progress.records += 1
            try:
                request = self._intake.read(state.partition, key, value)
            except DecodeError as refused:
                entry = quarantine_entry(self._requests, state.partition, offset, arrival, key, value, refused)
                fold_unreadable(state, self._rules, offset, arrival, entry)
                self._progress.quarantined += 1
                continue
            fold_request(state, self._rules, offset, arrival, request)

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
        elif error.fatal() or not (error.retriable() or error.code() in TRANSIENT):
            raise KafkaException(error)

    def _look_around(self, consumer: Consumer) -> None:
        self._expiry.tick(self.states)
        self.log.look(list(self.states))
        now = time.monotonic()
        if self._joined_at is None:
            if now - self._began_at > _JOIN_TIMEOUT_S:
                raise LifeEnded("the group has not taken this worker in; does the broker answer?")
            return
        if all(state.next_offset >= self.log.ends.get(p, 0) for p, state in self.states.items()):
            # Nothing to decide is no standstill.
            self._progress.moved_at = now
        if self._progress.failing_since is not None and now - self._joined_at >= _LASTING_S:
            self._progress.held()
        if len(self.states) < self._partitions:
            self._ownership.look()
            if (orphans := self._ownership.orphans()) and consumer.memberid() == self._ownership.first_member:
                self._leaving = True
                raise LifeEnded(f"the group has given the partitions {orphans} to nobody; this worker joins it anew")

    # Committing.

    def _commit(self) -> None:
        transactor, membership = self._transactor, self._membership
        if transactor is None or membership is None:
            return
        records: list[Record] = []
        offsets: list[TopicPartition] = []
        decided = []
        for state in self.states.values():
            if not state.touched.anything:
                continue
            touched = state.take_touched()
            records.extend(self._outputs.records(state, touched))
            offsets.append(TopicPartition(self._requests, state.partition, state.next_offset))
            decided.append((state, touched))
        if not offsets:
            return
        transactor.commit(records, offsets, membership)
        self._progress.transactions += 1
        self._progress.moved_at = time.monotonic()
        for state, touched in decided:
            self._progress.answers.update(decision["answer"] for decision in touched.decisions)
            self._expiry.watch(state, touched.effects)
