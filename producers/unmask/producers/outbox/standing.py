"""How an emitter's life stands, as a few hundred bytes with a checksum: what its adopter goes on from.

The same bytes are kept in two places: in the page, which needs no disk space and is written every turn, and in the
database, in the transaction that changes its batches. Of the two the one with the higher version counts.
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from unmask.producers.account import Totals
from unmask.producers.report import FAMILIES
from unmask.schemas.codes import DropCause, Family

__all__ = ["STANDING_BYTES", "Standing", "newest"]

# The order is part of the format; a new cause goes to the end.
_CAUSES = (
    DropCause.BUFFER_FULL, DropCause.OUTBOX_FULL, DropCause.OUTBOX_EXPIRED, DropCause.DISK_FAILED, DropCause.HOST_DIED,
    DropCause.CLOSE_DEADLINE, DropCause.TOO_LARGE, DropCause.INVALID_EVENT,
)  # fmt: skip
_PAIRS = tuple((family, cause) for family in FAMILIES for cause in _CAUSES)
_NO_PARTITION = -1
_FIXED = 7
_LAYOUT = struct.Struct(f"={_FIXED + 3 * len(FAMILIES) + 2 * len(_PAIRS)}q")
_CHECKSUM = struct.Struct("=I")
_Key = TypeVar("_Key")

STANDING_BYTES = _LAYOUT.size + _CHECKSUM.size


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

    def pack(self) -> bytes:
        """The bytes."""
        totals = self.totals
        body = _LAYOUT.pack(
            self.version,
            self.last_seq,
            self.last_cut,
            self.alive,
            _NO_PARTITION if self.partition is None else self.partition,
            self.closing_delivered,
            self.told,
            *(counts.get(family, 0) for counts in (totals.cut, self.in_file, self.unsaved) for family in FAMILIES),
            *(drops.get(pair, 0) for drops in (totals.uncut, totals.given_up) for pair in _PAIRS),
        )
        return body + _CHECKSUM.pack(zlib.crc32(body))

    @classmethod
    def unpack(cls, data: bytes) -> "Standing | None":
        """What was packed; None where the bytes are something else, for example torn."""
        body, checksum = data[: _LAYOUT.size], data[_LAYOUT.size : STANDING_BYTES]
        if len(data) < STANDING_BYTES or not any(body) or _CHECKSUM.pack(zlib.crc32(body)) != checksum:
            return None
        version, last_seq, last_cut, alive, partition, closing_delivered, told, *numbers = _LAYOUT.unpack(body)
        given = iter(numbers)
        cut, in_file, unsaved = ({family: next(given) for family in FAMILIES} for _ in range(3))
        uncut, given_up = ({pair: next(given) for pair in _PAIRS} for _ in range(2))
        return cls(
            version, last_seq, last_cut, alive, None if partition == _NO_PARTITION else partition,
            bool(closing_delivered), told, Totals(_some(cut), _some(uncut), _some(given_up)), _some(in_file),
            _some(unsaved),
        )  # fmt: skip


def _some(counts: dict[_Key, int]) -> dict[_Key, int]:
    return {key: count for key, count in counts.items() if count}


def newest(*standings: Standing | None) -> Standing | None:
    """The one with the highest version; None where there is none."""
    return max((each for each in standings if each is not None), key=lambda each: each.version, default=None)
