"""The fold's parameters: sizes and horizons that decide what is counted where. All durations are microseconds."""

from dataclasses import dataclass, field
from math import gcd

from unmask.schemas.windowing import MICROS

__all__ = ["SKEW_US", "FoldRules"]

SKEW_US = 5 * 60 * MICROS
"""How far ahead of the broker's clock an event may be; further ahead, it counts in the broker's window."""

_MAX_WINDOWS = 100_000  # of one size that one stretch of time may touch, so that no clock can fill the memory


@dataclass(frozen=True, slots=True)
class FoldRules:
    """What the fold needs to know beside the log. Equal on all workers of a namespace."""

    window_seconds: tuple[int, ...] = (60, 3600)
    outage_seconds: int = 60
    """One of these sizes: of the windows in which the sessions that met an unreachable upstream are kept."""
    grace_us: int = 5 * MICROS
    horizon_us: int = 3600 * MICROS
    """How long after its end a window's cells stay open; later events become corrections."""
    session_horizon_us: int = 24 * 3600 * MICROS
    """How long an ended session is remembered."""
    emitter_horizon_us: int = 7 * 24 * 3600 * MICROS
    """How long an emitter that sends nothing is remembered, so that its batches are still known as duplicates. No
    stretch of time that is witnessed or flawed reaches further back; the topics behind keep no window for longer."""
    silence_factor: int = 3
    """Heartbeats that an emitter may miss before it is silent."""
    write_off_us: int = 0
    """How much longer than that its windows stay lossy because it is silent."""
    quarantine_limit: int = 1000
    """Unreadable records in a row after which the worker stops."""
    label_limit: int = 20_000
    """How many series (scope, measure, labels) a partition keeps apart; the labels of further ones are merged."""
    open_session_limit: int = 10_000
    """How many sessions one emitter may have open; of more, the one opened first counts as abandoned."""
    gap_limit: int = 256
    """How many gaps of one emitter may still be filled; of more, the oldest stays lossy for good."""

    grain_us: int = field(init=False)
    """The longest time that divides all window sizes: events within it share their windows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "grain_us", gcd(*self.window_seconds) * MICROS)

    def evicted(self, start: int, seconds: int, newest: int) -> bool:
        """Whether a window's cells are no longer open for a record with broker time `newest`."""
        return seconds > 0 and start + seconds * MICROS + self.horizon_us <= newest

    def starts(self, first: int, last: int, seconds: int) -> range:
        """Starts of the windows of one size that overlap the closed interval, as far back as windows are kept."""
        size = seconds * MICROS
        begin = max(first, last - min(self.emitter_horizon_us, _MAX_WINDOWS * size))
        return range(begin - begin % size, last + 1, size)
