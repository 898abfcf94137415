"""Patience: what disagrees is a difference only if the stream has had all it needs, and time, to publish otherwise.

A mismatch is held against the stream once it has stayed the same, on both sides, since a moment from which on the
stream says that it has read everything that the recount had read then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from unmask.consumers.verify.outcome import Mismatch

__all__ = ["Settling"]


@dataclass(frozen=True, slots=True)
class _Seen:
    mismatch: Mismatch
    at: float
    positions: Mapping[int, int]


@dataclass(slots=True)
class Settling:
    """Remembers since when mismatches stand. `patience` and `now` are seconds of any steady clock."""

    patience: float
    _seen: dict[tuple[str, str], _Seen] = field(default_factory=dict)

    def note(
        self, mismatches: Iterable[Mismatch], positions: Mapping[int, int], stream: Mapping[int, int], now: float
    ) -> tuple[list[Mismatch], list[Mismatch]]:
        """Takes the mismatches of one comparison in; returns those that are differences and those that may still heal.

        `positions` are the offsets up to which the recount has read, `stream` those up to which the stream says that
        it has.
        """
        before, self._seen = self._seen, {}
        certain: list[Mismatch] = []
        open_still: list[Mismatch] = []
        for mismatch in mismatches:
            identity = (mismatch.what, mismatch.key)
            seen = before.get(identity)
            if seen is None or seen.mismatch != mismatch:
                seen = _Seen(mismatch, now, dict(positions))
            self._seen[identity] = seen
            covered = all(stream.get(p, -1) >= offset for p, offset in seen.positions.items())
            (certain if covered and now - seen.at >= self.patience else open_still).append(mismatch)
        return certain, open_still
