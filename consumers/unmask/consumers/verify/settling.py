"""Patience: what disagrees is a difference only once it has stayed the same, on both sides, for a while.

The recount never goes further than the stream says that it has read, so that all the stream still needs is time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from unmask.consumers.verify.outcome import Mismatch

__all__ = ["Settling"]


@dataclass(slots=True)
class Settling:
    """Remembers since when mismatches stand. `patience` and `now` are seconds of any steady clock."""

    patience: float
    _since: dict[tuple[str, str], tuple[Mismatch, float]] = field(default_factory=dict)

    def note(self, mismatches: Iterable[Mismatch], now: float) -> tuple[list[Mismatch], list[Mismatch]]:
        """Takes the mismatches of one comparison in; returns those that are certain and those that may still heal."""
        before, self._since = self._since, {}
        certain: list[Mismatch] = []
        open_still: list[Mismatch] = []
        for mismatch in mismatches:
            identity = (mismatch.what, mismatch.key)
            known, since = before.get(identity, (None, now))
            self._since[identity] = (mismatch, since if known == mismatch else now)
            settled = known == mismatch and now - since >= self.patience
            (certain if settled else open_still).append(mismatch)
        return certain, open_still
