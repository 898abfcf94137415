"""Patience: what disagrees is a difference only once neither side can still be behind the other.

A mismatch is held against the stream once it has stayed the same, on both sides, for a while, and the recount has come
past everything that stood in the log when the mismatch was seen first: what is published cannot rest on more than that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from unmask.consumers.verify.outcome import Mismatch

__all__ = ["Settling"]


@dataclass(frozen=True, slots=True)
class _Seen:
    mismatch: Mismatch
    since: float
    ends: Mapping[int, int]


@dataclass(slots=True)
class Settling:
    """Remembers since when mismatches stand. `patience` and `now` are seconds of any steady clock."""

    patience: float
    _seen: dict[tuple[str, str], _Seen] = field(default_factory=dict)

    def note(
        self, mismatches: Iterable[Mismatch], counted: Mapping[int, int], ends: Mapping[int, int], now: float
    ) -> tuple[list[Mismatch], list[Mismatch]]:
        """Takes the mismatches of one comparison in; returns those that are certain and those that may still heal.

        `counted` are the offsets up to which the recount has come, `ends` where the log ended after what is published
        had been read.
        """
        before, self._seen = self._seen, {}
        certain: list[Mismatch] = []
        open_still: list[Mismatch] = []
        for mismatch in mismatches:
            identity = (mismatch.what, mismatch.key)
            seen = before.get(identity)
            if seen is None or seen.mismatch != mismatch:
                seen = _Seen(mismatch, now, ends)
            self._seen[identity] = seen
            passed = all(counted.get(partition, 0) >= end for partition, end in seen.ends.items())
            (certain if passed and now - seen.since >= self.patience else open_still).append(mismatch)
        return certain, open_still

    def still_since(self, moment: float) -> bool:
        """Whether any of the mismatches noted last has stood since the moment or longer."""
        return any(seen.since <= moment for seen in self._seen.values())
