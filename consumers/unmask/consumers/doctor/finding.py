"""What the doctor says about one thing."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Status"]


class Status(StrEnum):
    """How bad it is."""

    OK = "ok"
    """As it must be."""
    WARNING = "warning"
    """Works, and deserves a look."""
    FAILED = "failed"
    """Must be mended; the doctor's exit code says so too."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    status: Status
    detail: str
    fix: str | None = None
    """What to do; given with everything that is not ok."""
