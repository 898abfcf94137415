"""Which windows and sessions are compared, and what was over only a moment ago."""

from dataclasses import dataclass

from unmask.schemas.windowing import MICROS

__all__ = ["BEFORE_HEAD", "KEPT", "RECENT", "Range"]

RECENT = 30 * MICROS
"""A stream that keeps up has published what is over by then; one that was stopped may not have."""
KEPT = (6 * 24 - 1) * 3600 * MICROS
"""The tables keep a window for at least so long after its start; then its last record stands, whatever comes."""
BEFORE_HEAD = "partly before the oldest record that the log still has"


@dataclass(frozen=True, slots=True)
class Range:
    """Windows that start, and sessions that end, at or after `since` and before `until`; microseconds, None: open."""

    since: int | None = None
    until: int | None = None

    def holds(self, instant: int) -> bool:
        """Whether the instant lies in the range."""
        return (self.since is None or instant >= self.since) and (self.until is None or instant < self.until)
