"""Logs: topics that hold a workload, written in one transaction, so that all of it becomes visible at one moment."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from benchmarks.compare.encoding import Encoded
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from unmask.schemas.kafka import consumer_config, producer_config

__all__ = ["HeldBack", "create", "delete", "read_values", "write"]

_CHUNK = 20_000


def create(bootstrap: str, *names: str, partitions: int) -> None:
    """Creates topics with the broker's defaults."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        future.result()


def delete(bootstrap: str, part: str) -> None:
    """Deletes every topic whose name has `part` in it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = [name for name in admin.list_topics(timeout=10).topics if part in name]
    if names:
        for future in admin.delete_topics(names).values():
            future.result()


class HeldBack:
    """A log that is written, and that readers of committed records see when `release` is called."""

    def __init__(self, bootstrap: str, topic: str, records: Iterable[Encoded], *, compression: str = "lz4") -> None:
        self.records: Counter[int] = Counter()
        """Per partition."""
        self._producer = Producer(
            producer_config(
                bootstrap,
                transactional_id=f"bench.{topic}",
                transaction_timeout_ms=900_000,
                linger_ms=20,
                compression_type=compression,
                batch_size=262_144,
                queue_buffering_max_messages=500_000,
            )
        )
        self._producer.init_transactions(30)
        self._producer.begin_transaction()
        for number, record in enumerate(records):
            if number % _CHUNK == 0:
                while len(self._producer) > 10 * _CHUNK:
                    self._producer.poll(0.05)
            self.records[record.partition] += 1
            # The time is the broker's where the topic says so; elsewhere frameworks read event time from it.
            self._producer.produce(topic, record.value, record.key, record.partition, timestamp=record.timestamp_ms)
        left = self._producer.flush(120)
        if left:
            raise RuntimeError(f"the broker did not take {left} records of {topic} within 120 s")

    def release(self) -> float:
        """Makes all records visible. Returns when, in seconds since the epoch."""
        now = time.time()
        self._producer.commit_transaction(30)
        return now


def write(bootstrap: str, topic: str, records: Iterable[Encoded], *, compression: str = "lz4") -> None:
    """Writes a log that is visible at once."""
    HeldBack(bootstrap, topic, records, compression=compression).release()


def read_values(bootstrap: str, topic: str, partitions: int) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Key and value of all records of a topic, to the end that it has now."""
    with _reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        # A partition that grows meanwhile tells of its end more than once.
        ended: set[int | None] = set()
        while len(ended) < partitions:
            for message in consumer.consume(5000, 0.2):
                error = message.error()
                if error is None:
                    yield message.key(), message.value()
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())


@contextmanager
def _reader(bootstrap: str) -> Iterator[Consumer]:
    consumer = Consumer(consumer_config("bench-reader", bootstrap=bootstrap, enable_partition_eof=True))
    try:
        yield consumer
    finally:
        consumer.close()
