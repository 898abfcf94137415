"""What the first SDKs wrote into an outbox, byte by byte, and what they read there: written down apart from the code.

Four families, in this order, and eight causes; a page is a header, two standings, four instants, four numbers, and a
ring of 32-bit numbers for each family.
"""

import json
import mmap
import sqlite3
import struct
import sys
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from unmask.producers.outbox.page import boot_id

__all__ = [
    "SCOPE",
    "batches_of",
    "delete_batch",
    "leave_a_life",
    "pack_standing",
    "standing_of",
    "write_standing",
]

FAMILIES = ("route_attempt", "kernel_fallback", "masked_error", "session_teardown")
CAUSES = 8
SCOPE = ("release_line", "event_contract", "telemetry_backend", "redaction_policy", "switchboard")
PART = max(16_384, mmap.ALLOCATIONGRANULARITY)
_STANDING = struct.Struct(f"={7 + 3 * 4 + 2 * 4 * CAUSES}q")
_TABLES = """
CREATE TABLE batches (
    seq INTEGER PRIMARY KEY, sent_at INTEGER NOT NULL, closing INTEGER NOT NULL,
    route_attempt INTEGER NOT NULL, kernel_fallback INTEGER NOT NULL, masked_error INTEGER NOT NULL,
    session_teardown INTEGER NOT NULL, size INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE standing (one INTEGER PRIMARY KEY CHECK (one = 1), packed BLOB NOT NULL);
"""


def pack_standing(
    version: int,
    last_seq: int,
    last_cut: int,
    alive: int,
    *,
    partition: int,
    cut: Sequence[int],
    in_file: Sequence[int],
) -> bytes:
    """How a life stands; nothing dropped, nothing unsaved."""
    body = _STANDING.pack(version, last_seq, last_cut, alive, partition, 0, 0, *cut, *in_file, *[0] * (4 + 8 * CAUSES))
    return body + struct.pack("=I", zlib.crc32(body))


def make_page(path: Path, emitter: Mapping[str, Any], standing: bytes, recorded: Sequence[int], newest_ns: int) -> None:
    """A page whose record calls have counted this much: in a first lap, which the part has room for."""
    scope = emitter["scope"]
    said = {
        "emitter_id": emitter["emitter_id"],
        "started_at": emitter["started_at"],
        "scope": [scope[part] for part in SCOPE],
        "heartbeat_ms": emitter["heartbeat_ms"],
        "sdk": emitter["sdk"],
        "boot": boot_id(),
        "part": PART,
    }  # fmt: skip
    text = json.dumps(said).encode()
    page = bytearray(PART * 5)
    header = b"UNMASKP1" + struct.pack("<II", len(text), zlib.crc32(text)) + text
    page[: len(header)] = header
    page[5_120 : 5_120 + len(standing)] = standing
    struct.pack_into("=4Q", page, 6_144, *[newest_ns if count else 0 for count in recorded])
    # One event of each family that has any was counted before the page was there.
    struct.pack_into("=4Q", page, 6_176, *[min(1, count) for count in recorded])
    for place, count in enumerate(recorded):
        on_the_page = max(0, count - 1)
        lap = (1).to_bytes(4, sys.byteorder) * on_the_page
        page[PART * (1 + place) : PART * (1 + place) + len(lap)] = lap
    path.write_bytes(page)


def leave_a_life(
    folder: Path, batches: Sequence[tuple[Mapping[str, Any], bytes]], standing: bytes, recorded: Sequence[int]
) -> None:
    """A folder as a host leaves it that was killed with these batches (decoded, encoded) not acknowledged."""
    folder.mkdir(parents=True)
    emitter, newest = batches[0][0]["emitter"], batches[-1][0]["sent_at"] * 1_000
    make_page(folder / "page", emitter, standing, recorded, newest)
    with closing(sqlite3.connect(folder / "batches.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL").fetchall()
        database.executescript(_TABLES)
        for batch, data in batches:
            said = [batch["batch_seq"], batch["sent_at"], int(batch["closing"]), *counts_of(batch)]
            row = (*said, len(data), _checksum(said, data), data)
            database.execute(f"INSERT INTO batches VALUES ({', '.join('?' * len(row))})", row)
        database.execute("INSERT INTO standing VALUES (1, ?)", (standing,))


def counts_of(batch: Mapping[str, Any]) -> list[int]:
    """Events of the four families in a batch."""
    attempts = sum(len(group["occurred_at"]) for group in batch["route_attempts"])
    return [attempts, *(len(batch[field]) for field in ("kernel_fallbacks", "masked_errors", "session_teardowns"))]


def batches_of(folder: Path) -> dict[int, bytes]:
    """What the first SDKs find of a folder's batches: those whose checksum is right."""
    columns = f"seq, sent_at, closing, {', '.join(FAMILIES)}, checksum, data"
    with closing(sqlite3.connect(folder / "batches.db")) as database:
        rows = database.execute(f"SELECT {columns} FROM batches ORDER BY seq").fetchall()
    return {row[0]: row[-1] for row in rows if _checksum(list(row[:7]), row[-1]) == row[7]}


def standing_of(folder: Path) -> tuple[int, ...] | None:
    """What they read of how a life stands: version, last_seq, ..., and the first four families."""
    with closing(sqlite3.connect(folder / "batches.db")) as database:
        (packed,) = database.execute("SELECT packed FROM standing").fetchone()
    body, checksum = packed[: _STANDING.size], packed[_STANDING.size : _STANDING.size + 4]
    return _STANDING.unpack(body) if struct.pack("=I", zlib.crc32(body)) == checksum else None


def write_standing(folder: Path, standing: bytes) -> None:
    """As one of them that was here in the meantime."""
    with closing(sqlite3.connect(folder / "batches.db", isolation_level=None)) as database:
        database.execute("INSERT OR REPLACE INTO standing VALUES (1, ?)", (standing,))


def delete_batch(folder: Path, batch_seq: int) -> None:
    """As one of them that has sent it."""
    with closing(sqlite3.connect(folder / "batches.db", isolation_level=None)) as database:
        database.execute("DELETE FROM batches WHERE seq = ?", (batch_seq,))


def _checksum(said: Sequence[int], data: bytes) -> int:
    return zlib.crc32(repr(list(said)).encode(), zlib.crc32(data))
