"""Ownership: whether every partition belongs to a member of the group, and who sees to it where one does not.

A rebalance that moves partitions has two rounds: in the first they are given up, in the second they get their new
owner. A worker with a static name that dies in between comes back to what the first round left it, without another
round; then the partitions that it gave up belong to nobody until somebody joins or leaves. So members look, and the
first of them joins anew where a partition has had no owner for a while.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

__all__ = ["Ownership"]

_LOOK_S = 4.0
_ORPHANED_S = 10.0
"""A round of rebalancing that is under way ends in seconds."""
_TIMEOUT_S = 5.0


class Ownership:
    """Keeps one question about the group's members under way, and remembers since when partitions have no owner."""

    def __init__(
        self,
        admin: AdminClient,
        group: str,
        topic: str,
        partitions: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._admin = admin
        self._group = group
        self._topic = topic
        self._partitions = partitions
        self._monotonic = monotonic
        self._asked: Future[Any] | None = None
        self._ask_at = monotonic() + _LOOK_S
        self._orphaned_since: dict[int, float] = {}
        self.first_member: str | None = None
        """The member whose turn it is to do something about them."""

    def look(self) -> None:
        """Takes an answer in, if there is one, and asks again where it is time. Never waits."""
        if self._asked is not None and self._asked.done():
            answer, self._asked = self._asked, None
            # Whom a question failed for, a coordinator that moves for example, knows no more than before.
            if answer.exception() is None:
                self._take(answer.result())
        now = self._monotonic()
        if self._asked is None and now >= self._ask_at:
            self._ask_at = now + _LOOK_S
            asked = self._admin.describe_consumer_groups([self._group], request_timeout=_TIMEOUT_S)
            self._asked = asked[self._group]

    def orphans(self) -> list[int]:
        """Partitions that have belonged to nobody for long."""
        since = self._monotonic() - _ORPHANED_S
        return sorted(partition for partition, at in self._orphaned_since.items() if at <= since)

    def _take(self, group: Any) -> None:
        if group.state is not ConsumerGroupState.STABLE:
            self._orphaned_since.clear()
            return
        owned = {
            place.partition
            for member in group.members
            for place in member.assignment.topic_partitions
            if place.topic == self._topic
        }
        now = self._monotonic()
        self._orphaned_since = {
            partition: self._orphaned_since.get(partition, now)
            for partition in range(self._partitions)
            if partition not in owned
        }
        self.first_member = min((member.member_id for member in group.members), default=None)
