"""The batches of one life in a SQLite file. One thread uses it, the background thread of an emitter.

WAL with synchronous=NORMAL: a commit is a write that does not wait for the disk. It outlives the process, however that
ends; after a loss of power the last commits may be missing, but never a part of one.

The table of batches is as the first SDKs made it, with the counts of the first four families: they find every batch of
a later SDK in it, undamaged, and can send it. What a batch holds of the further families stands beside it, in a table
of its own.
"""

import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from unmask.producers import fork
from unmask.producers.outbox.standing import Standing
from unmask.producers.report import FAMILIES, FIRST_FAMILIES, FURTHER_FAMILIES
from unmask.producers.store import StoredBatch
from unmask.schemas.codes import Family

__all__ = ["Batches"]

_FILE = "batches.db"
_BROKEN = "broken-*.db"
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS batches (
    seq INTEGER PRIMARY KEY, sent_at INTEGER NOT NULL, closing INTEGER NOT NULL,
    {", ".join(f"{family} INTEGER NOT NULL" for family in FIRST_FAMILIES)},
    size INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS further (
    seq INTEGER PRIMARY KEY, {", ".join(f"{family} INTEGER NOT NULL" for family in FURTHER_FAMILIES)},
    further_checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS standing (one INTEGER PRIMARY KEY CHECK (one = 1), packed BLOB NOT NULL);
"""
_INSERT = f"INSERT OR REPLACE INTO batches VALUES (?, ?, ?, {', '.join('?' * len(FIRST_FAMILIES))}, ?, ?, ?)"
_INSERT_FURTHER = f"INSERT OR REPLACE INTO further VALUES (?, {', '.join('?' * len(FURTHER_FAMILIES))}, ?)"
_COUNTS = ", ".join((*FIRST_FAMILIES, *(f"COALESCE({family}, 0)" for family in FURTHER_FAMILIES)))
_FROM = "FROM batches LEFT JOIN further USING (seq)"
_SELECT = f"SELECT seq, sent_at, closing, {_COUNTS}, further_checksum, checksum, data {_FROM}"
_HAS_FURTHER = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'further'"
_SELECT_FIRST = (
    f"SELECT seq, sent_at, closing, {', '.join((*FIRST_FAMILIES, *'0' * len(FURTHER_FAMILIES)))}, "
    "NULL, checksum, data FROM batches"
)
_DELETE, _DELETE_FURTHER = "DELETE FROM batches WHERE seq = ?", "DELETE FROM further WHERE seq = ?"
_STAND = "INSERT OR REPLACE INTO standing VALUES (1, ?)"
# A file that holds nothing any more is made small again only where it has grown beyond this many pages.
_SMALL = 1_024
_READ, _READ_BYTES = 32, 4_000_000


class Batches:
    """An open file. Every method that touches it raises sqlite3.Error."""

    def __init__(self, folder: Path, emitter_id: str) -> None:
        """Open it, new or as it was left. What an earlier opener could not read is looked through once more."""
        self._emitter_id = emitter_id
        self._path = folder / _FILE
        self._database = _connect(self._path)
        try:
            self._database.executescript(_SCHEMA)
            for broken in sorted(folder.glob(_BROKEN)):
                self._take_over(broken)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def put_aside(folder: Path) -> None:
        """The file is damaged: have the next opener begin a new one and take over whatever can be read."""
        taken = len(list(folder.glob(_BROKEN)))
        for suffix in ("-wal", "-shm", "-journal", ""):
            with suppress(FileNotFoundError):
                (folder / (_FILE + suffix)).rename(folder / f"broken-{taken}.db{suffix}")

    def commit(self, put: Collection[StoredBatch], gone: Collection[int], standing: Standing) -> None:
        """All of it or nothing: batches to keep, batches to keep no longer, and how the life stands then."""
        execute, many = self._database.execute, self._database.executemany
        execute("BEGIN IMMEDIATE")
        try:
            for delete in (_DELETE, _DELETE_FURTHER):
                many(delete, ((seq,) for seq in gone))
            many(_INSERT, map(_row, put))
            many(_INSERT_FURTHER, filter(None, map(_further_row, put)))
            execute(_STAND, (standing.pack(),))
            execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                execute("ROLLBACK")
            raise

    def standing(self) -> Standing | None:
        """How the life stood at the last commit."""
        with closing(self._database.execute("SELECT packed FROM standing")) as found:
            row = found.fetchone()
        return None if row is None else Standing.unpack(row[0])

    def each(self) -> Iterator[tuple[int, int, Mapping[Family, int]]]:
        """batch_seq, bytes and events of every batch, in order."""
        with closing(self._database.execute(f"SELECT seq, size, {_COUNTS} {_FROM} ORDER BY seq")) as rows:
            for seq, size, *counts in rows:
                yield seq, size, _events(counts)

    def closing_kept(self) -> bool:
        """Whether the emitter's last batch is among them."""
        with closing(self._database.execute("SELECT 1 FROM batches WHERE closing LIMIT 1")) as rows:
            return rows.fetchone() is not None

    def read(self, after: int) -> list[tuple[StoredBatch, bool]]:
        """The next batches behind `after`, each with whether it is undamaged. Empty where there are none."""
        found: list[tuple[StoredBatch, bool]] = []
        size = 0
        with closing(self._database.execute(f"{_SELECT} WHERE seq > ? ORDER BY seq LIMIT {_READ}", (after,))) as rows:
            for row in rows:
                batch, intact = _batch(self._emitter_id, row)
                found.append((batch, intact))
                size += len(batch.data)
                if size >= _READ_BYTES:
                    break
        return found

    def there(self) -> bool:
        """Whether the file still has its name."""
        return self._path.exists()

    def shrink(self) -> None:
        """Give back the space of a file that is empty now."""
        (pages,) = self._database.execute("PRAGMA page_count").fetchone()
        if pages > _SMALL:
            self._database.execute("VACUUM")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close it. Never raises."""
        with suppress(sqlite3.Error):
            self._database.close()

    def abandon(self) -> None:
        """The process is a forked child: closing the file here would tidy up behind the parent's back."""
        fork.keep_for_ever(self._database)

    def _take_over(self, broken: Path) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for batch in _readable(broken, self._emitter_id):
                self._database.execute(_INSERT, _row(batch))
                if further := _further_row(batch):
                    self._database.execute(_INSERT_FURTHER, further)
            self._database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise
        for suffix in ("-wal", "-shm", "-journal", ""):
            broken.with_name(broken.name + suffix).unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        # The folder's lock keeps everybody else away: no shared memory file, no locking for each transaction.
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL",
                       "journal_size_limit = 4194304", "cache_size = -2000"):  # fmt: skip
            database.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        database.close()
        raise
    return database


def _readable(path: Path, emitter_id: str) -> Iterator[StoredBatch]:
    """Every batch that can be read from both ends towards the damage, and is undamaged itself."""
    try:
        database = _connect(path)
    except sqlite3.Error:
        return
    with closing(database):
        seen: set[int] = set()
        select = _SELECT if _has_further(database) else _SELECT_FIRST
        for order in ("ASC", "DESC"):
            try:
                for row in database.execute(f"{select} ORDER BY seq {order}"):
                    if row[0] in seen:
                        break
                    seen.add(row[0])
                    batch, intact = _batch(emitter_id, row)
                    if intact:
                        yield batch
            except sqlite3.Error:
                continue
            else:
                return


def _has_further(database: sqlite3.Connection) -> bool:
    """Whether a later SDK than the first ones has made it."""
    with suppress(sqlite3.Error):
        return database.execute(_HAS_FURTHER).fetchone() is not None
    return False


def _row(batch: StoredBatch) -> tuple[Any, ...]:
    said = (
        batch.batch_seq, batch.sent_at, int(batch.closing),
        *(batch.events.get(family, 0) for family in FIRST_FAMILIES),
    )  # fmt: skip
    return *said, len(batch.data), _checksum(said, batch.data), batch.data


def _further_row(batch: StoredBatch) -> tuple[int, ...] | None:
    """None where it holds nothing of the further families."""
    counts = [batch.events.get(family, 0) for family in FURTHER_FAMILIES]
    if not any(counts):
        return None
    return batch.batch_seq, *counts, _checksum((batch.batch_seq, *counts), b"")


def _batch(emitter_id: str, row: tuple[Any, ...]) -> tuple[StoredBatch, bool]:
    seq, sent_at, last, *counts, further_checksum, checksum, data = row
    first, further = counts[: len(FIRST_FAMILIES)], counts[len(FIRST_FAMILIES) :]
    intact = isinstance(data, bytes) and _checksum((seq, sent_at, last, *first), data) == checksum
    if further_checksum is not None:
        intact &= _checksum((seq, *further), b"") == further_checksum
    return StoredBatch(emitter_id, seq, data if intact else b"", _events(counts), bool(last), sent_at), intact


def _events(counts: Iterable[int]) -> dict[Family, int]:
    return {family: count for family, count in zip(FAMILIES, counts, strict=True) if count}


def _checksum(said: Iterable[Any], data: bytes) -> int:
    return zlib.crc32(repr(list(said)).encode(), zlib.crc32(data))
