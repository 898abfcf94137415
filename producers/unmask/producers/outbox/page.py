"""The page: a small memory-mapped file of one emitter's life, written by the living and read by its adopter.

It says who the emitter is, how its life stands, and how many events its record calls have counted. All of its space is
taken from the disk when it is made, so that writing to it needs no disk later, and a full disk cannot hurt the host.
"""

import json
import mmap
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from unmask.producers.buffer import Buffer
from unmask.producers.outbox.ring import WORD, Descriptor, RingLap, counted
from unmask.producers.outbox.standing import FIRST_STANDING_BYTES, STANDING_BYTES, Standing, newest
from unmask.producers.report import FAMILIES, FIRST_FAMILIES
from unmask.producers.wire import Identity
from unmask.schemas.codes import Family
from unmask.schemas.scope import Scope

__all__ = ["PAGE", "Page", "PageReading", "boot_id", "read_page"]

PAGE = "page"
"""The file's name in the folder of its life."""

_HEADER = 4_096
_PART = max(16_384, mmap.ALLOCATIONGRANULARITY)
"""Bytes of one family's count. A mapping begins at a multiple of the granularity, and a page may be 64 KiB."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand in a page. What a magic number stands for never changes; another layout has another one."""

    magic: bytes
    families: tuple[Family, ...]
    """In the order of their counts."""
    slot: int
    """Bytes between the two standings."""
    standing: int
    """Bytes of a standing."""

    @property
    def slots(self) -> tuple[int, int]:
        """Where the two standings begin."""
        return _HEADER, _HEADER + self.slot

    @property
    def newest(self) -> int:
        """Where it stands when about the newest event of each family was recorded."""
        return _HEADER + 2 * self.slot

    @property
    def before(self) -> int:
        """Where it stands how many were counted elsewhere."""
        return self.newest + 8 * len(self.families)


_FIRST = _Layout(b"UNMASKP1", FIRST_FAMILIES, 1_024, FIRST_STANDING_BYTES)
"""As the first SDKs wrote it. It is read; they do not know the other one, and leave its account to whoever does."""
_NOW = _Layout(b"UNMASKP2", FAMILIES, 2_048, STANDING_BYTES)

assert _NOW.slot >= STANDING_BYTES
assert _NOW.before + 8 * len(FAMILIES) <= _PART


def boot_id() -> str:
    """Which run of the machine this is; empty where the system does not say."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


class Page:
    """The page of a life that goes on."""

    def __init__(self, path: Path, identity: Identity) -> None:
        """Make it. Raises OSError."""
        self._file = Descriptor(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        size = _PART * (1 + len(FAMILIES))
        _allocate(self._file.number, size)
        _write_all(self._file.number, _header(identity))
        self._head = mmap.mmap(self._file.number, _PART)
        self._before = memoryview(self._head)[_NOW.before : _NOW.before + 8 * len(FAMILIES)].cast("Q")
        self._slots = cycle(_NOW.slots)

    def count_for(self, buffer: Buffer) -> None:
        """Have the record calls count here from now on."""
        for index, lane in enumerate(buffer.lanes):
            lane.newest = memoryview(self._head)[_NOW.newest + 8 * index : _NOW.newest + 8 * (index + 1)].cast("Q")
            lap = RingLap(self._file, _PART * (1 + index), _PART)
            lane.lap, lane.count = lap, lap.add
        self.note_counts_in_memory(buffer)

    def note_counts_in_memory(self, buffer: Buffer) -> None:
        """Write down what was counted elsewhere: before the page was there, or for want of memory for a lap."""
        for index, lane in enumerate(buffer.lanes):
            self._before[index] = lane.in_memory.value

    def write(self, standing: Standing) -> None:
        """Put a standing beside the one before it: one of the two is whole, whenever the process dies."""
        slot = next(self._slots)
        self._head[slot : slot + STANDING_BYTES] = standing.pack()


@dataclass(frozen=True, slots=True)
class PageReading:
    """What a page says once nobody writes to it."""

    identity: Identity
    standing: Standing | None
    recorded: Mapping[Family, int]
    """Of the families that the page tells of; a host whose page lacks one could not record any."""
    newest: int
    """When about the newest event was recorded, in microseconds; 0 where none was."""
    same_boot: bool
    """Whether the machine has run on since the page was made. If not, its last words may not have reached the disk."""


def read_page(path: Path) -> PageReading | None:
    """The page in a file, in any layout that is known; None where there is none or it was damaged."""
    try:
        data = path.read_bytes()
        layout = next(each for each in (_NOW, _FIRST) if data.startswith(each.magic))
        header = _parse(data[:_HEADER])
    except (OSError, StopIteration, ValueError, KeyError, TypeError):
        return None
    part, families = int(header["part"]), layout.families
    if part < WORD or len(data) < part * (1 + len(families)):
        return None
    before = memoryview(data)[layout.before : layout.before + 8 * len(families)].cast("Q")
    events = memoryview(data)[layout.newest : layout.newest + 8 * len(families)].cast("Q")
    return PageReading(
        identity=_identity(header),
        standing=newest(*(Standing.unpack(data[slot : slot + layout.standing]) for slot in layout.slots)),
        recorded={
            family: before[index] + counted(data[part * (1 + index) : part * (2 + index)])
            for index, family in enumerate(families)
        },
        newest=max(events) // 1_000,
        same_boot=header["boot"] == boot_id(),
    )


def _header(identity: Identity) -> bytes:
    said = {
        "emitter_id": identity.emitter_id,
        "started_at": identity.started_at,
        "scope": list(identity.scope),
        "heartbeat_ms": identity.heartbeat_ms,
        "sdk": identity.sdk,
        "witnesses": list(identity.witnesses),
        "boot": boot_id(),
        "part": _PART,
    }
    body = json.dumps(said).encode()
    return _NOW.magic + len(body).to_bytes(4, "little") + zlib.crc32(body).to_bytes(4, "little") + body


def _parse(header: bytes) -> dict[str, Any]:
    length, checksum = int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:16], "little")
    body = header[16 : 16 + length]
    if zlib.crc32(body) != checksum:
        raise ValueError("not a page")
    said: dict[str, Any] = json.loads(body)
    return said


def _identity(said: Mapping[str, Any]) -> Identity:
    return Identity(
        said["emitter_id"], said["started_at"], Scope(*said["scope"]), said["heartbeat_ms"], said["sdk"],
        tuple(said.get("witnesses", ())),
    )  # fmt: skip


def _allocate(file: int, size: int) -> None:
    with suppress(AttributeError):
        # Refuses at once where the disk has not so much left; zeros alone might be left out by the file system.
        os.posix_fallocate(file, 0, size)
    _write_all(file, bytes(size))


def _write_all(file: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(file, data[written:], written)
