"""Recovery: reads partitions' states back from the compacted topic of a ledger."""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.kafka import consumer_config
from unmask.streams.ledger.log_end import log_ends
from unmask.streams.ledger.pieces import HEAD, Head, read_head, restore
from unmask.streams.ledger.state import PartitionState

__all__ = ["Recovered", "RecoveryTimeout", "read_pieces", "recover"]

Recovered = dict[int, tuple[PartitionState, Head | None]]
_STUCK_S = 1.5  # a commit under way ends in milliseconds; what stands for longer was left behind
_ASK_TIMEOUT_S = 10.0
_PEEK_TIMEOUT_S = 5.0


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
    bootstrap: str, admin: AdminClient, topic: str, partitions: list[int], timeout: float, fence: Callable[[str], None]
) -> Recovered:
    """The states of partitions; see read_pieces. Raises RecoveryTimeout, KafkaException, LedgerStateUnreadable."""
    pieces = read_pieces(bootstrap, admin, topic, partitions, timeout, fence, lambda head: read_head(head).writer)
    return {partition: restore(partition, pieces[partition]) for partition in partitions}


def read_pieces(
    bootstrap: str, admin: AdminClient, topic: str, partitions: list[int], timeout: float,
    fence: Callable[[str], None], writer_of: Callable[[bytes], str],
) -> dict[int, dict[bytes, bytes]]:  # fmt: skip
    """The newest pieces of partitions' states, by key. Raises RecoveryTimeout, KafkaException, what `writer_of` does.

    Reads committed records to the end that any record has, committed or not: as long as a transaction of the previous
    owner is open, it may still be committed, and a state without it would count its batches twice. Where that holds
    recovery back, the previous owner is dead or paused; `fence` gets the transactional id that the open transaction
    names in its head, from which `writer_of` takes it.
    """
    deadline = time.monotonic() + timeout
    ends = log_ends(admin, topic, partitions, _ASK_TIMEOUT_S)
    positions = dict.fromkeys(partitions, 0)
    pieces: dict[int, dict[bytes, bytes]] = {partition: {} for partition in partitions}
    consumer = _reader(bootstrap, topic, "read_committed")
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        moved_at = time.monotonic()
        while missing := {p: (positions[p], ends[p]) for p in partitions if positions[p] < ends[p]}:
            if time.monotonic() > deadline:
                raise RecoveryTimeout(topic, missing)
            if time.monotonic() - moved_at > _STUCK_S:
                for partition, (position, end) in missing.items():
                    if (writer := _open_writer(bootstrap, topic, partition, position, end, writer_of)) is not None:
                        fence(writer)
                moved_at = time.monotonic()
            if _read(consumer, positions, pieces):
                moved_at = time.monotonic()
    finally:
        consumer.close()
    return pieces


def _reader(bootstrap: str, topic: str, isolation: str) -> Consumer:
    return Consumer(
        consumer_config(
            f"{topic}.recovery",
            bootstrap=bootstrap,
            isolation_level=isolation,
            enable_partition_eof=True,
            fetch_wait_max_ms=50,
        )
    )


def _read(consumer: Consumer, positions: dict[int, int], pieces: dict[int, dict[bytes, bytes]]) -> bool:
    """Takes in what has come. Returns whether any partition's position moved."""
    moved = False
    for message in consumer.consume(5000, 0.05):
        partition, error = message.partition(), message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            if error.fatal() or not error.retriable():
                raise KafkaException(error)
            continue
        if partition is None:
            continue
        # A partition's end may be the marker of a transaction, which is no record.
        position = (message.offset() or 0) + (error is None)
        moved = moved or position > positions[partition]
        positions[partition] = max(positions[partition], position)
        key, value = message.key(), message.value()
        if error is not None or key is None:
            continue
        if value is None:
            pieces[partition].pop(key, None)
        else:
            pieces[partition][key] = value
    return moved


def _open_writer(
    bootstrap: str, topic: str, partition: int, position: int, end: int, writer_of: Callable[[bytes], str]
) -> str | None:
    """Whose transaction stands open between a position and the end: each begins with a head, and that names him."""
    consumer = _reader(bootstrap, topic, "read_uncommitted")
    try:
        consumer.assign([TopicPartition(topic, partition, position)])
        deadline = time.monotonic() + _PEEK_TIMEOUT_S
        writer = None
        while position < end and time.monotonic() < deadline:
            for message in consumer.consume(5000, 0.05):
                error = message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    continue
                position = max(position, (message.offset() or 0) + (error is None))
                value = message.value()
                if error is None and message.key() == HEAD and value is not None:
                    writer = writer_of(value)
        return writer
    finally:
        consumer.close()
