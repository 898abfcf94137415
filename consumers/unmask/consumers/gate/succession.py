"""The records of one session in the order of the log, and which of them stands.

A record displaces the one before it only if it can be believed and is newer by its own number. Without that, whoever
can write to the topic could put an old verdict in the place of a new one, and nobody would see it.
"""

from typing import Any

from unmask.consumers.gate.entry import Displaced, Entry, Recorded, Tombstone
from unmask.schemas.errors import DecodeError
from unmask.schemas.signing import Trust, follows, verdict_flaw
from unmask.schemas.wire import decode

__all__ = ["Succession"]

_LATER = 8


class Succession:
    """What has been written under one session's key, as far as it matters. Not for use by several threads."""

    __slots__ = ("_flaw", "_key", "_later", "_number", "_standing", "_topic", "_trust")

    def __init__(self, key: str, topic: str, trust: Trust | None) -> None:
        self._key = key
        self._topic = topic
        self._trust = trust
        self._standing: dict[str, Any] | None = None
        """The newest verdict that can be believed; None where there is none, or it was withdrawn."""
        self._number = 0
        """The highest number of a verdict that could be believed, withdrawn ones included."""
        self._flaw: str | None = None
        """Why the newest record does not stand."""
        # Read only when somebody asks: most sessions are never asked for.
        self._later: list[bytes | None] = []

    def append(self, value: bytes | None) -> None:
        """A further record was written; None withdraws."""
        self._later.append(value)
        if len(self._later) > _LATER:
            self._settle()

    def entry(self) -> Entry:
        """What stands, or why what was written last does not."""
        self._settle()
        if self._flaw is not None:
            return Displaced(self._key, self._flaw, self._standing)
        if self._standing is None:
            return Tombstone(self._key)
        return Recorded(self._key, self._key, self._standing)

    def _settle(self) -> None:
        later, self._later = self._later, []
        for value in later:
            self._flaw = self._take(value)

    def _take(self, value: bytes | None) -> str | None:
        if value is None:
            self._standing = None
            return None
        try:
            record = decode("verdict", value)
        except DecodeError as error:
            return f"it is not a verdict that this gate can read ({error.reason})"
        flaw = verdict_flaw(record, session_id=self._key, topic=self._topic, trust=self._trust)
        if flaw is not None:
            return flaw
        # The newest one once more is a copy of what stands, and changes nothing.
        if record != self._standing and not follows(record["sequence"], self._number):
            return "it is no newer than a verdict of the session that was written before it"
        self._standing, self._number = record, record["sequence"]
        return None
