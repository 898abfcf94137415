"""The time a report is about, from what a person types: a duration back from now, or an instant with its zone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from unmask.schemas.instants import to_micros
from unmask.schemas.windowing import LIFETIME, MICROS, window_start, windows_touching

__all__ = ["MAX_WINDOWS", "RangeError", "TimeRange", "parse_instant", "parse_range"]

MAX_WINDOWS = 100_000
"""The most windows that a report lists."""

_DURATION = re.compile(r"([0-9]{1,9})\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class RangeError(ValueError):
    """The time range cannot be understood or served; the text says what would be."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Windows of one size that touch [since, until); instants in microseconds, all in UTC."""

    since: int
    until: int
    seconds: int
    """Window size; 0 is the lifetime window, which belongs to every range."""

    def starts(self) -> Iterator[int]:
        """Starts of all windows of the range, whether or not anything is known of them."""
        return windows_touching(self.since, self.until - 1, self.seconds)


def parse_instant(text: str, now: int) -> int:
    """Microseconds of `2h` (that long before `now`), `now`, or an ISO 8601 instant with a zone. Raises RangeError."""
    if text.strip() == "now":
        return now
    duration = _DURATION.fullmatch(text.strip())
    if duration is not None:
        back = now - int(duration.group(1)) * _SECONDS[duration.group(2)] * MICROS
        return max(0, back)
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise RangeError(
            f"{text!r} is no time: give a duration back from now (90s, 2h, 28d) or ISO 8601 (2026-01-31T12:00:00Z)"
        ) from None
    if instant.tzinfo is None:
        raise RangeError(
            f"{text!r} has no time zone, and this machine's is not assumed; end it with Z for UTC, or with an offset"
        )
    return max(0, to_micros(instant))


def parse_range(since: str, until: str, seconds: int, now: int) -> TimeRange:
    """The windows of `seconds` from the one that holds `since` to the last that begins before `until`.

    Raises RangeError.
    """
    if seconds < 0:
        raise RangeError("a window size is a number of seconds, or 0 for everything since the beginning")
    first, last = parse_instant(since, now), parse_instant(until, now)
    if first >= last:
        raise RangeError(f"--since {since} is not before --until {until}")
    if seconds != LIFETIME and (last - first) // (seconds * MICROS) > MAX_WINDOWS:
        raise RangeError(f"that is more than {MAX_WINDOWS:,} windows; ask for less time or for larger windows")
    return TimeRange(window_start(first, seconds), last, seconds)
