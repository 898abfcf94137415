"""How an emitter's life stands, as a few hundred bytes with a checksum: what its adopter goes on from.

The same bytes are kept in two places: in the page, which needs no disk space and is written every turn, and in the
database, in the transaction that changes its batches. Of the two the one with the higher version counts.

First stands what the first SDKs wrote, byte for byte, of the first four families: they read it and pass over the rest.
Behind it stand the further families, under a checksum over all of it.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from unmask.producers.account import Totals
from unmask.producers.report import FIRST_FAMILIES, FURTHER_FAMILIES
from unmask.schemas.codes import DropCause, Family

__all__ = ["FIRST_STANDING_BYTES", "STANDING_BYTES", "Standing", "newest"]

# The order is part of the format; a new cause goes to the end.
_CAUSES = (
    DropCause.BUFFER_FULL, DropCause.OUTBOX_FULL, DropCause.OUTBOX_EXPIRED, DropCause.DISK_FAILED, DropCause.HOST_DIED,
    DropCause.CLOSE_DEADLINE, DropCause.TOO_LARGE, DropCause.INVALID_EVENT,
)  # fmt: skip
_NO_PARTITION = -1
_FIXED = 7


def _numbers(families: tuple[Family, ...]) -> int:
    return 3 * len(families) + 2 * len(families) * len(_CAUSES)


_FIRST = struct.Struct(f"={_FIXED + _numbers(FIRST_FAMILIES)}q")
_FURTHER = struct.Struct(f"={_numbers(FURTHER_FAMILIES)}q")
_CHECKSUM = struct.Struct("=I")
_Key = TypeVar("_Key")

FIRST_STANDING_BYTES = _FIRST.size + _CHECKSUM.size
"""Of one that tells of the first families only."""
STANDING_BYTES = FIRST_STANDING_BYTES + _FURTHER.size + _CHECKSUM.size


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything about a life that its batches on the disk do not say themselves."""

    version: int
    """Counts up with every one that is written."""
    last_seq: int = 0
    last_cut: int = 0
    """sent_at of the last batch, in microseconds."""
    alive: int = 0
    """When this was written, in microseconds by the host's clock."""
    partition: int | None = None
    closing_delivered: bool = False
    told: int = 0
    """Events given up after their cut of which the last batch tells."""
    totals: Totals = field(default_factory=Totals)
    in_file: Mapping[Family, int] = field(default_factory=dict)
    """Events in the batches that the database holds."""
    unsaved: Mapping[Family, int] = field(default_factory=dict)
    """Events in batches that the disk did not take and that were not delivered either."""
    first_only: bool = False
    """Whether an SDK wrote it that knows the first families only; of the further ones it says nothing, then."""

    def pack(self) -> bytes:
        """The bytes."""
        first = _sealed(
            _FIRST.pack(
                self.version,
                self.last_seq,
                self.last_cut,
                self.alive,
                _NO_PARTITION if self.partition is None else self.partition,
                self.closing_delivered,
                self.told,
                *self._of(FIRST_FAMILIES),
            )
        )
        return _sealed(first + _FURTHER.pack(*self._of(FURTHER_FAMILIES)))

    def _of(self, families: tuple[Family, ...]) -> Iterator[int]:
        totals = self.totals
        for counts in (totals.cut, self.in_file, self.unsaved):
            yield from (counts.get(family, 0) for family in families)
        for drops in (totals.uncut, totals.given_up):
            yield from (drops.get((family, cause), 0) for family in families for cause in _CAUSES)

    @classmethod
    def unpack(cls, data: bytes) -> "Standing | None":
        """What was packed; None where the bytes are something else, for example torn."""
        first_only = len(data) == FIRST_STANDING_BYTES
        first, whole = data[:FIRST_STANDING_BYTES], data[:STANDING_BYTES]
        if not _intact(first, FIRST_STANDING_BYTES) or not (first_only or _intact(whole, STANDING_BYTES)):
            return None
        body = _FIRST.unpack(first[: _FIRST.size])
        version, last_seq, last_cut, alive, partition, closing_delivered, told = body[:_FIXED]
        read = _Read(FIRST_FAMILIES, body[_FIXED:])
        if not first_only:
            read.add(FURTHER_FAMILIES, _FURTHER.unpack(whole[FIRST_STANDING_BYTES : -_CHECKSUM.size]))
        cut, in_file, unsaved = read.counts
        uncut, given_up = read.drops
        return cls(
            version, last_seq, last_cut, alive, None if partition == _NO_PARTITION else partition,
            bool(closing_delivered), told, Totals(_some(cut), _some(uncut), _some(given_up)), _some(in_file),
            _some(unsaved), first_only,
        )  # fmt: skip


class _Read:
    """The numbers of a standing, back at their families."""

    def __init__(self, families: tuple[Family, ...], numbers: Iterable[int]) -> None:
        self.counts: tuple[dict[Family, int], ...] = ({}, {}, {})
        self.drops: tuple[dict[tuple[Family, DropCause], int], ...] = ({}, {})
        self.add(families, numbers)

    def add(self, families: tuple[Family, ...], numbers: Iterable[int]) -> None:
        given = iter(numbers)
        for counts in self.counts:
            counts.update((family, next(given)) for family in families)
        for drops in self.drops:
            drops.update(((family, cause), next(given)) for family in families for cause in _CAUSES)


def _sealed(body: bytes) -> bytes:
    return body + _CHECKSUM.pack(zlib.crc32(body))


def _intact(data: bytes, size: int) -> bool:
    return len(data) == size and any(data) and _sealed(data[: -_CHECKSUM.size]) == data


def _some(counts: dict[_Key, int]) -> dict[_Key, int]:
    return {key: count for key, count in counts.items() if count}


def newest(*standings: Standing | None) -> Standing | None:
    """The one with the highest version; None where there is none."""
    return max((each for each in standings if each is not None), key=lambda each: each.version, default=None)
