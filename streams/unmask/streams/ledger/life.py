"""One life of the ledger: what is read is folded, and what was folded is committed."""

import logging
import threading
import time

from confluent_kafka import Consumer, Message, TopicPartition

from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing
from unmask.schemas.topics import Topics
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.errors import LogRewound, PartitionsAdded
from unmask.streams.ledger.fold import QuarantineFlood, fold_batch, fold_unreadable, skip_to
from unmask.streams.ledger.fold_single import fold_single
from unmask.streams.ledger.frontier import Frontier
from unmask.streams.ledger.group_life import GroupLife, LifeEnded
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.log_end import log_id, log_starts
from unmask.streams.ledger.outputs import Outputs, Record
from unmask.streams.ledger.quarantine import quarantine_entry
from unmask.streams.ledger.recovery import recover
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState
from unmask.streams.ledger.status import Progress
from unmask.streams.settings import StreamSettings

__all__ = ["Life", "LifeEnded"]

logger = logging.getLogger(__name__)

_CONSUME = 500
_WAIT_S = 0.02
_RECOVERY_TIMEOUT_S = 45.0
_ASK_TIMEOUT_S = 10.0


class Life(GroupLife[PartitionState]):
    """Reads, folds and commits."""

    def __init__(
        self, settings: StreamSettings, topics: Topics, rules: FoldRules, framing: Framing, progress: Progress
    ) -> None:
        super().__init__(
            "ledger", settings, progress, group=settings.ledger_group, topic=topics.events.name,
            partitions=topics.events_partitions, transactional_id=settings.transactional_id,
            state_topic=topics.ledger.name,
        )  # fmt: skip
        self._rules = rules
        self._intake = Intake(framing)
        self._outputs = Outputs(topics, rules, settings.transactional_id, framing)
        self.frontier = Frontier(self._admin, self._topic, self._clock)
        self._opened_at: float | None = None
        self._marked_at = 0.0
        self._asked_at = 0.0

    def run(self, stopping: threading.Event) -> None:
        """Works until `stopping` is set, then commits what was folded. Raises whatever ends this life."""
        settings = self._settings
        consumer = self._join(f"{settings.namespace}.ledger.{settings.instance}", queued_max_messages_kbytes=16_384)
        while not stopping.is_set():
            messages = consumer.consume(_CONSUME, _WAIT_S)
            self._raise_failure()
            urgent = self._fold(messages)
            self._advance()
            self._commit_if_due(urgent=urgent)
            self._look_for_orphans(consumer)
        self._commit(mark=True)

    # Partitions that come and go.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        super()._on_assign(consumer, partitions)
        # A new owner publishes at once what its predecessor may not have.
        self._marked_at = 0.0

    def _take_over(self, partitions: list[int]) -> None:
        if max(partitions) >= self._partitions:
            raise PartitionsAdded(self._topic, self._partitions)
        recovered = recover(
            self._settings.bootstrap, self._admin, self._state_topic, partitions, _RECOVERY_TIMEOUT_S, self._fence
        )
        log = log_id(self._admin, self._topic, _ASK_TIMEOUT_S)
        starts = log_starts(self._admin, self._topic, partitions, _ASK_TIMEOUT_S)
        for partition, (state, head) in recovered.items():
            if head is not None and head.log_id != log:
                raise LogRewound(self._topic, partition, "is not the log that was counted before")
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

    def _commit_before_revocation(self) -> None:
        self._commit(mark=False)

    def _forget(self, partition: int) -> None:
        self.frontier.forget(partition)

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
        entry = quarantine_entry(self._topic, state.partition, offset, arrival, key, value, refused)
        try:
            fold_unreadable(state, self._rules, offset, arrival, entry)
        except QuarantineFlood:
            # What was folded before stands.
            self._commit(mark=False)
            raise
        self._progress.quarantined += 1

    def _advance(self) -> None:
        now = time.monotonic()
        self.frontier.collect()
        if now - self._asked_at >= min(0.5, self._settings.snapshot_ms / 2000):
            self.frontier.ask({partition: state.next_offset for partition, state in self.states.items()})
            self._asked_at = now
        for partition, state in self.states.items():
            if (rewound := self.frontier.rewound.get(partition)) is not None:
                raise LogRewound(self._topic, partition, "ends at {}, but {} records were counted".format(*rewound))
            through = self.frontier.reached(partition, state.next_offset)
            if through is not None:
                advance(state, self._rules, through)

    # Committing.

    def _commit_if_due(self, *, urgent: bool) -> None:
        now = time.monotonic()
        if not self.states:
            if self._joined_at is not None:
                # Nothing to commit is no standstill.
                self._progress.moved_at = now
                self._note_held(now)
            self._check_joined(now)
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
            offsets.append(TopicPartition(self._topic, state.partition, state.next_offset))
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
