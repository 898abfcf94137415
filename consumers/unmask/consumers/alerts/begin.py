"""Where reading a partition begins: at what was committed, or the first time with what stands.

Until a partition's first reading is through, commits carry in their metadata how far that reading goes, so that a
watcher that is killed in the middle of it goes on with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from unmask.consumers.topic_reader import Row
from unmask.schemas.codes import AlertState
from unmask.schemas.errors import DecodeError
from unmask.schemas.wire import decode

__all__ = ["Begin", "FirstReading", "begin", "first_reading", "metadata_of"]

_STANDING = "standing-below-"


@dataclass(frozen=True, slots=True)
class Begin:
    """Where reading of a partition begins."""

    position: int
    standing_below: int = 0
    """Below this offset only alerts are told that fired at the end of it: those that stood at the first start."""


@dataclass(frozen=True, slots=True)
class FirstReading:
    """Of a partition that is read for the first time, which records stand; the others are not told."""

    below: int = 0
    standing: frozenset[int] = frozenset()
    """Offsets of the newest records of alerts that fire."""

    def is_past(self, offset: int) -> bool:
        """Whether a record says something that had changed already when watching began."""
        return offset < self.below and offset not in self.standing


def begin(committed: int | None, metadata: str | None, low: int, end: int, *, standing: bool) -> Begin:
    """Where to begin: a partition has the offsets from `low` up to, and without, `end`.

    Without a commit, or where the topic was made anew since, everything begins anew: with what stands, or at the end.
    """
    if committed is None or committed > end:
        return Begin(low, end) if standing else Begin(end)
    text = metadata or ""
    number = text.removeprefix(_STANDING)
    below = int(number) if text.startswith(_STANDING) and number.isdigit() else 0
    return Begin(max(committed, low), below if committed < below <= end else 0)


def metadata_of(begun: Begin, position: int) -> str:
    """What is committed beside a position."""
    return f"{_STANDING}{begun.standing_below}" if position < begun.standing_below else ""


def first_reading(below: int, rows: Iterable[Row]) -> FirstReading:
    """What stands of one partition, given its records below the offset."""
    firing: dict[str, tuple[int, int]] = {}
    for row in rows:
        if row.value is None:
            continue
        try:
            alert = decode("alert", row.value)
        except DecodeError:
            continue
        identity, revision = alert["alert_id"], alert["revision"]
        known = firing.get(identity)
        if known is not None and revision < known[1]:
            continue
        if alert["state"] == AlertState.FIRING.value:
            firing[identity] = (row.offset, revision)
        else:
            firing.pop(identity, None)
    return FirstReading(below, frozenset(offset for offset, _ in firing.values()))
