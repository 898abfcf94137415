"""The ledger's marks as they came: when each source partition had been read up to where. Times are microseconds."""

from bisect import bisect_right
from collections import defaultdict
from itertools import pairwise
from operator import itemgetter

__all__ = ["Marks"]


class Marks:
    """What a reader of one table partition is told, since each has the marks of all source partitions."""

    def __init__(self) -> None:
        self._told: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def take(self, partition: int, offset: int, published: int) -> None:
        """A mark. One that opens windows again tells of an earlier offset; it says nothing new of how far was read."""
        told = self._told[partition]
        if not told or offset >= told[-1][0]:
            told.append((offset, published))

    @property
    def partitions(self) -> int:
        """How many source partitions have been committed by now."""
        return len(self._told)

    def known_at(self, partition: int, offset: int) -> int | None:
        """When the ledger had told, at the latest, that it had read the record at an offset; None if never."""
        told = self._told.get(partition, [])
        place = bisect_right(told, offset, key=itemgetter(0))
        return told[place][1] if place < len(told) else None

    def standstill(self, until: int) -> int:
        """The longest time without a mark of some source partition; `until` is now."""
        times = ([*(at for _, at in told), until] for told in self._told.values())
        return max((after - before for row in times for before, after in pairwise(row)), default=0)
