"""The overview of a namespace, kept up to date by a thread that reads windows and alerts."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from unmask.schemas.errors import DecodeError
from unmask.schemas.keys import window_route
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import LIFETIME, MICROS
from unmask.schemas.wire import decode
from unmask.streams.tables.follower import Followed, TopicFollower
from unmask.streams.tables.rules import TableRules
from unmask.streams.web.overview import Overview

__all__ = ["OverviewView"]

_Answer = TypeVar("_Answer")
_RECENT_MS = 2 * 3600 * 1000


class OverviewView:
    """Follows all partitions of windows and alerts.

    Lifetime windows all lie on one partition, which is read from its beginning; of the others, and of everything else
    on it, only the last two hours matter.
    """

    def __init__(self, bootstrap: str, topics: Topics, rules: TableRules, now_ms: int) -> None:
        self._lock = threading.Lock()
        self._overview = Overview(rules)
        self.undecodable = 0
        self._windows = topics.windows.name
        self._oldest = (now_ms - _RECENT_MS) * 1000
        tables = topics.table_partitions
        whole = partition_for(window_route(0, LIFETIME), tables)
        followed = [Followed(self._windows, p, None if p == whole else now_ms - _RECENT_MS) for p in range(tables)]
        followed += [Followed(topics.alerts.name, p) for p in range(tables)]
        self.follower = TopicFollower("overview", bootstrap, followed, self._take)

    def read(self, question: Callable[[Overview], _Answer]) -> _Answer:
        """The answer of a function that is given the overview while nobody changes it."""
        with self._lock:
            return question(self._overview)

    def cross_window_alerts(self, owned: frozenset[int]) -> tuple[list[tuple[int, dict[str, Any]]], int] | None:
        """The alerts that span windows, with their revision; None until everything has been read."""
        if not self.follower.caught_up.is_set():
            return None
        with self._lock:
            return self._overview.rates.alerts(owned), self._overview.position

    def _take(self, messages: list[Any]) -> None:
        with self._lock:
            for message in messages:
                try:
                    self._take_one(message)
                except (DecodeError, UnicodeDecodeError, AttributeError, ValueError):
                    self.undecodable += 1

    def _take_one(self, message: Any) -> None:
        key, value = message.key().decode(), message.value()
        if message.topic() != self._windows:
            self._overview.alert(key, None if value is None else decode("alert", value))
            return
        seconds, start, _ = key.split("|", 2)
        # Decoding costs twenty times what looking at the key does.
        matters = seconds == "0" or int(start) * MICROS + int(seconds) * MICROS >= self._oldest
        record = decode("window", value) if matters and value is not None else None
        self._overview.window(record, partition=message.partition(), offset=message.offset())
