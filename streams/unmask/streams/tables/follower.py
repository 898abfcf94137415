"""A follower: reads whole topics in a thread of its own, from a point in time on, and goes on reading."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from unmask.schemas.kafka import consumer_config

__all__ = ["Followed", "TopicFollower"]

_BATCH = 1000
_POLL_S = 0.2
_QUESTION_S = 30.0
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Followed:
    """A partition that is followed, from a time in milliseconds on; None: from its beginning."""

    topic: str
    partition: int
    since_ms: int | None = None


class TopicFollower:
    """Hands every message of some partitions to a handler, in the follower's thread, batch by batch.

    `caught_up` is set once every partition has been read to the end that it had at the start.
    """

    def __init__(
        self, name: str, bootstrap: str, followed: list[Followed], on_batch: Callable[[list[Any]], None]
    ) -> None:
        self._name = name
        self._bootstrap = bootstrap
        self._followed = followed
        self._on_batch = on_batch
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"unmask-{name}", daemon=True)
        self.caught_up = threading.Event()
        self.error: BaseException | None = None

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Ends the thread."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            self._follow()
        except Exception as error:
            # Whoever started it asks for `error` and ends the process.
            self.error = error
            _logger.exception("the %s follower ended", self._name)

    def _follow(self) -> None:
        consumer = Consumer(
            consumer_config(f"unmask-{self._name}", self._bootstrap, enable_partition_eof=True, fetch_wait_max_ms=100)
        )
        try:
            spans = [_span(consumer, one) for one in self._followed]
            behind = {(start.topic, start.partition) for start, end in spans if start.offset < end}
            consumer.assign([start for start, _ in spans])
            while not self._stopping.is_set():
                messages = consumer.consume(_BATCH, _POLL_S)
                data = [message for message in messages if message.error() is None]
                if data:
                    self._on_batch(data)
                for message in messages:
                    error = message.error()
                    if error is None:
                        continue
                    if error.code() == KafkaError._PARTITION_EOF:
                        behind.discard((message.topic(), message.partition()))
                    elif error.fatal() or not error.retriable():
                        raise KafkaException(error)
                if not behind:
                    self.caught_up.set()
        finally:
            consumer.close()


def _span(consumer: Consumer, followed: Followed) -> tuple[TopicPartition, int]:
    """Where to begin, and the end as it is now."""
    place = TopicPartition(followed.topic, followed.partition)
    start, end = consumer.get_watermark_offsets(place, timeout=_QUESTION_S)
    if followed.since_ms is not None and start < end:
        asked = TopicPartition(followed.topic, followed.partition, followed.since_ms)
        found = consumer.offsets_for_times([asked], timeout=_QUESTION_S)[0].offset
        start = end if found < 0 else max(start, found)
    return TopicPartition(followed.topic, followed.partition, start), end
