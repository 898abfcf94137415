"""Cells: counts per source partition and label, kept small, since a worker holds days of them.

A cell's offset and count are one integer, offset in the high bits, so that the higher of two snapshots is the newer;
labels are numbers.
"""

from collections.abc import Iterable
from typing import NamedTuple

from unmask.schemas.scope import Scope

__all__ = ["CellStore", "Label", "LabelIndex"]

_COUNT_BITS = 48
_COUNT_MASK = (1 << _COUNT_BITS) - 1
_PARTITION_BITS = 20
_PARTITION_MASK = (1 << _PARTITION_BITS) - 1


class Label(NamedTuple):
    """What a cell counts."""

    scope: Scope
    measure: str
    capability: str
    code: str


class LabelIndex:
    """Numbers labels, once each."""

    def __init__(self) -> None:
        self._numbers: dict[Label, int] = {}
        self._labels: list[Label] = []

    def number(self, label: Label) -> int:
        """The label's number, new if need be."""
        number = self._numbers.get(label)
        if number is None:
            number = self._numbers[label] = len(self._labels)
            self._labels.append(label)
        return number

    def label(self, number: int) -> Label:
        """The label that has the number."""
        return self._labels[number]

    def __len__(self) -> int:
        return len(self._labels)


class CellStore:
    """The cells of one window: per source partition and label, and per correction."""

    __slots__ = ("_cells", "_corrections")

    def __init__(self) -> None:
        self._cells: dict[int, int] = {}
        self._corrections: dict[tuple[int, str, int], int] = {}

    def put(self, partition: int, label: int, offset: int, count: int, correction: tuple[str, int] | None) -> bool:
        """Takes a snapshot in. False where a newer one is known already, or it changes nothing."""
        packed = offset << _COUNT_BITS | count
        place = label << _PARTITION_BITS | partition
        if correction is None:
            known = self._cells.get(place, -1)
            if packed <= known:
                return False
            self._cells[place] = packed
        else:
            key = (place, *correction)
            known = self._corrections.get(key, -1)
            if packed <= known:
                return False
            self._corrections[key] = packed
        return known < 0 or known & _COUNT_MASK != count

    def drop(self, partition: int, label: int, correction: tuple[str, int] | None) -> None:
        """Forgets a cell."""
        place = label << _PARTITION_BITS | partition
        if correction is None:
            self._cells.pop(place, None)
        else:
            self._corrections.pop((place, *correction), None)

    def sums(self) -> Iterable[tuple[int, int]]:
        """Label and count of all cells of the label together."""
        sums: dict[int, int] = {}
        for place, packed in self._cells.items():
            label = place >> _PARTITION_BITS
            sums[label] = sums.get(label, 0) + (packed & _COUNT_MASK)
        for (place, _, _), packed in self._corrections.items():
            label = place >> _PARTITION_BITS
            sums[label] = sums.get(label, 0) + (packed & _COUNT_MASK)
        return sums.items()

    def __len__(self) -> int:
        return len(self._cells) + len(self._corrections)
