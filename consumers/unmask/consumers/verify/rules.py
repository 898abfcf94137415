"""What a recount must be told to read the log as the stream does. All instants and durations are microseconds."""

from dataclasses import dataclass

from unmask.schemas.windowing import MICROS

__all__ = ["SKEW", "RecountRules", "reach"]

SKEW = 300 * MICROS
"""Events further than this ahead of the broker's clock count in the broker's window."""

_KEPT = 7 * 24 * 3600 * MICROS
_MOST_WINDOWS = 100_000


def reach(seconds: int) -> int:
    """How far back from its end a stretch of time may touch windows of a size, so that no clock can fill the topics."""
    return min(_KEPT, _MOST_WINDOWS * seconds * MICROS)


@dataclass(frozen=True, slots=True)
class RecountRules:
    """The settings that the recounted workers ran with, as far as the log does not carry them."""

    window_seconds: tuple[int, ...] = (60,)
    """Sizes of the windows to recount; 0 is the lifetime window, of which only the counts are compared."""
    silence_factor: int = 3
    """Heartbeats that an emitter may miss before it is silent."""
    write_off: int = 0
    """How much longer than that its windows stay LOSSY."""
    threshold: float | None = None
    """What share of degraded operations is too much; None: what each verdict says itself."""
    blocked_turns: int = 20
    """Turns with a refusal and without an accepted write from which on enforcement is found to block a delegation."""
    unknown_batch: int = 10 * MICROS
    """The time that an unreadable record of an unknown emitter is taken to cover."""
    long_batch: int = 3600 * MICROS
    """The longest time that an unreadable record is taken to cover, whosever it is: what lies further back its
    emitter's own account tells, for its own scope alone."""
    session_memory: int = 24 * 3600 * MICROS
    """How long after its end a session may still be changed by events that come later."""
