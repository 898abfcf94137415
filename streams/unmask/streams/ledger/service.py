"""The ledger's shell: a thread that moves batches through the fold in Kafka transactions.

A life is one consumer, one producer and the states of the assigned partitions. Whatever goes wrong ends the life: the
transaction is aborted, every state is thrown away, and the next life reads them back. Nothing is repaired in place.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.errors import DecodeError
from unmask.schemas.kafka import client_config, consumer_config
from unmask.schemas.tokens import is_token
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.fold import QuarantineFlood, fold_batch, fold_unreadable
from unmask.streams.ledger.frontier import Frontier
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.outputs import Outputs
from unmask.streams.ledger.pieces import HEAD, LedgerStateUnreadable, restore
from unmask.streams.ledger.recovery import recover
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState
from unmask.streams.ledger.status import LedgerStatus
from unmask.streams.ledger.transactor import Transactor, fence_writer
from unmask.streams.settings import StreamSettings

__all__ = ["LedgerService", "LedgerStalled", "LogRewound", "rules_from"]

logger = logging.getLogger(__name__)

_CONSUME = 1000
_WAIT_S = 0.02
_RECOVERY_TIMEOUT_S = 45.0
_STALLED_S = 120.0
_HOPELESS = (QuarantineFlood, LedgerStateUnreadable)


class LogRewound(Exception):
    """The log holds fewer records than were already counted: the topic was made anew, or its tail was lost.

    Counting on would give new records old numbers. Start a new namespace, or remove the ledger topic too if the old
    counts may be forgotten.
    """

    def __init__(self, topic: str, partition: int, end: int, counted: int) -> None:
        super().__init__(
            f"partition {partition} of {topic} ends at {end}, but records up to {counted} were counted: the topic "
            f"was made anew or lost its tail. Use a new namespace, or remove the ledger's topics too"
        )


class LedgerStalled(Exception):
    """Nothing could be committed for so long that another process may as well try."""

    def __init__(self, seconds: float, cause: BaseException) -> None:
        super().__init__(
            f"the ledger could not commit for {seconds:.0f} s ({type(cause).__name__}: {cause}); check the broker, "
            f"then start the worker again: it goes on where the last transaction ended"
        )


def rules_from(settings: StreamSettings) -> FoldRules:
    """The fold's parameters from a worker's settings."""
    return FoldRules(
        window_seconds=settings.window_seconds,
        grace_us=settings.grace_ms * 1000,
        horizon_us=settings.open_horizon_s * MICROS,
        silence_factor=settings.silence_factor,
        write_off_us=settings.write_off_s * MICROS,
        quarantine_limit=settings.quarantine_limit,
    )


class LedgerService:
    """Runs the ledger in a thread of its own."""

    def __init__(self, settings: StreamSettings, topics: Topics) -> None:
        self._settings = settings
        self._topics = topics
        self._rules = rules_from(settings)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unmask-ledger", daemon=True)
        self._states: dict[int, PartitionState] = {}
        self._reason = "starting"
        self._error: BaseException | None = None
        self._moved_at = time.monotonic()
        self._records = self._events = self._transactions = self._quarantined = 0
        self._frontier: Frontier | None = None

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self, timeout: float = 15.0) -> None:
        """Commits what was folded and ends the thread, within `timeout` seconds if the broker lets it."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def status(self) -> LedgerStatus:
        """The ledger's condition, from any thread."""
        states = list(self._states.values())
        ends = dict(self._frontier.ends) if self._frontier is not None else {}
        lag = sum(max(0, ends.get(state.partition, 0) - state.next_offset) for state in states)
        reason = self._reason
        idle = time.monotonic() - self._moved_at
        if not reason and idle > 3 * self._settings.snapshot_ms / 1000 + 10:
            reason = f"nothing was committed for {idle:.0f} s"
        return LedgerStatus(
            ready=not reason and self._error is None,
            reason=reason or (str(self._error) if self._error else ""),
            partitions=tuple(sorted(state.partition for state in states)),
            lag=lag,
            records=self._records,
            events=self._events,
            transactions=self._transactions,
            quarantined=self._quarantined,
            emitters=sum(len(state.emitters) for state in states),
            cells=sum(len(state.cells) for state in states),
            sessions=sum(len(state.sessions) for state in states),
            error=self._error,
        )

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                life = _Life(self)
                try:
                    life.run()
                except (*_HOPELESS, LogRewound):
                    raise
                except Exception as error:
                    stuck = time.monotonic() - self._moved_at
                    self._reason = f"{type(error).__name__}: {error}"
                    if _is_hopeless(error) or stuck > _STALLED_S:
                        raise LedgerStalled(stuck, error) from error
                    logger.warning("ledger starts anew: %s", self._reason)
                    self._stopping.wait(0.5)
                finally:
                    life.close()
                    self._states = {}
        except BaseException as error:
            self._error = error
            self._reason = f"{type(error).__name__}: {error}"
            logger.error("ledger ends: %s", self._reason)


class _Life:
    """One consumer, one producer and the states of the assigned partitions."""

    def __init__(self, service: LedgerService) -> None:
        self._service = service
        settings, topics = service._settings, service._topics
        self._settings = settings
        self._events_topic = topics.events.name
        self._ledger_topic = topics.ledger.name
        self._rules = service._rules
        self._states: dict[int, PartitionState] = service._states
        self._failure: BaseException | None = None
        self._clock = BrokerClock()
        self._intake = Intake()
        self._outputs = Outputs(topics, self._rules, settings.transactional_id)
        self._admin = AdminClient(client_config(settings.bootstrap))
        self._frontier = service._frontier = Frontier(self._admin, self._events_topic, self._clock)
        self._transactor: Transactor | None = None
        self._consumer: Consumer | None = None
        self._opened_at: float | None = None
        self._marked_at = 0.0
        self._asked_at = 0.0

    def run(self) -> None:
        """Reads, folds and commits until the service stops. Raises whatever ends this life."""
        settings = self._settings
        self._transactor = Transactor(
            settings.bootstrap,
            settings.transactional_id,
            settings.transaction_timeout_ms,
            self._clock,
            self._ledger_topic,
        )
        self._consumer = consumer = Consumer(
            consumer_config(
                settings.ledger_group,
                bootstrap=settings.bootstrap,
                group_instance_id=f"{settings.namespace}.ledger.{settings.instance}",
                session_timeout_ms=settings.session_timeout_ms,
                heartbeat_interval_ms=max(200, settings.session_timeout_ms // 6),
                max_poll_interval_ms=max(90_000, settings.session_timeout_ms),
                partition_assignment_strategy="cooperative-sticky",
                enable_partition_eof=True,
                fetch_wait_max_ms=20,
                queued_max_messages_kbytes=65_536,
            )
        )
        consumer.subscribe(
            [self._events_topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )
        while not self._service._stopping.is_set():
            messages = consumer.consume(_CONSUME, _WAIT_S)
            self._raise_failure()
            urgent = self._fold(messages)
            self._advance()
            self._commit_if_due(urgent=urgent)
        self._commit(mark=True)

    def close(self) -> None:
        """Gives everything back. Never raises."""
        # The states go first: closing the consumer revokes its partitions, and a state whose changes were aborted must
        # not be committed then.
        self._states.clear()
        if self._transactor is not None:
            self._transactor.abort()
            self._transactor = None
        if self._consumer is not None:
            try:
                self._consumer.close()
            except (KafkaException, RuntimeError) as error:
                logger.warning("ledger consumer did not close cleanly: %s", error)

    # Rebalances. Called inside consume(); exceptions are kept for the loop.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            wanted = [partition.partition for partition in partitions]
            if wanted:
                recovered = recover(
                    self._settings.bootstrap, self._admin, self._ledger_topic, wanted, _RECOVERY_TIMEOUT_S, self._fence
                )
                for partition, (state, head) in recovered.items():
                    self._states[partition] = state
                    logger.info(
                        "partition %d: %d cells, %d emitters, continuing at %d",
                        partition, len(state.cells), len(state.emitters), state.next_offset if head else 0,
                    )  # fmt: skip
            consumer.incremental_assign(
                [TopicPartition(self._events_topic, p, self._states[p].next_offset) for p in wanted]
            )
            self._service._reason = ""
            # A new owner publishes at once what its predecessor may not have.
            self._marked_at = 0.0
        except Exception as error:
            self._failure = error

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            self._commit(mark=False)
        except Exception as error:
            self._failure = error
        self._drop(partitions)
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Somebody else may own them already. What is folded and not committed must not be.
        self._drop(partitions)
        self._failure = self._failure or _PartitionsLost()
        consumer.incremental_unassign(partitions)

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._states.pop(partition.partition, None)
            self._frontier.forget(partition.partition)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _fence(self, head: bytes | None) -> None:
        if head is None:
            return
        _, known = restore(0, {HEAD: head})
        if known is not None and known.writer != self._settings.transactional_id:
            logger.warning("the previous owner %s left a transaction open; it is fenced", known.writer)
            fence_writer(self._settings.bootstrap, known.writer, self._settings.transaction_timeout_ms)

    # Reading and folding.

    def _fold(self, messages: list[Message]) -> bool:
        service, states, rules, intake = self._service, self._states, self._rules, self._intake
        for message in messages:
            error = message.error()
            if error is not None:
                self._on_error(error, message)
                continue
            partition, offset = message.partition(), message.offset()
            state = states.get(partition) if partition is not None else None
            if state is None or offset is None:
                continue
            if offset < state.next_offset:
                raise LogRewound(self._events_topic, state.partition, offset, state.next_offset)
            arrival = message.timestamp()[1] * 1000
            key, value = message.key(), message.value()
            service._records += 1
            try:
                batch = intake.read(key, value)
            except DecodeError as refused:
                service._quarantined += 1
                entry = _quarantine_entry(self._events_topic, state.partition, offset, arrival, key, value, refused)
                try:
                    fold_unreadable(state, rules, offset, arrival, entry)
                except QuarantineFlood:
                    # What was folded before stands.
                    state.next_offset = offset
                    self._commit(mark=False)
                    raise
                continue
            service._events += fold_batch(state, rules, offset, arrival, batch)
        return any(state.touched.urgent for state in states.values())

    def _on_error(self, error: KafkaError, message: Message) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            partition = message.partition()
            state = None if partition is None else self._states.get(partition)
            if state is not None and (end := message.offset() or 0) > state.next_offset:
                # Only transaction markers stand between; they hold no batches.
                state.next_offset = end
        elif error.fatal() or not (error.retriable() or error.code() in _TRANSIENT):
            raise KafkaException(error)

    def _advance(self) -> None:
        now = time.monotonic()
        self._frontier.collect()
        if now - self._asked_at >= min(0.5, self._settings.snapshot_ms / 2000):
            self._frontier.ask({partition: state.next_offset for partition, state in self._states.items()})
            self._asked_at = now
        for partition, state in self._states.items():
            rewound = self._frontier.rewound.get(partition)
            if rewound is not None:
                raise LogRewound(self._events_topic, partition, *rewound)
            through = self._frontier.reached(partition, state.next_offset)
            if through is not None:
                advance(state, self._rules, through)

    # Committing.

    def _commit_if_due(self, *, urgent: bool) -> None:
        now = time.monotonic()
        mark = now - self._marked_at >= self._settings.snapshot_ms / 1000
        pending = any(state.touched.emitters or state.touched.quarantined for state in self._states.values())
        if pending and self._opened_at is None:
            self._opened_at = now
        aged = self._opened_at is not None and now - self._opened_at >= self._settings.transaction_ms / 1000
        if urgent or mark or aged:
            self._commit(mark=mark)

    def _commit(self, *, mark: bool) -> None:
        transactor, consumer = self._transactor, self._consumer
        if transactor is None or consumer is None or not self._states:
            return
        offsets = []
        for state in self._states.values():
            if not mark and state.committed_offset == state.next_offset and not state.touched.urgent:
                continue
            touched = state.take_touched()
            for record in self._outputs.records(state, touched, mark=mark):
                transactor.send(record)
            offsets.append(TopicPartition(self._events_topic, state.partition, state.next_offset))
            state.committed_offset = state.next_offset
        transactor.commit(consumer, offsets)
        now = time.monotonic()
        self._opened_at = None
        if mark:
            self._marked_at = now
        self._service._transactions += 1
        self._service._moved_at = now


class _PartitionsLost(Exception):
    """The group gave partitions away while this worker did not answer; it starts anew."""

    def __init__(self) -> None:
        super().__init__("partitions were given to another worker while this one did not answer")


_TRANSIENT = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError._MAX_POLL_EXCEEDED,
}
_HOPELESS_CODES = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError.FENCED_INSTANCE_ID,
}


def _is_hopeless(error: BaseException) -> bool:
    cause: Any = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return isinstance(cause, KafkaError) and cause.code() in _HOPELESS_CODES


def _quarantine_entry(
    topic: str, partition: int, offset: int, arrival: int, key: Any, value: Any, refused: DecodeError
) -> dict[str, Any]:
    """Where the record stands and why it was refused. Nothing of its text: it may hold anything."""
    data = bytes(value or b"")
    name = None
    if key:
        text = bytes(key).decode("ascii", "replace")
        name = text if is_token(text) else "sha256-" + hashlib.sha256(bytes(key)).hexdigest()[:32]
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "broker_time": arrival,
        "reason": refused.reason.value,
        "size": len(data),
        "digest": hashlib.sha256(data).hexdigest(),
        "fingerprint": refused.fingerprint,
        "key": name,
    }
