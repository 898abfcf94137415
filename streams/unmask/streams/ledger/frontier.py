"""The frontier: up to which broker time a partition has been read completely.

Asks for the end offsets of all assigned partitions at a known broker time; once a partition has been read to the end
that stood there, everything up to that time has been read.
"""

from concurrent.futures import Future
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.log_end import ask_log_ends

__all__ = ["Frontier"]


class Frontier:
    """Keeps one question about the log's end under way and the answers that are still to be reached."""

    def __init__(self, admin: AdminClient, topic: str, clock: BrokerClock) -> None:
        self._admin = admin
        self._topic = topic
        self._clock = clock
        self._asked: tuple[int, dict[TopicPartition, Future[Any]], dict[int, int]] | None = None
        self._targets: dict[int, tuple[int, int]] = {}
        self.ends: dict[int, int] = {}
        """Newest known end offset per partition."""
        self.rewound: dict[int, tuple[int, int]] = {}
        """Partitions whose log ended below what had been read of it when asked: end and position."""

    def ask(self, positions: dict[int, int]) -> None:
        """Asks where the log ends now, unless a question is still under way or the broker's time is not known.

        `positions` has the position of every assigned partition.
        """
        now = self._clock.now()
        if self._asked is not None or now is None or not positions:
            return
        futures = ask_log_ends(self._admin, self._topic, positions, 5.0)
        self._asked = (now, futures, positions)

    def collect(self) -> None:
        """Takes the answers in, if they have come. A failed question is forgotten and asked again later."""
        if self._asked is None or not all(future.done() for future in self._asked[1].values()):
            return
        asked_at, futures, positions = self._asked
        self._asked = None
        for partition, future in futures.items():
            if future.exception() is not None:
                continue
            end = future.result().offset
            self.ends[partition.partition] = end
            if end < positions[partition.partition]:
                self.rewound[partition.partition] = (end, positions[partition.partition])
            # An older target that is not reached yet stays: under steady load the newest end is never reached.
            self._targets.setdefault(partition.partition, (end, asked_at))

    def reached(self, partition: int, position: int) -> int | None:
        """The broker time up to which the partition has been read, given its position; None when nothing new."""
        target = self._targets.get(partition)
        if target is None or position < target[0]:
            return None
        del self._targets[partition]
        return target[1]

    def forget(self, partition: int) -> None:
        """The partition is no longer ours."""
        self._targets.pop(partition, None)
        self.ends.pop(partition, None)
        self.rewound.pop(partition, None)
