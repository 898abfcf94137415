"""When to try again: exponential back-off with jitter, for one delivery and for a receiver as a whole."""

from dataclasses import dataclass

__all__ = ["Backoff", "Pace"]

_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays in seconds that double with each failure, up to the longest. Half of each is jitter."""

    first: float = 0.5
    longest: float = 60.0

    def delay(self, failures: int, jitter: float) -> float:
        """The delay after so many failures in a row (1 or more); `jitter` is a random number of [0, 1)."""
        doubled = self.first * (1 << min(failures - 1, _MOST_DOUBLINGS))
        return min(self.longest, doubled) * (0.5 + jitter / 2)


class Pace:
    """One receiver's condition: while it fails it gets one request at a time, with growing pauses between them."""

    def __init__(self, backoff: Backoff, *, at_once: int) -> None:
        self._backoff = backoff
        self._at_once = at_once
        self.failures = 0
        """Failures since it last answered as it should."""
        self.not_before = 0.0
        """Monotonic time before which nothing is sent."""

    def may_send(self, now: float, under_way: int) -> bool:
        """Whether another request may begin."""
        return now >= self.not_before and under_way < (self._at_once if self.failures == 0 else 1)

    def accepted(self) -> None:
        """It took a request, or refused one for what is in it, which shows that it works."""
        self.failures = 0
        self.not_before = 0.0

    def failed(self, now: float, jitter: float, asked_for: float | None) -> float:
        """It did not take a request; the pause in seconds. `asked_for` is what it asked for itself."""
        self.failures += 1
        pause = max(self._backoff.delay(self.failures, jitter), asked_for or 0.0)
        self.not_before = max(self.not_before, now + pause)
        return pause
