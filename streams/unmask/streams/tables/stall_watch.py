"""The stall watch: finds a consumer that reads nothing although there is something to read, and says nothing of it."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

__all__ = ["StallWatch"]

P = TypeVar("P", bound=Hashable)


class StallWatch(Generic[P]):
    """Remembers ends that were not reached yet. Times are seconds of any steady clock."""

    def __init__(self) -> None:
        self._unreached: dict[P, tuple[int, float]] = {}

    def observe(self, ends: Mapping[P, int], positions: Mapping[P, int | None], now: float) -> tuple[P, float] | None:
        """The partition whose end has not been reached for longest, and for how long; None where all were.

        An end counts from when it was first seen; where a log grows, later ends do not take its place.
        """
        unreached: dict[P, tuple[int, float]] = {}
        for place, end in ends.items():
            position = positions.get(place)
            target, since = self._unreached.get(place, (end, now))
            if position is None:
                continue
            if position >= target:
                target, since = end, now
            if position < target:
                unreached[place] = (target, since)
        self._unreached = unreached
        if not unreached:
            return None
        worst = min(unreached, key=lambda place: unreached[place][1])
        return worst, now - unreached[worst][1]

    def forget(self) -> None:
        """Begins anew."""
        self._unreached.clear()
