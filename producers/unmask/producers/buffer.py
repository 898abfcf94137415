"""Where record calls leave their events: one lane per family, each with a limit of its own.

A flood of attempts can therefore not push out a teardown. Nothing here waits or locks; a record call counts the event,
then appends a tuple whose first item is the instant in nanoseconds, and the background thread takes them out.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from unmask.producers.report import FAMILIES
from unmask.producers.tick import Tick
from unmask.schemas.codes import DropCause, Family

__all__ = ["Buffer", "Lane", "Lap", "RawEvent"]

RawEvent = tuple[Any, ...]
"""(nanoseconds, then what the family's record call was given)."""


class Lap(Protocol):
    """So many counts that outlive the process; another lap follows."""

    @property
    def add(self) -> Callable[[], object]:
        """Count one. Raises ValueError, counting nothing, where the lap is full."""
        ...

    def following(self) -> "Lap":
        """The lap after this one, the same for all that ask. Raises OSError."""
        ...


class Lane:
    """Events of one family that wait for a batch, and how many were dropped before they got one.

    A record call counts first and appends then: what dies with the process in between is counted.
    """

    __slots__ = ("count", "events", "family", "full", "in_memory", "invalid", "lap", "late", "newest")

    def __init__(self, family: Family | None) -> None:
        self.family = family
        self.events: deque[RawEvent] = deque()
        self.full = Tick()
        self.invalid = Tick()
        self.late = Tick()
        self.in_memory = Tick()
        """Record calls that are not counted in a lap."""
        self.lap: Lap | None = None
        self.count: Callable[[], object] = self.in_memory.add
        """Count one record call. May raise ValueError: then `count_on`."""
        self.newest = memoryview(bytearray(8)).cast("Q")
        """newest[0]: nanoseconds of about the newest event."""

    def count_on(self) -> None:
        """Count one record call where the lap that was known is full: on the newest one."""
        try:
            lap = self.lap
            while lap is not None:
                try:
                    lap.add()
                except ValueError:
                    # Only now is it certain that it is full: another thread may have gone on in the meantime.
                    lap = lap.following()
                    continue
                # Whoever comes late may put an older lap back here; it is full, and leads to the same next one.
                self.lap, self.count = lap, lap.add
                return
        except OSError:
            # No memory or no descriptor for another lap. The background thread writes this count down a little later.
            pass
        self.in_memory.add()

    def drop(self, tick: Tick) -> None:
        """Count a record call whose event is dropped, and for what."""
        try:
            self.count()
        except ValueError:
            self.count_on()
        tick.add()

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
