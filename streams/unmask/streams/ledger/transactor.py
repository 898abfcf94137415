"""The transactor: one Kafka transaction at a time over everything that a worker publishes and consumes."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from unmask.schemas.kafka import producer_config
from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.outputs import Record
from unmask.streams.ledger.pieces import HEAD

__all__ = ["Transactor", "fence_writer"]
_Answer = TypeVar("_Answer")
_INIT_TIMEOUT_S = 30.0
_COMMIT_TIMEOUT_S = 15.0
_ABORT_TIMEOUT_S = 5.0
_FULL_S = 30.0
_AGAIN_S = 0.02
_GENERATION_S = 3.0
_OFFSETS_TIMEOUT_S = 7.0
_NEW_GENERATION = {KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS}


def _config(bootstrap: str, transactional_id: str, timeout_ms: int) -> dict[str, object]:
    return producer_config(
        bootstrap,
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        # Every transaction is flushed at its end: then each partition gets its records in one request.
        linger_ms=100,
        # With several under way, a partition's new leader that knows nothing of this writer could refuse the first and
        # take the second; the client would report both as delivered (confluentinc/confluent-kafka-go#921).
        max_in_flight_requests_per_connection=1,
        queue_buffering_max_messages=500_000,
        queue_buffering_max_kbytes=262_144,
    )


def fence_writer(bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
    """Ends whatever transaction the writer of that id left open, and fences it. Raises KafkaException."""
    Producer(_config(bootstrap, transactional_id, timeout_ms)).init_transactions(_INIT_TIMEOUT_S)


def _unwrapped(call: Callable[[float], _Answer], timeout: float) -> _Answer:
    """Makes a call that serves callbacks. The client raises a fatal error among them, and the next one wraps it up."""
    try:
        return call(timeout)
    except SystemError as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        raise


class Transactor:
    """A transactional producer. After any error it is of no further use: abort, drop all state, make a new one."""

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int, clock: BrokerClock, ledger: str) -> None:
        self._clock = clock
        self._ledger = ledger
        self._open = self._stuck = False
        self._producer = Producer(_config(bootstrap, transactional_id, timeout_ms))
        # On a fresh cluster this takes seconds, in which the consumer can already join its group.
        self._refused: KafkaException | None = None
        self._starting: threading.Thread | None = threading.Thread(target=self._start, daemon=True)
        self._starting.start()

    def _start(self) -> None:
        try:
            self._producer.init_transactions(_INIT_TIMEOUT_S)
        except KafkaException as error:
            self._refused = error

    def _await_start(self) -> None:
        if self._starting is not None:
            self._starting.join()
            self._starting = None
        if self._refused is not None:
            raise self._refused

    def commit(
        self, records: Iterable[Record], offsets: list[TopicPartition], membership: Callable[[], object]
    ) -> None:
        """Commits the records together with the consumed offsets, as one transaction, on behalf of a group's member.

        Raises KafkaException, BufferError.
        """
        sent = list(records)
        self._await_start()
        deadline = time.monotonic() + _GENERATION_S
        while True:
            try:
                self._producer.begin_transaction()
                self._open = True
                self._send(sent)
                self._hand_over(offsets, membership())
                break
            except KafkaException as error:
                # The group has begun a new generation, and this member learns of it a moment later. The partitions
                # are still its own: it is asked to give one back before another gets it.
                if error.args[0].code() not in _NEW_GENERATION or time.monotonic() > deadline:
                    raise
                _unwrapped(self._producer.abort_transaction, _ABORT_TIMEOUT_S)
                self._open = False
                time.sleep(_AGAIN_S)
        self._end()

    def _send(self, records: list[Record]) -> None:
        for record in records:
            self._produce(record)
        # Everything must stand in the log before the group is asked. Once the group has moved on it refuses; so all of
        # a transaction that can still be committed stood there when a new owner of a partition asked for the end. With
        # records under way meanwhile, he would read the half of it that had arrived.
        if _unwrapped(self._producer.flush, _COMMIT_TIMEOUT_S):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the broker did not take a transaction's records"))

    def _produce(self, record: Record) -> None:
        # The broker stamps the ledger's topic: a head's acknowledgement carries its time back.
        tells = record.key == HEAD and record.topic == self._ledger
        deadline = 0.0
        while True:
            try:
                if tells:
                    self._producer.produce(
                        record.topic, record.value, record.key, record.partition, on_delivery=self._on_head
                    )
                else:
                    self._producer.produce(record.topic, record.value, record.key, record.partition)
                return
            except BufferError as error:
                deadline = deadline or time.monotonic() + _FULL_S
                if time.monotonic() > deadline:
                    raise BufferError(
                        f"the producer's queue stayed full for {_FULL_S:.0f} s; the broker does not take the ledger's "
                        f"records"
                    ) from error
                self._producer.poll(0.05)

    def _hand_over(self, offsets: list[TopicPartition], member: object) -> None:
        """Adds the consumed offsets to the transaction, in a thread of its own.

        The client's call keeps no timeout while the group's coordinator is away, and may never return
        (confluentinc/librdkafka#5456). Left alone it does no harm: only this transactor could commit.
        """
        failures: list[BaseException] = []

        def hand_over() -> None:
            try:
                self._producer.send_offsets_to_transaction(offsets, member, _OFFSETS_TIMEOUT_S)
            except BaseException as error:
                failures.append(error)

        call = threading.Thread(target=hand_over, name="unmask-ledger-offsets", daemon=True)
        call.start()
        call.join(_OFFSETS_TIMEOUT_S + 1.0)
        if call.is_alive():
            self._stuck = True
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the group's coordinator did not take the offsets"))
        if failures:
            raise failures[0]

    def _end(self) -> None:
        deadline = time.monotonic() + _COMMIT_TIMEOUT_S
        while True:
            try:
                _unwrapped(self._producer.commit_transaction, _COMMIT_TIMEOUT_S)
                break
            except KafkaException as error:
                # A retriable failure leaves the outcome open; only asking again tells it.
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise
        self._open = False
        self._producer.poll(0)

    def abort(self) -> None:
        """Aborts what is open, as far as the broker can be told; otherwise its timeout does."""
        if self._starting is not None:
            # It must not begin to start later and fence its successor.
            self._starting.join()
            self._starting = None
        if not self._open or self._stuck:
            # A client that hangs in a call takes no other; the next start under its name ends the transaction.
            return
        self._open = False
        try:
            _unwrapped(self._producer.abort_transaction, _ABORT_TIMEOUT_S)
        except Exception:
            # Fenced or unreachable: the broker ends it by itself, and this producer is not used again.
            return

    def _on_head(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            _, append_ms = message.timestamp()
            self._clock.observe(append_ms)
