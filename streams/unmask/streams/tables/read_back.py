"""Reading back: what stands in a table partition's topics, read to the end before anything is published.

Done by a short-lived client of its own, which reads some ten times faster than Faust does, sees committed records
only, and loses none around a rebalance; Faust goes on where it ended.
"""

import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from unmask.schemas.kafka import consumer_config
from unmask.schemas.topics import Topics
from unmask.streams.tables.errors import ReadBackTimeout
from unmask.streams.tables.flow import INPUTS, OUTPUTS, Source, topic_names
from unmask.streams.tables.partition import TablePartition

__all__ = ["ReadBack"]

_BATCH = 1000
_POLL_S = 0.2
_QUESTION_S = 30.0


class ReadBack:
    """Reads table partitions back. Blocking; runs in a thread."""

    def __init__(self, bootstrap: str, topics: Topics, *, windows_since_ms: int, patience_s: float) -> None:
        self._bootstrap = bootstrap
        self._names = topic_names(topics)
        self._sources = {name: source for source, name in self._names.items()}
        self._windows_since_ms = windows_since_ms
        self._patience_s = patience_s
        self.records = 0

    def run(
        self, partitions: Mapping[int, TablePartition], cancelled: threading.Event
    ) -> dict[tuple[str, int], int] | None:
        """Reads all topics of the partitions to their ends, and returns these; None when cancelled.

        Outputs come first: what stands on them rests on inputs that are then read further than its writer had read.
        Raises ReadBackTimeout.
        """
        consumer = Consumer(
            # A broker that holds an empty answer back for its usual 500 ms would make many empty partitions slow.
            consumer_config("unmask-read-back", self._bootstrap, enable_partition_eof=True, fetch_wait_max_ms=20)
        )
        ends: dict[tuple[str, int], int] = {}
        try:
            for phase in (OUTPUTS, INPUTS):
                wanted = []
                for source in phase:
                    for partition in partitions.values():
                        start, end = self._span(consumer, source, partition)
                        if start.offset < end:
                            wanted.append(start)
                        else:
                            ends[start.topic, start.partition] = end
                if not self._drain(consumer, wanted, partitions, cancelled, ends):
                    return None
        finally:
            consumer.close()
        for partition in partitions.values():
            partition.read_back_done()
        return ends

    def _span(self, consumer: Consumer, source: Source, partition: TablePartition) -> tuple[TopicPartition, int]:
        """Where to begin, as an offset that needs no further question, and the end as it is now."""
        name, number = self._names[source], partition.partition
        low, high = consumer.get_watermark_offsets(TopicPartition(name, number), timeout=_QUESTION_S)
        start = max(low, partition.position(source))
        if source is Source.WINDOWS and start < high:
            # Windows that are still kept were published after they began; older records are nobody's concern here.
            asked = TopicPartition(name, number, self._windows_since_ms)
            found = consumer.offsets_for_times([asked], timeout=_QUESTION_S)[0].offset
            start = high if found < 0 else max(start, found)
        return TopicPartition(name, number, start), high

    def _drain(
        self,
        consumer: Consumer,
        wanted: list[TopicPartition],
        partitions: Mapping[int, TablePartition],
        cancelled: threading.Event,
        ends: dict[tuple[str, int], int],
    ) -> bool:
        missing = {(tp.topic, tp.partition) for tp in wanted}
        consumer.assign(wanted)
        moved = time.monotonic()
        while missing:
            if cancelled.is_set():
                return False
            messages = consumer.consume(_BATCH, _POLL_S)
            if messages:
                moved = time.monotonic()
            elif time.monotonic() - moved > self._patience_s:
                raise ReadBackTimeout(sorted(f"{topic}/{number}" for topic, number in missing), self._patience_s)
            for message in messages:
                place = self._take(message, partitions)
                if place is not None:
                    missing.discard(place)
                    ends[place] = message.offset() or 0
        return True

    def _take(self, message: Any, partitions: Mapping[int, TablePartition]) -> tuple[str, int] | None:
        """Takes a message in; for one that says that an end was reached, whose end it was."""
        place = (message.topic(), message.partition())
        error = message.error()
        if error is None:
            self.records += 1
            partitions[place[1]].apply(self._sources[place[0]], message.key(), message.value(), message.offset())
            return None
        if error.code() == KafkaError._PARTITION_EOF:
            return place
        if error.fatal() or not error.retriable():
            raise KafkaException(error)
        return None
