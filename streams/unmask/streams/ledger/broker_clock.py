"""The broker's clock, learned from the append times that its acknowledgements carry.

A worker's own clock decides nothing: a worker that is an hour ahead would close windows an hour early. An
acknowledgement arrives after the append, so that the estimate is never ahead of the broker.
"""

import time
from collections.abc import Callable

__all__ = ["BrokerClock"]


class BrokerClock:
    """Estimates the broker's time in microseconds; never ahead of it, never going back."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._offset: float | None = None
        self._latest = 0

    def observe(self, append_ms: int) -> None:
        """A record was acknowledged just now and had been appended at `append_ms`, milliseconds since the epoch."""
        offset = append_ms / 1000 - self._monotonic()
        # The fastest acknowledgement is the best estimate; it fades, so that a broker's clock set back is followed.
        if self._offset is None or offset > self._offset:
            self._offset = offset
        else:
            self._offset += (offset - self._offset) * 0.01

    def now(self) -> int | None:
        """Microseconds since the epoch; None before the first acknowledgement."""
        if self._offset is None:
            return None
        self._latest = max(self._latest, int((self._monotonic() + self._offset) * 1_000_000))
        return self._latest
