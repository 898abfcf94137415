"""The account of one emitter's life, per family. Plain numbers: no clock, no I/O, no lock.

recorded = cut into batches + dropped before that + still in the lane
         = delivered + dropped for any cause + pending
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from unmask.producers.report import FAMILIES
from unmask.schemas.codes import DropCause, Family

__all__ = ["Account"]


class Account:
    """Counts what becomes of events once they have left their lane. Drops in the lane are told, not counted here."""

    __slots__ = ("_cut", "_delivered", "_dropped_cut", "_dropped_uncut", "_in_lane")

    def __init__(self) -> None:
        self._cut: Counter[Family] = Counter()
        self._delivered: Counter[Family] = Counter()
        self._dropped_cut: Counter[tuple[Family, DropCause]] = Counter()
        self._dropped_uncut: Counter[tuple[Family, DropCause]] = Counter()
        self._in_lane: dict[tuple[Family, DropCause], int] = {}

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
            self._dropped_cut[family, cause] += count

    def drop_uncut(self, family: Family, cause: DropCause, count: int = 1) -> None:
        """Left the lane and never came into a batch."""
        if count:
            self._dropped_uncut[family, cause] += count

    def cut_so_far(self, family: Family) -> int:
        """Events in batches, whatever became of these."""
        return self._cut[family]

    def delivered_so_far(self, family: Family) -> int:
        """Events in acknowledged batches."""
        return self._delivered[family]

    def dropped_uncut(self, family: Family) -> int:
        """Dropped before they came into a batch, in the lane included."""
        before = sum(count for (of, _), count in self._dropped_uncut.items() if of is family)
        return before + sum(count for (of, _), count in self._in_lane.items() if of is family)

    def dropped(self, family: Family) -> dict[DropCause, int]:
        """Dropped for any cause."""
        total: dict[DropCause, int] = {}
        for counts in (self._dropped_cut, self._dropped_uncut, self._in_lane):
            for (of, cause), count in counts.items():
                if of is family and count:
                    total[cause] = total.get(cause, 0) + count
        return total

    def on_the_wire(self, about_to_be_cut: Mapping[Family, int]) -> list[dict[str, Any]]:
        """The accounts of a batch that will hold these events: cumulative, each family with anything to tell.

        Here recorded is what was cut plus all drops, so that recorded minus dropped is what was cut: a reader finds
        how much a missing batch held from its neighbours alone, even where it was given up after its cut.
        """
        accounts = []
        for family in FAMILIES:
            drops = self.dropped(family)
            recorded = self._cut[family] + about_to_be_cut.get(family, 0) + sum(drops.values())
            if recorded:
                dropped = [{"cause": str(cause), "count": count} for cause, count in drops.items()]
                accounts.append({"family": str(family), "recorded": recorded, "dropped": dropped})
        return accounts
