"""Where the request log ends: how much is waiting, and whether the broker answers at all."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.streams.ledger.log_end import ask_log_ends

__all__ = ["LogWatch"]

_EVERY_S = 1.0
_TIMEOUT_S = 5.0


class LogWatch:
    """Keeps one question about the log's ends under way."""

    def __init__(self, admin: AdminClient, topic: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._admin = admin
        self._topic = topic
        self._monotonic = monotonic
        self._asked: dict[TopicPartition, Future[Any]] | None = None
        self._asked_at = -_EVERY_S
        self.ends: dict[int, int] = {}
        """Newest known end offset per partition."""
        self.answered_at = monotonic()
        """When the broker last told an end; monotonic seconds."""

    def look(self, partitions: list[int]) -> None:
        """Takes answers in, and asks again where it is time. Never waits."""
        now = self._monotonic()
        if not partitions:
            # Nothing to ask for is no silence of the broker's.
            self.answered_at = now
            return
        if self._asked is not None and all(future.done() for future in self._asked.values()):
            for target, future in self._asked.items():
                if future.exception() is None and (end := int(future.result().offset)) >= 0:
                    self.ends[target.partition] = end
                    self.answered_at = now
            self._asked = None
        if self._asked is None and now - self._asked_at >= _EVERY_S:
            self._asked_at = now
            self._asked = ask_log_ends(self._admin, self._topic, partitions, _TIMEOUT_S)

    def forget(self, partition: int) -> None:
        """The partition is no longer ours."""
        self.ends.pop(partition, None)
