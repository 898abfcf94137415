"""The transactor: one Kafka transaction at a time over everything that a worker publishes and consumes."""

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from unmask.schemas.kafka import producer_config
from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.outputs import Record

__all__ = ["Transactor", "fence_writer"]

_INIT_TIMEOUT_S = 30.0
_COMMIT_TIMEOUT_S = 15.0


def _config(bootstrap: str, transactional_id: str, timeout_ms: int) -> dict[str, object]:
    return producer_config(
        bootstrap,
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        linger_ms=0,
        queue_buffering_max_messages=500_000,
        queue_buffering_max_kbytes=262_144,
    )


def fence_writer(bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
    """Ends whatever transaction the writer of that id left open, and fences it. Raises KafkaException."""
    Producer(_config(bootstrap, transactional_id, timeout_ms)).init_transactions(_INIT_TIMEOUT_S)


class Transactor:
    """A transactional producer. After any error it is of no further use: abort, drop all state, make a new one."""

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int, clock: BrokerClock, ledger: str) -> None:
        self._clock = clock
        self._ledger = ledger
        self._producer = Producer(_config(bootstrap, transactional_id, timeout_ms))
        self._producer.init_transactions(_INIT_TIMEOUT_S)
        self._open = False

    def send(self, record: Record) -> None:
        """Adds a record to the transaction, which begins with the first. Raises KafkaException, BufferError."""
        if not self._open:
            self._producer.begin_transaction()
            self._open = True
        # Records of the ledger topic carry the broker's append time back.
        report = self._on_ledger if record.topic == self._ledger and record.key == b"h" else None
        for _ in range(600):
            try:
                self._produce(record, report)
                return
            except BufferError:
                self._producer.poll(0.05)
        raise BufferError("the producer's queue stayed full for 30 s; the broker does not take the ledger's records")

    def _produce(self, record: Record, report: object) -> None:
        if report is None:
            self._producer.produce(record.topic, record.value, record.key, record.partition)
        else:
            self._producer.produce(
                record.topic, record.value, record.key, record.partition, on_delivery=self._on_ledger
            )

    def commit(self, consumer: Consumer, offsets: list[TopicPartition]) -> None:
        """Commits the transaction with the consumer's offsets. Raises KafkaException."""
        if not self._open:
            return
        self._producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), _COMMIT_TIMEOUT_S)
        deadline = time.monotonic() + _COMMIT_TIMEOUT_S
        while True:
            try:
                self._producer.commit_transaction(_COMMIT_TIMEOUT_S)
                break
            except KafkaException as error:
                # A retriable failure leaves the outcome open; only asking again tells it.
                cause = error.args[0]
                if not isinstance(cause, KafkaError) or not cause.retriable() or time.monotonic() > deadline:
                    raise
        self._open = False
        self._producer.poll(0)

    def abort(self) -> None:
        """Aborts what is open, as far as the broker can be told; otherwise its timeout does."""
        if not self._open:
            return
        self._open = False
        try:
            self._producer.abort_transaction(5.0)
        except KafkaException:
            # Fenced or unreachable: the broker ends it by itself, and this producer is not used again.
            return

    def _on_ledger(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            _, append_ms = message.timestamp()
            self._clock.observe(append_ms)
