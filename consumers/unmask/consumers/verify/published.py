"""What stands on the output topics: the newest record of every key, kept as bytes and read when it is compared."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.topic_reader import Row
from unmask.schemas.codes import AdmissionStep
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing

__all__ = ["Admissions", "Entry", "Mark", "Marks", "PublishedTopic", "Unusable"]


@dataclass(frozen=True, slots=True)
class Unusable:
    """A record that stands there and cannot count for anything; `why` in words."""

    why: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One key's newest record."""

    key: str
    partition: int
    value: bytes


@dataclass(slots=True)
class PublishedTopic:
    """The newest record of every key of one compacted topic. `wanted` decides by key and time which are kept."""

    record: str
    framing: Framing
    wanted: Callable[[str, int], bool]
    withdrawn: set[str] = field(default_factory=set)
    """Keys whose newest record is a tombstone, as long as the topic keeps that."""
    _entries: dict[tuple[str, int], Entry] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Takes the next record of a partition in."""
        key = (row.key or b"").decode("utf-8", "replace")
        place = (key, row.partition)
        if row.value is None:
            self._entries.pop(place, None)
            self.withdrawn.add(key)
        elif self.wanted(key, row.timestamp_ms):
            self.withdrawn.discard(key)
            self._entries[place] = Entry(key, row.partition, row.value)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries.values()))

    def read(self, entry: Entry) -> dict[str, Any] | Unusable:
        """The record of an entry."""
        try:
            return self.framing.decode_any((self.record,), entry.value)[1]
        except DecodeError as error:
            return Unusable(f"undecodable: {error.reason}")


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the stream says that it has read a partition. Instants are microseconds."""

    offset: int
    read_through: int
    grace: int
    partitions: int


@dataclass(slots=True)
class Marks:
    """The newest mark of every source partition."""

    framing: Framing
    known: dict[int, Mark] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Takes a record of the tallies topic in; all but marks are passed over. Raises DecodeError."""
        if row.value is None or not (row.key or b"").startswith(b"m|"):
            return
        _, value = self.framing.decode_any(("evidence_mark",), row.value)
        known = self.known.get(value["partition"])
        if known is None or (known.offset, known.read_through) <= (value["offset"], value["read_through"]):
            mark = Mark(value["offset"], value["read_through"], value["grace_ms"] * 1000, value["partitions"])
            self.known[value["partition"]] = mark

    def missing(self, partitions: Iterable[int]) -> list[int]:
        """Partitions of which no mark is known."""
        return sorted(partition for partition in partitions if partition not in self.known)


@dataclass(slots=True)
class Admissions:
    """Which verdicts' directives were carried out, or set aside by an operator, and which verdicts were withdrawn."""

    framing: Framing
    _done: set[tuple[str, str]] = field(default_factory=set)
    _withdrawn: set[str] = field(default_factory=set)

    def take(self, row: Row) -> None:
        """Takes a record of the admissions topic in; what cannot be read discharges nothing."""
        try:
            _, value = self.framing.decode_any(("admission",), row.value)
        except DecodeError:
            return
        # An override for a successor that only reads leaves the directive open for whoever comes after it.
        overridden = value["step"] == AdmissionStep.OVERRIDDEN.value and value["mutating"]
        if value["step"] == AdmissionStep.RECONCILED.value or overridden:
            self._done.add((value["session_id"], value["verdict_digest"] or ""))
        elif value["step"] == AdmissionStep.WITHDRAWN.value:
            self._withdrawn.add(value["session_id"])

    def withdrew(self, session_id: str) -> bool:
        """Whether somebody says to have withdrawn the session's verdict."""
        return session_id in self._withdrawn

    def discharged(self, session_id: str, digest: str) -> bool:
        """Whether the directive of this very verdict is done with."""
        return (session_id, digest) in self._done
