"""Where record calls leave their events: one lane per family, each with a limit of its own.

A flood of attempts can therefore not push out a teardown. Nothing here waits or locks; a record call appends a tuple
whose first item is the instant in nanoseconds, and the background thread takes them out.
"""

from collections import deque
from typing import Any

from unmask.producers.report import FAMILIES
from unmask.producers.tick import Tick
from unmask.schemas.codes import DropCause, Family

__all__ = ["Buffer", "Lane", "RawEvent"]

RawEvent = tuple[Any, ...]
"""(nanoseconds, then what the family's record call was given)."""


class Lane:
    """Events of one family that wait for a batch, and how many were dropped before they got one."""

    __slots__ = ("events", "family", "full", "invalid", "late")

    def __init__(self, family: Family | None) -> None:
        self.family = family
        self.events: deque[RawEvent] = deque()
        self.full = Tick()
        self.invalid = Tick()
        self.late = Tick()

    def drops(self) -> dict[DropCause, int]:
        """Dropped at the record call, by cause; `late` came after close()."""
        counts = {
            DropCause.BUFFER_FULL: self.full.value,
            DropCause.INVALID_EVENT: self.invalid.value,
            DropCause.CLOSE_DEADLINE: self.late.value,
        }
        return {cause: count for cause, count in counts.items() if count}

    def take(self, at_most: int) -> list[RawEvent]:
        """Take out the oldest events. Only the background thread calls this, so that none is taken twice."""
        popleft = self.events.popleft
        return [popleft() for _ in range(min(at_most, len(self.events)))]


class Buffer:
    """The lanes of one emitter's life. Openings are no family: they are not accounted."""

    __slots__ = ("lanes", "openings")

    def __init__(self) -> None:
        self.lanes = tuple(Lane(family) for family in FAMILIES)
        self.openings = Lane(None)

    def waiting(self) -> int:
        """Events and openings that wait for a batch."""
        return sum(len(lane.events) for lane in self.lanes) + len(self.openings.events)
