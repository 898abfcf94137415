"""What a verification found."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from unmask.consumers.verify.expected import Fields, evidence_states
from unmask.schemas.codes import Evidence

__all__ = ["Difference", "Examined", "Exit", "Mismatch", "Outcome"]


class Exit(IntEnum):
    """Exit codes of `unmask verify`."""

    EQUAL = 0
    """All that could be checked is equal, and something could be checked."""
    DIFFERENT = 1
    """Something published is not what the log says."""
    NOT_CHECKED = 2
    """It could not be checked."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one record that is not what the log says. None where one side has no such record or field."""

    what: str
    """`window`, `verdict`, `digest` (of a verdict) or `mark`."""
    key: str
    field: str
    published: Any
    recounted: Any


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One record that does not agree; it is a difference only once the stream has had its time to publish."""

    what: str
    key: str
    published: Fields | None
    recounted: Fields | None
    recent: bool = False
    """Whether it is about what was over only a moment before the stream's own time."""

    @property
    def pending(self) -> bool:
        """Whether the published record says itself that it is not the last word."""
        return self.published is not None and evidence_states(self.published) == {Evidence.PENDING.value}

    def differences(self) -> list[Difference]:
        """Field by field; one line for a record that only one side has."""
        if self.published is None or self.recounted is None:
            published = "no record" if self.published is None else _told(self.published)
            recounted = "no record" if self.recounted is None else _told(self.recounted)
            return [Difference(self.what, self.key, "record", published, recounted)]
        names = sorted(self.published.keys() | self.recounted.keys())
        return [
            Difference(self.what, self.key, name, self.published.get(name, 0), self.recounted.get(name, 0))
            for name in names
            if self.published.get(name, 0) != self.recounted.get(name, 0)
        ]


def _told(fields: Fields) -> str:
    """The parts of a record that say something, in one line."""
    return ", ".join(f"{name}={value}" for name, value in fields.items() if value not in (0, None, ""))


@dataclass(slots=True)
class Examined:
    """One comparison of what stands with what was recounted."""

    mismatches: list[Mismatch] = field(default_factory=list)
    windows: int = 0
    """Windows that were compared."""
    window_records: int = 0
    verdicts: int = 0
    digests: int = 0
    not_checked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(`windows` or `verdicts`, why) to how many."""

    def skip(self, what: str, why: str, n: int = 1) -> None:
        """Something could not be checked."""
        if n:
            self.not_checked[what, why] += n


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a verification."""

    differences: tuple[Difference, ...]
    examined: Examined
    obstacles: tuple[str, ...]
    """Why the whole, or the newest part of it, could not be checked."""
    totals: Mapping[str, int]
    since: int | None
    until: int | None
    log_from: int
    """Broker's time of the oldest record that the log still has; 0 for an empty log."""
    broker_time: int
    read_through: int
    """The broker's time as of which the evidence was recounted; 0 where the stream tells none."""
    strict: bool = False

    @property
    def exit(self) -> Exit:
        """The exit code."""
        if self.differences:
            return Exit.DIFFERENT
        nothing = not (self.examined.windows or self.examined.verdicts)
        if self.obstacles or nothing or (self.strict and self.examined.not_checked):
            return Exit.NOT_CHECKED
        return Exit.EQUAL
