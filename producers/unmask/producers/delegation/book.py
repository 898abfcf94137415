"""The accounts of delegations in a SQLite file, which all processes of a host application share.

WAL with synchronous=NORMAL: a commit is a write that does not wait for the disk. It outlives the process, however that
ends. Each transaction reads the account, adds to it and writes it, so that of several processes none takes back what
another one has spent. Names in the file are tokens and digests; no content is in it.
"""

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from time import time

from unmask.producers import fork
from unmask.producers.delegation.account import Account

__all__ = ["Book"]

_FILE = "book.db"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (delegation TEXT PRIMARY KEY, changed INTEGER NOT NULL, account TEXT NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS signals (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_KEPT_S = 30 * 86_400
"""How long a delegation of which nothing is heard is remembered."""
_PATIENCE = 0.1
"""Seconds to wait for another process that is writing."""


class Book:
    """An open file, for one thread at a time. Its methods raise sqlite3.Error."""

    def __init__(self, folder: Path) -> None:
        """Open it, new or as it was left. Raises OSError as well."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / _FILE
        self._process = os.getpid()
        self._database = _connect(self._path)
        try:
            self._database.executescript(_SCHEMA)
            self._file = os.stat(self._path).st_ino
        except BaseException:
            self.close()
            raise

    @staticmethod
    def put_aside(folder: Path) -> None:
        """The file is damaged: have the next opener begin a new one."""
        taken = len(list(folder.glob("broken-*.db")))
        for suffix in ("-wal", "-shm", ""):
            with suppress(OSError):
                (folder / (_FILE + suffix)).rename(folder / f"broken-{taken}.db{suffix}")

    def begin(self) -> None:
        """Begin a transaction, alone among all processes."""
        self._database.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Keep what was written."""
        if self._process != os.getpid():
            # A signal handler forked in the middle: the transaction is the parent's.
            raise sqlite3.ProgrammingError("forked inside of a transaction")
        self._database.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo what was written. Never raises."""
        with suppress(sqlite3.Error):
            if self._process == os.getpid() and self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def account(self, delegation: str) -> Account | None:
        """The account of a delegation; None where there is none that can be read."""
        with closing(
            self._database.execute("SELECT account FROM accounts WHERE delegation = ?", (delegation,))
        ) as rows:
            row = rows.fetchone()
        if row is None:
            return None
        try:
            return Account.from_json(json.loads(row[0]))
        except (ValueError, TypeError, KeyError):
            # Written by another version, or damaged: what the process itself remembers is the better one.
            return None

    def write(self, delegation: str, account: Account) -> None:
        """Write an account."""
        value = json.dumps(account.to_json(), separators=(",", ":"))
        self._database.execute("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?)", (delegation, int(time()), value))

    def moves(self, signal: str) -> bool:
        """Whether some process has seen this signal move."""
        with closing(self._database.execute("SELECT 1 FROM signals WHERE name = ?", (signal,))) as rows:
            return rows.fetchone() is not None

    def learn(self, signals: Iterable[str]) -> None:
        """These signals were seen to move."""
        self._database.executemany("INSERT OR IGNORE INTO signals VALUES (?)", ((name,) for name in signals))

    def forget_old(self) -> None:
        """Remove delegations of which nothing was heard for long."""
        self._database.execute("DELETE FROM accounts WHERE changed < ?", (int(time()) - _KEPT_S,))

    def there(self) -> bool:
        """Whether the file still stands where it did."""
        try:
            return os.stat(self._path).st_ino == self._file
        except OSError:
            return False

    def close(self) -> None:
        """Close it. Never raises."""
        with suppress(sqlite3.Error):
            self._database.close()

    def abandon(self) -> None:
        """The process is a forked child: closing the file here would take the parent's locks away."""
        fork.keep_for_ever(self._database)


def _connect(path: Path) -> sqlite3.Connection:
    # Any thread of the host may be the one that writes; the keeper lets in one at a time.
    database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "journal_size_limit = 4194304"):
            database.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        database.close()
        raise
    return database
