"""The frontier: up to which broker time a partition has been read completely.

Asks for the end offsets of all assigned partitions at a known broker time; once a partition has been read to the end
that stood there, everything up to that time has been read.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.log_end import ask_log_ends

__all__ = ["Frontier"]

_TIMEOUT_S = 5.0
_REWOUND_AFTER = 2  # one answer may come from a replica that is still catching up


class Frontier:
    """Keeps one question about the log's end under way and the answers that are still to be reached."""

    def __init__(
        self, admin: AdminClient, topic: str, clock: BrokerClock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._admin = admin
        self._topic = topic
        self._clock = clock
        self._monotonic = monotonic
        self._asked: tuple[int, dict[TopicPartition, Future[Any]], dict[int, int]] | None = None
        self._targets: dict[int, tuple[int, int]] = {}
        self._short: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        """Newest known end offset per partition."""
        self.rewound: dict[int, tuple[int, int]] = {}
        """Partitions whose log ended, time and again, below what had been read of it when asked: end and position."""
        self.answered_at = monotonic()
        """When the broker last told an end; monotonic seconds."""

    def ask(self, positions: dict[int, int]) -> None:
        """Asks where the log ends now, unless a question is still under way or the broker's time is not known.

        `positions` has the position of every assigned partition.
        """
        if not positions:
            # Nothing to ask for is no silence of the broker's.
            self.answered_at = self._monotonic()
            return
        now = self._clock.now()
        if self._asked is not None or now is None:
            return
        self._asked = (now, ask_log_ends(self._admin, self._topic, positions, _TIMEOUT_S), positions)

    def collect(self) -> None:
        """Takes the answers in, if they have come. A failed question is forgotten and asked again later."""
        if self._asked is None or not all(future.done() for future in self._asked[1].values()):
            return
        asked_at, futures, positions = self._asked
        self._asked = None
        for target, future in futures.items():
            if future.exception() is not None:
                continue
            partition, end = target.partition, int(future.result().offset)
            if end < 0:
                # The client's way of saying that the partition has no leader just now.
                continue
            self.answered_at = self._monotonic()
            self.ends[partition] = end
            self._compare(partition, end, positions[partition])
            # An older target that is not reached yet stays: under steady load the newest end is never reached.
            self._targets.setdefault(partition, (end, asked_at))

    def _compare(self, partition: int, end: int, position: int) -> None:
        if end >= position:
            self._short.pop(partition, None)
            return
        self._short[partition] = self._short.get(partition, 0) + 1
        if self._short[partition] >= _REWOUND_AFTER:
            self.rewound[partition] = (end, position)

    def reached(self, partition: int, position: int) -> int | None:
        """The broker time up to which the partition has been read, given its position; None when nothing new."""
        target = self._targets.get(partition)
        if target is None or position < target[0]:
            return None
        del self._targets[partition]
        return target[1]

    def forget(self, partition: int) -> None:
        """The partition is no longer ours."""
        for known in (self._targets, self._short, self.ends, self.rewound):
            known.pop(partition, None)
