"""Marks: how far each source partition has been read, and what its live emitters have accounted for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unmask.schemas.scope import Scope

__all__ = ["NEVER", "MarkBoard", "SourceMark", "Unaccounted"]

NEVER = 1 << 62
"""Later than every instant: nobody holds anything back."""


class Unaccounted(NamedTuple):
    """An emitter that is silent or behind."""

    emitter_id: str
    scope: Scope
    cause: str
    since: int


class SourceMark(NamedTuple):
    """The newest mark of one source partition."""

    offset: int
    read_through: int
    closed_through: int
    """Windows that end at or before this instant are closed on this partition."""
    accounted: dict[Scope, int]
    emitters: int
    """Live emitters of all scopes."""
    unaccounted: tuple[Unaccounted, ...]


@dataclass(slots=True)
class MarkBoard:
    """The newest mark of every source partition, and what follows from all of them together."""

    partitions: int = 0
    """How many source partitions there are; 0 while no mark is known."""
    closed_through: int | None = None
    """Windows that end at or before it are closed everywhere; None while a partition's mark is missing."""
    version: int = 0
    """Grows with every mark that was taken in."""
    reopened_from: int = NEVER
    """Windows that end after it must be looked at again, since somebody accounts for less than before."""
    idle_since: dict[int, int] = field(default_factory=dict)
    """Source partition to the time since which it has had no live emitter."""
    _marks: dict[int, SourceMark] = field(default_factory=dict)
    _accounted: dict[Scope, int] = field(default_factory=dict)

    def apply(self, record: dict[str, Any]) -> None:
        """Takes a decoded evidence_mark in; an older one than what is known changes nothing."""
        partition = record["partition"]
        known = self._marks.get(partition)
        # A partition at rest is marked again and again at one offset, at a later time.
        if known is not None and (record["offset"], record["read_through"]) < (known.offset, known.read_through):
            return
        mark = _mark(record)
        self._marks[partition] = mark
        if mark.emitters:
            self.idle_since.pop(partition, None)
        elif mark.read_through:
            # A partition of which nothing is proven yet is not idle since the beginning of time.
            self.idle_since.setdefault(partition, mark.read_through)
        if record["partitions"] != self.partitions:
            self.partitions = max(self.partitions, record["partitions"])
            self.reopened_from = 0
        self.version += 1
        self._combine()

    def _combine(self) -> None:
        marks = [mark for partition, mark in self._marks.items() if partition < self.partitions]
        self.closed_through = (
            min(mark.closed_through for mark in marks) if len(marks) == self.partitions and marks else None
        )
        accounted: dict[Scope, int] = {}
        for mark in marks:
            for scope, through in mark.accounted.items():
                accounted[scope] = min(through, accounted.get(scope, through))
        for scope, through in accounted.items():
            if through < self._accounted.get(scope, NEVER):
                self.reopened_from = min(self.reopened_from, through)
        self._accounted = accounted

    def closed(self, end: int) -> bool:
        """Whether the window that ends at `end` is closed on every source partition."""
        return self.closed_through is not None and end <= self.closed_through

    def accounted_through(self, scope: Scope) -> int:
        """Up to when all live emitters of the scope have accounted; NEVER where it has none."""
        return self._accounted.get(scope, NEVER)

    def all_accounted_through(self) -> int:
        """Up to when all live emitters have accounted; NEVER where there are none."""
        return min(self._accounted.values(), default=NEVER)

    def accounts(self) -> dict[int, int]:
        """Source partition to the instant through which it has been read and all its live emitters have accounted."""
        return {
            partition: min(mark.read_through, *mark.accounted.values()) if mark.accounted else mark.read_through
            for partition, mark in self._marks.items()
        }

    def unaccounted(self) -> Iterator[Unaccounted]:
        """All emitters that are silent or behind."""
        for mark in self._marks.values():
            yield from mark.unaccounted

    def read_through(self) -> dict[int, int]:
        """Source partition to the broker's time through which it has been read."""
        return {partition: mark.read_through for partition, mark in self._marks.items()}

    @property
    def complete(self) -> bool:
        """Whether the mark of every source partition is known."""
        return self.closed_through is not None

    @property
    def emitters(self) -> int:
        """Live emitters of all partitions."""
        return sum(mark.emitters for mark in self._marks.values())


def _mark(record: dict[str, Any]) -> SourceMark:
    return SourceMark(
        offset=record["offset"],
        read_through=record["read_through"],
        closed_through=record["read_through"] - record["grace_ms"] * 1000,
        accounted={Scope(**entry["scope"]): entry["accounted_through"] for entry in record["scopes"]},
        emitters=sum(entry["emitters"] for entry in record["scopes"]),
        unaccounted=tuple(
            Unaccounted(entry["emitter_id"], Scope(**entry["scope"]), entry["cause"], entry["since"])
            for entry in record["unaccounted"]
        ),
    )
