"""How the page's reading goes: what it can vouch for, and since when it cannot."""

from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Group", "Reading", "ReadingState"]


class ReadingState(StrEnum):
    """Where the reader is."""

    IDLE = "IDLE"
    """Nobody looks, nothing is read."""
    READING = "READING"
    """What stood when it began has not been read to its end."""
    LIVE = "LIVE"
    """It has, and what comes is read as it comes."""
    FAILED = "FAILED"
    """Something went wrong; it is tried again."""


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group as the broker describes it."""

    name: str
    state: str
    members: int
    assigned: frozenset[int]
    """Partitions that some member has."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot of the reader's condition."""

    state: ReadingState = ReadingState.IDLE
    done: int = 0
    """Partitions that were read to the end that they had."""
    of: int = 0
    error: str = ""
    undecodable: int = 0
    silent_since: int | None = None
    """Since when the broker does not answer, microseconds; None while it does."""
    ends: dict[int, int] = field(default_factory=dict)
    """Where the log of events ends, by source partition."""
    groups: tuple[Group, ...] = ()
