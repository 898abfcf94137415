"""The obligations of all sessions, read from all partitions of verdicts and admissions.

A successor may be routed to another partition, and another worker, than its predecessor.
"""

import threading
from typing import Any

from unmask.schemas.topics import Topics
from unmask.streams.tables.follower import Followed, TopicFollower
from unmask.streams.tables.obligations import ObligationBook
from unmask.streams.tables.verdict_check import RecordCheck, Unsound
from unmask.streams.verdict import Obligation

__all__ = ["ObligationsView"]

_DAY_MS = 24 * 3600 * 1000
_DISCHARGES_KEPT_MS = 30 * _DAY_MS


class ObligationsView:
    """Follows verdicts and admissions; answers from any thread. What `check` refuses counts for nothing."""

    def __init__(self, bootstrap: str, topics: Topics, now_ms: int, check: RecordCheck) -> None:
        self._verdicts = topics.verdicts.name
        self._check = check
        self._book = ObligationBook()
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self.undecodable = 0
        """Records that could not be read, or not be believed."""
        partitions = range(topics.table_partitions)
        followed = [Followed(self._verdicts, partition) for partition in partitions]
        followed += [Followed(topics.admissions.name, p, now_ms - _DISCHARGES_KEPT_MS) for p in partitions]
        self.follower = TopicFollower("obligations", bootstrap, followed, self._take)

    def knows(self, session_id: str) -> bool:
        """Whether there is a verdict of the session."""
        with self._lock:
            return self._book.verdict_of(session_id) is not None

    def open_obligation(self, session_id: str) -> Obligation | None:
        """What the session left to be done and nobody has done yet."""
        with self._lock:
            return self._book.open_obligation(session_id)

    def cuts_circle(self, session_id: str, predecessor: str) -> bool:
        """Whether sessions continue one another in a circle, and this one is where it is cut: it inherits nothing."""
        with self._lock:
            return self._book.cuts_circle(session_id, predecessor)

    def discharged_at(self, session_id: str, digest: str) -> int | None:
        """When the directive of this very verdict was carried out; None where it was not."""
        with self._lock:
            return self._book.discharged_at(session_id, digest)

    def withdrawn_at(self, session_id: str) -> int | None:
        """When an operator withdrew the session's verdict; None where nobody did."""
        with self._lock:
            return self._book.withdrawn_at(session_id)

    def take_changed(self) -> set[str]:
        """Sessions of which something new was read since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
        return changed

    def _take(self, messages: list[Any]) -> None:
        with self._lock:
            for message in messages:
                try:
                    self._take_one(message)
                except (Unsound, UnicodeDecodeError, AttributeError):
                    self.undecodable += 1

    def _take_one(self, message: Any) -> None:
        session_id, value = message.key().decode(), message.value()
        if message.topic() == self._verdicts:
            self._book.apply_verdict(session_id, None if value is None else self._check.verdict(session_id, value))
        elif not self._book.apply_admission(self._check.admission(session_id, value)):
            return
        self._changed.add(session_id)
