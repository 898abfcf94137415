"""The pulse: asks the broker every other second where the events end, and now and then who reads them.

Never waits for an answer. That none comes is how it is known that the broker does not answer.
"""

import time
from concurrent.futures import Future
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from unmask.schemas.topics import Topics
from unmask.streams.ledger.log_end import ask_log_ends
from unmask.streams.web.page.reading import Group

__all__ = ["Pulse"]

_EVERY_S = 2.0
_GROUPS_EVERY_S = 4.0
_SILENT_S = 5.0
_TIMEOUT_S = 4.0


class Pulse:
    """What the broker says of the log's ends and of the worker's groups."""

    def __init__(self, admin: AdminClient, topics: Topics, groups: tuple[str, ...]) -> None:
        self._admin = admin
        self._topics = topics
        self._names = groups
        self._ends_asked: dict[TopicPartition, Future[Any]] = {}
        self._groups_asked: dict[str, Future[Any]] = {}
        self._next_ends = self._next_groups = 0.0
        self._answered = time.monotonic()
        self._answered_at = time.time_ns() // 1000
        self.ends: dict[int, int] = {}
        self.groups: tuple[Group, ...] = ()
        self.silent_since: int | None = None

    def beat(self, now: float) -> None:
        """Takes answers in and asks again where it is time; `now` in monotonic seconds."""
        self._take_ends(now)
        self._take_groups()
        if not self._ends_asked and now >= self._next_ends:
            partitions = range(self._topics.events_partitions)
            self._ends_asked = ask_log_ends(self._admin, self._topics.events.name, partitions, _TIMEOUT_S)
            self._next_ends = now + _EVERY_S
        if not self._groups_asked and now >= self._next_groups:
            self._groups_asked = self._admin.describe_consumer_groups(list(self._names), request_timeout=_TIMEOUT_S)
            self._next_groups = now + _GROUPS_EVERY_S
        self.silent_since = self._answered_at if now - self._answered > _SILENT_S else None

    def _take_ends(self, now: float) -> None:
        if not self._ends_asked or not all(future.done() for future in self._ends_asked.values()):
            return
        ends = {
            place.partition: int(future.result().offset)
            for place, future in self._ends_asked.items()
            if future.exception() is None
        }
        self._ends_asked = {}
        if ends:
            # A new value, since readers hold on to the old one.
            self.ends = {**self.ends, **{p: end for p, end in ends.items() if end >= 0}}
            self._answered, self._answered_at = now, time.time_ns() // 1000

    def _take_groups(self) -> None:
        if not self._groups_asked or not all(future.done() for future in self._groups_asked.values()):
            return
        answered = [future.result() for future in self._groups_asked.values() if future.exception() is None]
        self._groups_asked = {}
        if answered:
            self.groups = tuple(_group(one) for one in answered)


def _group(description: Any) -> Group:
    assigned = {
        place.partition
        for member in description.members
        if member.assignment is not None
        for place in member.assignment.topic_partitions
    }
    state = description.state.name
    return Group(description.group_id, state, len(description.members), frozenset(assigned))
