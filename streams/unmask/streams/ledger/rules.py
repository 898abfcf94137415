"""The fold's parameters: sizes and horizons that decide what is counted where. All durations are microseconds."""

from dataclasses import dataclass

from unmask.schemas.windowing import MICROS

__all__ = ["SKEW_US", "FoldRules"]

SKEW_US = 5 * 60 * MICROS
"""How far ahead of the broker's clock an event may be; further ahead, it counts in the broker's window."""


@dataclass(frozen=True, slots=True)
class FoldRules:
    """What the fold needs to know beside the log. Equal on all workers of a namespace."""

    window_seconds: tuple[int, ...] = (60, 3600)
    grace_us: int = 5 * MICROS
    horizon_us: int = 3600 * MICROS
    """How long after its end a window's cells stay open; later events become corrections."""
    session_horizon_us: int = 24 * 3600 * MICROS
    """How long an ended session is remembered."""
    emitter_horizon_us: int = 7 * 24 * 3600 * MICROS
    """How long an emitter that sends nothing is remembered, so that its batches are still known as duplicates."""
    silence_factor: int = 3
    """Heartbeats that an emitter may miss before it is silent."""
    write_off_us: int = 0
    """How much longer than that its windows stay lossy because it is silent."""
    quarantine_limit: int = 1000
    """Unreadable records in a row after which the worker stops."""

    def evicted(self, start: int, seconds: int, newest: int) -> bool:
        """Whether a window's cells are no longer open for a record with broker time `newest`."""
        return seconds > 0 and start + seconds * MICROS + self.horizon_us <= newest
