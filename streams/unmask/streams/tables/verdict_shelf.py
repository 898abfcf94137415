"""The verdicts that stand on one output partition, and what somebody else put in their place. Pure."""

from dataclasses import replace
from typing import Any

from unmask.schemas.signing import follows
from unmask.schemas.windowing import MICROS
from unmask.streams.tables.standing_verdict import StandingVerdict, may_replace, next_sequence
from unmask.streams.tables.verdict_check import RecordCheck, Unsound

__all__ = ["VerdictShelf"]

REPLAYED = "replayed"
"""Cause of a record that is no newer than one before it."""
DOUBT = 5 * MICROS
"""How long a tombstone is let be before it is undone: the record that tells who withdrew may be read after it."""


class VerdictShelf:
    """By session: the newest verdict that can be believed, and whether it is what stands on the topic."""

    def __init__(self, check: RecordCheck) -> None:
        self._check = check
        self._standing: dict[str, StandingVerdict] = {}
        self._gone: dict[str, int] = {}
        """The number of the last verdict of sessions that have none any more: what comes must be newer."""
        self._usurped: set[str] = set()
        self._removed: dict[str, int | None] = {}
        """Sessions whose verdict somebody removed, and until when that is let be; None before anybody asked."""
        self._news: dict[str, str] = {}
        # What was published and not yet read back. Any header or name of a writer could be copied by anybody.
        self._under_way: dict[str, list[tuple[int, str]]] = {}

    def note(self, session_id: str, value: bytes | None) -> bool:
        """A record was read from the topic, None for a tombstone; whether it can be believed.

        One that cannot displaces nothing: what stood before it goes on to count, and is published again.
        """
        if value is None:
            self._take_off(session_id)
            self._removed[session_id] = None
            return True
        try:
            record = self._check.decoded(value)
            if self._comes_back(session_id, record):
                return True
            self._check.believe(session_id, record)
        except Unsound as flaw:
            self._usurp(session_id, flaw.cause)
            return False
        found, known = StandingVerdict.of(record), self._standing.get(session_id)
        # The newest one once more is a copy of what stands, and changes nothing.
        number = self._gone.get(session_id) if known is None else known.sequence
        if number is not None and found != known and not follows(found.sequence, number):
            self._usurp(session_id, REPLAYED)
            return False
        self._stand(session_id, found)
        self._removed.pop(session_id, None)
        return True

    def _comes_back(self, session_id: str, record: dict[str, Any]) -> bool:
        """Whether it is what this very shelf gave out; the same record once more is not."""
        under_way = self._under_way.get(session_id, [])
        name = (record["sequence"], record["digest"])
        if name not in under_way:
            return False
        left = under_way[under_way.index(name) + 1 :]
        if left:
            self._under_way[session_id] = left
        else:
            del self._under_way[session_id]
        return True

    def _stand(self, session_id: str, verdict: StandingVerdict) -> None:
        self._standing[session_id] = verdict
        self._gone.pop(session_id, None)
        self._usurped.discard(session_id)

    def _take_off(self, session_id: str) -> None:
        standing = self._standing.pop(session_id, None)
        if standing is not None:
            self._gone[session_id] = standing.sequence
        self._usurped.discard(session_id)

    def _usurp(self, session_id: str, cause: str) -> None:
        self._usurped.add(session_id)
        self._news[session_id] = cause

    def put(self, verdict: dict[str, Any], now: int) -> dict[str, Any] | None:
        """The verdict as it must be published, numbered; None where what stands must go on to stand as it is."""
        session_id = verdict["session_id"]
        if not self._may_return(session_id, now):
            return None
        standing, candidate = self._standing.get(session_id), StandingVerdict.of(verdict)
        if standing is not None and not may_replace(standing, candidate):
            restored = session_id in self._usurped and candidate.content == standing.content
            if not restored:
                return None
        sequence = max(next_sequence(standing, now), self._gone.get(session_id, -1) + 1)
        self._stand(session_id, replace(candidate, sequence=sequence))
        self._under_way.setdefault(session_id, []).append((sequence, candidate.digest))
        return {**verdict, "sequence": sequence}

    def _may_return(self, session_id: str, now: int) -> bool:
        if session_id not in self._removed:
            return True
        if self._removed[session_id] is None:
            self._removed[session_id] = now + DOUBT
        return False

    def due(self, now: int) -> list[str]:
        """Sessions whose removal has been let be for long enough: they must be looked at again, and may return."""
        due = [session_id for session_id, until in self._removed.items() if until is not None and until <= now]
        for session_id in due:
            del self._removed[session_id]
        return due

    def withdraw(self, session_id: str) -> bool:
        """Takes a verdict off; whether anything stands on the topic that a tombstone must remove."""
        stands = session_id in self._standing or session_id in self._usurped
        self._take_off(session_id)
        self._removed.pop(session_id, None)
        return stands

    def get(self, session_id: str) -> StandingVerdict | None:
        """The newest verdict of a session that can be believed."""
        return self._standing.get(session_id)

    def agrees(self, verdict: dict[str, Any]) -> bool:
        """Whether the verdict says what stands."""
        standing = self._standing.get(verdict["session_id"])
        return standing is not None and standing.content == StandingVerdict.of(verdict).content

    def usurped(self, session_id: str) -> bool:
        """Whether something that cannot be believed is the newest record of the session."""
        return session_id in self._usurped

    def take_usurped(self) -> list[tuple[str, str]]:
        """Session and cause of every record that could not be believed since the last call."""
        news, self._news = self._news, {}
        return list(news.items())

    def __len__(self) -> int:
        return len(self._standing)
