"""The account of one emitter's life, per family. Plain numbers: no clock, no I/O, no lock.

recorded = cut into batches + dropped before that + still in the lane
         = delivered + dropped for any cause + pending
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from unmask.producers.report import FAMILIES
from unmask.schemas.codes import DropCause, Family

__all__ = ["Account", "Totals"]

Drops = Mapping[tuple[Family, DropCause], int]


@dataclass(frozen=True, slots=True)
class Totals:
    """An account as it is kept on a disk: what a later process needs to go on with it."""

    cut: Mapping[Family, int] = field(default_factory=dict)
    """Events in batches, whatever became of these."""
    uncut: Drops = field(default_factory=dict)
    """Dropped before they came into a batch."""
    given_up: Drops = field(default_factory=dict)
    """Dropped with the batch that they were in."""


class Account:
    """Counts what becomes of events once they have left their lane. Drops in the lane are told, not counted here."""

    __slots__ = ("_cut", "_delivered", "_given_up", "_in_lane", "_uncut")

    def __init__(self) -> None:
        self._cut: Counter[Family] = Counter()
        self._delivered: Counter[Family] = Counter()
        self._given_up: Counter[tuple[Family, DropCause]] = Counter()
        self._uncut: Counter[tuple[Family, DropCause]] = Counter()
        self._in_lane: dict[tuple[Family, DropCause], int] = {}

    @classmethod
    def resumed(cls, totals: Totals) -> Self:
        """The account of a life that another process began."""
        account = cls()
        account._cut.update(totals.cut)
        account._uncut.update(totals.uncut)
        account._given_up.update(totals.given_up)
        return account

    def totals(self) -> Totals:
        """What another process needs to go on with this account."""
        uncut = Counter(self._uncut)
        uncut.update(self._in_lane)
        return Totals(dict(self._cut), dict(uncut), dict(self._given_up))

    def told_by_lane(self, family: Family, drops: Mapping[DropCause, int]) -> None:
        """Take over what a lane has dropped so far."""
        for cause, count in drops.items():
            self._in_lane[family, cause] = count

    def cut(self, events: Mapping[Family, int]) -> None:
        """These events have become part of a batch."""
        self._cut.update(events)

    def delivered(self, events: Mapping[Family, int]) -> None:
        """Their batch was acknowledged."""
        self._delivered.update(events)

    def drop_cut(self, events: Mapping[Family, int], cause: DropCause) -> None:
        """Their batch is given up. They stay counted as cut; later batches tell of the loss."""
        for family, count in events.items():
            self._given_up[family, cause] += count

    def drop_uncut(self, family: Family, cause: DropCause, count: int = 1) -> None:
        """Left the lane and never came into a batch."""
        if count:
            self._uncut[family, cause] += count

    def given_up(self) -> int:
        """Events in batches that were given up, of all families."""
        return sum(self._given_up.values())

    def cut_so_far(self, family: Family) -> int:
        """Events in batches, whatever became of these."""
        return self._cut[family]

    def delivered_so_far(self, family: Family) -> int:
        """Events in acknowledged batches."""
        return self._delivered[family]

    def dropped_uncut(self, family: Family) -> int:
        """Dropped before they came into a batch, in the lane included."""
        return sum(
            count for counts in (self._uncut, self._in_lane) for (of, _), count in counts.items() if of is family
        )

    def dropped(self, family: Family) -> dict[DropCause, int]:
        """Dropped for any cause."""
        total: dict[DropCause, int] = {}
        for counts in (self._given_up, self._uncut, self._in_lane):
            for (of, cause), count in counts.items():
                if of is family and count:
                    total[cause] = total.get(cause, 0) + count
        return total

    def on_the_wire(self, about_to_be_cut: Mapping[Family, int]) -> list[dict[str, Any]]:
        """The accounts of a batch that will hold these events: cumulative, each family with anything to tell.

        Every event is in recorded once: when its batch is cut, or when it is dropped before that. It is in dropped once
        it is dropped, before its cut or after it. So what recorded minus dropped grows by between two batches, less
        what the batches between and the later one hold, is what is missing there; it is negative where batches that
        were cut earlier have been given up since, by as much as dropped grows for these. Missing and dropped together
        are exactly what was lost.
        """
        accounts = []
        for family in FAMILIES:
            recorded = self._cut[family] + about_to_be_cut.get(family, 0) + self.dropped_uncut(family)
            drops = _at_most(recorded, self.dropped(family))
            if recorded:
                dropped = [{"cause": str(cause), "count": count} for cause, count in drops.items()]
                accounts.append({"family": str(family), "recorded": recorded, "dropped": dropped})
        return accounts


def _at_most(recorded: int, drops: dict[DropCause, int]) -> dict[DropCause, int]:
    """Never more dropped than recorded: a failing disk may have a batch given up twice, by two processes."""
    excess = sum(drops.values()) - recorded
    for cause in sorted(drops, key=drops.__getitem__, reverse=True) if excess > 0 else ():
        less = min(excess, drops[cause])
        drops[cause] -= less
        excess -= less
    return {cause: count for cause, count in drops.items() if count}
