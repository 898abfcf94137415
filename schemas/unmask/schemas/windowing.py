"""Window arithmetic: tumbling windows in UTC over event time. Instants and starts are microseconds since the epoch.

A window size is given in seconds; size 0 is the lifetime window, which starts at 0 and never ends.
"""

from collections.abc import Iterator

__all__ = ["LIFETIME", "MICROS", "window_end", "window_start", "windows_touching"]

MICROS = 1_000_000
LIFETIME = 0


def window_start(micros: int, seconds: int) -> int:
    """Start of the window of `seconds` that holds the instant; 0 for the lifetime window."""
    if seconds == LIFETIME:
        return 0
    size = seconds * MICROS
    return micros - micros % size


def window_end(start: int, seconds: int) -> int:
    """End (exclusive) of the window that starts at `start`."""
    return start + seconds * MICROS


def windows_touching(first: int, last: int, seconds: int) -> Iterator[int]:
    """Starts of all windows that overlap the closed interval from `first` to `last`, in order."""
    if seconds == LIFETIME:
        yield 0
        return
    size = seconds * MICROS
    start = first - first % size
    while start <= last:
        yield start
        start += size
