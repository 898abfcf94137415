"""The time a report is about, from what a person types: a duration back from now, or an instant with its zone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from unmask.schemas.instants import to_micros
from unmask.schemas.windowing import LIFETIME, MICROS, window_start, windows_touching

__all__ = ["GRANULARITIES", "MAX_WINDOWS", "RangeError", "TimeRange", "granularity_for", "parse_instant", "parse_range"]

MAX_WINDOWS = 100_000
"""The most windows that a report lists."""

GRANULARITIES = {"1m": (60, 60), "1h": (3_600, 3_600), "1d": (86_400, 3_600)}
"""Seconds of a line, and of the windows that it is made of: a day is the sum of its 24 hourly windows."""

_FINE_S, _COARSE_S = 6 * 3_600, 14 * 86_400
_DURATION = re.compile(r"([0-9]{1,9})\s*([smhdw])")
_LATEST = to_micros(datetime(9999, 12, 31, tzinfo=UTC))
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class RangeError(ValueError):
    """The time range cannot be understood or served; the text says what would be."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The lines that touch [since, until), each of `seconds`; instants in microseconds, all in UTC."""

    since: int
    until: int
    seconds: int
    """How long a line's time is; 0 is the lifetime window, which belongs to every range."""
    source_seconds: int | None = None
    """Size of the windows that are added up for a line; None where a line is one window."""

    @property
    def window_seconds(self) -> int:
        """Size of the windows that are read."""
        return self.seconds if self.source_seconds is None else self.source_seconds

    @property
    def read_since(self) -> int:
        """Where the first line begins: windows from then on are read."""
        return window_start(self.since, self.seconds)

    @property
    def read_until(self) -> int:
        """Where the last line ends: a line has all of its windows, also those after `until`."""
        if self.seconds == LIFETIME:
            return self.until
        return window_start(self.until - 1, self.seconds) + self.seconds * MICROS

    def starts(self) -> Iterator[int]:
        """Starts of all lines of the range, whether or not anything is known of them."""
        return windows_touching(self.since, self.until - 1, self.seconds)

    def windows_of(self, start: int) -> Iterator[int]:
        """Starts of the windows of the line that begins at `start`."""
        if self.seconds == LIFETIME:
            return iter((0,))
        size = self.window_seconds * MICROS
        return iter(range(start, start + self.seconds * MICROS, size))


def granularity_for(first: int, last: int) -> str:
    """What suits a range whose granularity nobody named: minutes up to 6 hours, hours up to 14 days, else days."""
    seconds = (last - first) // MICROS
    return "1m" if seconds <= _FINE_S else "1h" if seconds <= _COARSE_S else "1d"


def parse_instant(text: str, now: int, *, utc_only: bool = False) -> int:
    """Microseconds of `2h` (that long before `now`), `now`, or an ISO 8601 instant with a zone. Raises RangeError.

    With `utc_only` the zone has to be UTC.
    """
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
    if utc_only and instant.utcoffset() != timedelta(0):
        raise RangeError(f"{text!r} is in another zone than UTC, which all times here are in; end it with Z")
    micros = max(0, to_micros(instant))
    if micros > _LATEST:
        raise RangeError(f"{text!r} is after the year 9999")
    return micros


def parse_range(since: str, until: str, seconds: int | str | None, now: int) -> TimeRange:
    """The lines from the one that holds `since` to the last that begins before `until`; instants are in UTC.

    `seconds` is a window size, the name of a granularity, or None for one that suits the range. Raises RangeError.
    """
    first, last = parse_instant(since, now, utc_only=True), parse_instant(until, now, utc_only=True)
    source: int | None = None
    if not isinstance(seconds, int):
        named = seconds or granularity_for(first, last)
        if named not in GRANULARITIES:
            raise RangeError(f"{named!r} is no granularity; there are {', '.join(GRANULARITIES)}")
        seconds, source = GRANULARITIES[named]
    if seconds < 0:
        raise RangeError("a window size is a number of seconds, or 0 for everything since the beginning")
    if first >= last:
        raise RangeError(f"--since {since} is not before --until {until}")
    if seconds != LIFETIME and (last - first) // (seconds * MICROS) > MAX_WINDOWS:
        raise RangeError(f"that is more than {MAX_WINDOWS:,} windows; ask for less time or for larger windows")
    return TimeRange(window_start(first, seconds), last, seconds, source)
