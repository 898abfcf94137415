"""One life of the effects ledger: what is asked is decided, and what was decided is committed.

A transaction ends as soon as there is something in it, since hosts wait for its decisions.
"""

import logging
import threading
import time

from confluent_kafka import Consumer, Message, TopicPartition

from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing
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
from unmask.streams.ledger.group_life import GroupLife, LifeEnded
from unmask.streams.ledger.log_end import log_ends, log_id, log_starts
from unmask.streams.ledger.outputs import Record
from unmask.streams.ledger.quarantine import quarantine_entry
from unmask.streams.ledger.recovery import read_pieces
from unmask.streams.settings import StreamSettings

__all__ = ["EffectsLife"]

logger = logging.getLogger(__name__)

_CONSUME = 500
_WAIT_S = 0.05
_RECOVERY_TIMEOUT_S = 45.0
_ASK_TIMEOUT_S = 10.0


class EffectsLife(GroupLife[PartitionState]):
    """Reads, decides and commits."""

    _progress: EffectsProgress

    def __init__(
        self, settings: StreamSettings, topics: Topics, rules: EffectRules, framing: Framing, progress: EffectsProgress
    ) -> None:
        super().__init__(
            "effects ledger", settings, progress, group=settings.effects_group, topic=topics.effects_requests.name,
            partitions=topics.table_partitions, transactional_id=settings.effects_transactional_id,
            state_topic=topics.effects_state.name,
        )  # fmt: skip
        self._rules = rules
        self._intake = Intake(self._partitions, framing)
        self._outputs = Outputs(topics, settings.effects_transactional_id, framing)
        self.log = LogWatch(self._admin, self._topic)
        self._expiry = Expiry(settings.bootstrap, self._topic, settings.effects_transactional_id, self._clock, framing)

    def run(self, stopping: threading.Event) -> None:
        """Works until `stopping` is set. Raises whatever ends this life."""
        consumer = self._join(self._transactional_id)
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
        super().close()
        self._expiry.close()

    # Partitions that come and go.

    def _take_over(self, partitions: list[int]) -> None:
        if max(partitions) >= self._partitions:
            raise RequestPartitionsAdded(self._topic, self._partitions)
        pieces = read_pieces(
            self._settings.bootstrap, self._admin, self._state_topic, partitions, _RECOVERY_TIMEOUT_S, self._fence,
            lambda head: read_head(head).writer,
        )  # fmt: skip
        log = log_id(self._admin, self._topic, _ASK_TIMEOUT_S)
        starts = log_starts(self._admin, self._topic, partitions, _ASK_TIMEOUT_S)
        ends = log_ends(self._admin, self._topic, partitions, _ASK_TIMEOUT_S)
        for partition in partitions:
            state, head = restore(partition, pieces[partition])
            if head is not None and head.log_id != log:
                raise EffectsLogRewound(self._topic, partition, "is not the log that was decided before")
            if ends[partition] < state.next_offset:
                found = f"ends at {ends[partition]}, but {state.next_offset} requests were decided"
                raise EffectsLogRewound(self._topic, partition, found)
            state.log_id = log
            if starts[partition] > state.next_offset:
                # Nobody waits for these any more; what was granted before stands, and ends by its time.
                logger.warning(
                    "partition %d of %s begins at %d: %d requests were removed unread",
                    partition, self._topic, starts[partition], starts[partition] - state.next_offset,
                )  # fmt: skip
                state.next_offset = starts[partition]
            self.states[partition] = state
            self._expiry.begin(state)
            logger.info(
                "partition %d of the effects: %d keys, continuing at %d",
                partition, len(state.effects), state.next_offset,
            )  # fmt: skip

    def _commit_before_revocation(self) -> None:
        self._commit()

    def _forget(self, partition: int) -> None:
        self._expiry.end(partition)
        self.log.forget(partition)

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
                entry = quarantine_entry(self._topic, state.partition, offset, arrival, key, value, refused)
                fold_unreadable(state, self._rules, offset, arrival, entry)
                self._progress.quarantined += 1
                continue
            fold_request(state, self._rules, offset, arrival, request)

    def _look_around(self, consumer: Consumer) -> None:
        self._expiry.tick(self.states)
        self.log.look(list(self.states))
        now = time.monotonic()
        self._check_joined(now)
        if self._joined_at is None:
            return
        if all(state.next_offset >= self.log.ends.get(p, 0) for p, state in self.states.items()):
            # Nothing to decide is no standstill.
            self._progress.moved_at = now
        self._note_held(now)
        self._look_for_orphans(consumer)

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
            offsets.append(TopicPartition(self._topic, state.partition, state.next_offset))
            decided.append((state, touched))
        if not offsets:
            return
        transactor.commit(records, offsets, membership)
        self._progress.transactions += 1
        self._progress.moved_at = time.monotonic()
        for state, touched in decided:
            self._progress.answers.update(decision["answer"] for decision in touched.decisions)
            self._expiry.watch(state, touched.effects)
