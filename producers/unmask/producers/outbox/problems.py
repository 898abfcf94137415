"""Names for what a disk does wrong: closed words, never a path or a message."""

import errno
import sqlite3

__all__ = ["is_damage", "name_of"]

_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")


def name_of(error: Exception) -> str:
    """The system's name, or SQLite's, or the kind of error."""
    if isinstance(error, sqlite3.Error):
        return str(getattr(error, "sqlite_errorname", type(error).__name__))
    number = error.errno if isinstance(error, OSError) else None
    return errno.errorcode.get(number, type(error).__name__) if number else type(error).__name__


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is broken, so that trying again cannot help."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(_DAMAGE)
