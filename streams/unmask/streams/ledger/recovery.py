"""Recovery: reads partitions' states back from the compacted ledger topic."""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.kafka import consumer_config
from unmask.streams.ledger.log_end import ask_log_ends
from unmask.streams.ledger.pieces import HEAD, Head, restore
from unmask.streams.ledger.state import PartitionState

__all__ = ["Recovered", "RecoveryTimeout", "recover"]

Recovered = dict[int, tuple[PartitionState, Head | None]]
_STUCK_S = 3.0


class RecoveryTimeout(Exception):
    """The ledger's state could not be read to its end in time.

    Another worker's transaction may still be open on it; it ends by itself within the transaction timeout, and the
    worker tries again.
    """

    def __init__(self, topic: str, missing: dict[int, tuple[int, int]]) -> None:
        stands = ", ".join(f"partition {p} at {position} of {end}" for p, (position, end) in sorted(missing.items()))
        super().__init__(
            f"{topic} was not read to its end in time ({stands}); an open transaction of another worker may "
            f"hold it back. It is tried again"
        )


def recover(
    bootstrap: str,
    admin: AdminClient,
    topic: str,
    partitions: list[int],
    timeout: float,
    fence: Callable[[bytes | None], None],
) -> Recovered:
    """The states of partitions. Raises RecoveryTimeout, KafkaException, LedgerStateUnreadable.

    Reads committed records to the end that any record has, committed or not: as long as a transaction of the previous
    owner is open, it may still be committed, and a state without it would count its batches twice. Where that holds
    recovery back for seconds, the previous owner is dead or paused; `fence` gets the head that it wrote last.
    """
    deadline = time.monotonic() + timeout
    answers = ask_log_ends(admin, topic, partitions, 10.0)
    ends = {target.partition: future.result(timeout=10.0).offset for target, future in answers.items()}
    positions = dict.fromkeys(partitions, 0)
    pieces: dict[int, dict[bytes, bytes]] = {partition: {} for partition in partitions}
    consumer = Consumer(
        consumer_config(
            f"{topic}.recovery",
            bootstrap=bootstrap,
            isolation_level="read_committed",
            enable_partition_eof=True,
            fetch_wait_max_ms=50,
        )
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        moved_at = time.monotonic()
        while missing := {p: (positions[p], ends[p]) for p in partitions if positions[p] < ends[p]}:
            now = time.monotonic()
            if now > deadline:
                raise RecoveryTimeout(topic, missing)
            if now - moved_at > _STUCK_S:
                for partition in missing:
                    fence(pieces[partition].get(HEAD))
                moved_at = time.monotonic()
            if _read(consumer, positions, pieces):
                moved_at = time.monotonic()
    finally:
        consumer.close()
    return {partition: restore(partition, pieces[partition]) for partition in partitions}


def _read(consumer: Consumer, positions: dict[int, int], pieces: dict[int, dict[bytes, bytes]]) -> bool:
    moved = False
    for message in consumer.consume(5000, 0.05):
        partition, error = message.partition(), message.error()
        if partition is None:
            continue
        if error is None:
            moved = True
            positions[partition] = (message.offset() or 0) + 1
            key, value = message.key(), message.value()
            if key is None:
                continue
            if value is None:
                pieces[partition].pop(bytes(key), None)
            else:
                pieces[partition][bytes(key)] = bytes(value)
        elif error.code() == KafkaError._PARTITION_EOF:
            end = message.offset() or 0
            moved = moved or end > positions[partition]
            positions[partition] = max(positions[partition], end)
        elif error.fatal() or not error.retriable():
            raise KafkaException(error)
    return moved
