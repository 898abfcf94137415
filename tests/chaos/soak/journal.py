"""A host's own journal: one small entry in a memory-mapped file before each record call.

What is written to a shared mapping is the kernel's, so that a SIGKILL takes nothing of it; and writing costs no call
into the system. The entry's instant is the one that the emitter's clock then gives to the call. A record call follows
its entry and comes before the next one: only of the last entry of a killed host it is not known whether it was made.
"""

import json
import mmap
import os
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Entry", "Journal", "Kind", "LifeJournal", "count_entries", "read_journals"]

_ENTRY = struct.Struct("<BBBBIIQ")
_MARK = 0xA5
_ENTRIES = 1 << 20  # the file is sparse, so that room costs nothing
_SUFFIX = ".journal"


class Kind(IntEnum):
    """What the host is about to do."""

    ATTEMPT = 1
    """An attempt; `code` is its entry point."""
    FALLBACK = 2
    """A fallback; `code` is its failure."""
    MASKED = 3
    """A masked error; `code` is its failure."""
    OPEN = 4
    """A session begins."""
    CLOSE = 5
    """A session ends; `code` is 0 for success, 1 for failure."""
    CLOSING = 6
    """The emitter is closed; nothing is recorded after it."""


class Entry(NamedTuple):
    """One entry. Session and operation are numbers within the life, 0 for none."""

    kind: int
    capability: int
    code: int
    session: int
    operation: int
    micros: int


class Journal:
    """The journal of one life of a host."""

    def __init__(self, path: Path) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(file, _ENTRIES * _ENTRY.size)
        self._map = mmap.mmap(file, _ENTRIES * _ENTRY.size)
        os.close(file)
        self._at = 0
        self._facts = path.with_suffix(".json")

    def describe(self, **facts: Any) -> None:
        """Who writes: once, before the first entry."""
        draft = self._facts.with_suffix(".draft")
        draft.write_text(json.dumps(facts))
        draft.rename(self._facts)

    def write(self, kind: Kind, capability: int, code: int, session: int, operation: int, micros: int) -> None:
        """One entry. Raises ValueError where the journal is full."""
        end = self._at + _ENTRY.size
        self._map[self._at : end] = _ENTRY.pack(kind, capability, code, _MARK, session, operation, micros)
        self._at = end


@dataclass(frozen=True, slots=True)
class LifeJournal:
    """The journal of one life, read once that is over."""

    name: str
    host: str
    emitter_id: str
    release_line: str
    skew_s: float
    entries: tuple[Entry, ...]

    @property
    def killed(self) -> bool:
        """Whether it did not come to its end."""
        return not self.entries or self.entries[-1].kind != Kind.CLOSING

    def session_id(self, session: int) -> str:
        """A session's name."""
        return f"{self.name}-{session}"


def count_entries(folder: Path) -> int:
    """How many entries all journals of a folder have by now; they may still be written."""
    return sum(map(_length, folder.glob(f"*{_SUFFIX}")))


def _length(path: Path) -> int:
    # Entries are written one after the other into zeros, so that halving finds the first that is none.
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return bisect_left(range(_ENTRIES), True, key=lambda n: data[n * _ENTRY.size] == 0)


def read_journals(folder: Path) -> list[LifeJournal]:
    """All journals in a folder. One without its facts belongs to a host that was killed before its emitter was made."""
    return sorted(_read(folder), key=lambda journal: journal.name)


def _read(folder: Path) -> Iterator[LifeJournal]:
    for path in folder.glob(f"*{_SUFFIX}"):
        facts = path.with_suffix(".json")
        if facts.exists():
            yield LifeJournal(path.stem, entries=tuple(_entries(path)), **json.loads(facts.read_text()))


def _entries(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for kind, capability, code, mark, session, operation, micros in _ENTRY.iter_unpack(data):
            if mark != _MARK or not kind:
                # Never begun, or the host died while it wrote: then the call was not made.
                return
            yield Entry(kind, capability, code, session, operation, micros)
