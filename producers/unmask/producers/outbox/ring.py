"""Counting on a memory-mapped file: exact, without a lock, in one step of the interpreter.

A lap is a mapping of the family's part of the page, with a position of its own. `add` writes the lap's number at the
position and moves it on: that is one call into C (`mmap.write`), which holds the interpreter throughout, so that no
other thread and no signal handler can come between reading the position and moving it. A plain counter would need two
steps, and whoever is interrupted between them puts an old number back.

A lap holds as many counts as the part has words. Whoever finds it full goes over to the next lap: a fresh mapping of
the same part, which begins at its start and overwrites the numbers of the lap before. Who is first makes it for all
(`dict.setdefault`, again one step). So every lap is full to its last word before the next one begins, and a thread that
slept through a lap finds its old one full and can do nothing to the new one. Therefore the part always holds n times
the number L of the newest lap, then that of the lap before, and what was counted is (L - 1) * words + n, at whatever
moment the process is killed: what is written to a shared mapping is the kernel's, not the process's.
"""

import mmap
import os
import sys
from collections.abc import Callable
from functools import partial

__all__ = ["WORD", "Descriptor", "RingLap", "counted"]

WORD = 4


class Descriptor:
    """An open file, closed when nobody can use it any more: a late lap must never be mapped onto another file."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.number)


class RingLap:
    """One lap over `size` bytes at `offset` of a file."""

    __slots__ = ("_file", "_mapping", "_next", "_number", "_offset", "_size", "add")

    def __init__(self, file: Descriptor, offset: int, size: int, number: int = 1) -> None:
        self._mapping = mapping = mmap.mmap(file.number, size, offset=offset)
        self._file, self._offset, self._size, self._number = file, offset, size, number
        self._next: dict[None, RingLap] = {}
        self.add: Callable[[], object] = partial(mapping.write, number.to_bytes(WORD, sys.byteorder))
        """Count one. Raises ValueError, counting nothing, where the lap is full."""

    def following(self) -> "RingLap":
        """The lap after this one, which is full. Raises OSError where there is no memory or no descriptor for it."""
        known = self._next.get(None)
        if known is None:
            known = self._next.setdefault(None, RingLap(self._file, self._offset, self._size, self._number + 1))
            # A sleeping thread may keep any number of laps; they must not keep a mapping and a descriptor each. Adding
            # to a closed mapping is a ValueError too.
            self._mapping.close()
        return known


def counted(part: bytes) -> int:
    """How often `add` was called, from the bytes of a family's part."""
    words = memoryview(part).cast("I").tolist()
    lap = words[0]
    return (lap - 1) * len(words) + words.count(lap) if lap else 0
