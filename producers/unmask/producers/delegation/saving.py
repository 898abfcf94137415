"""From the desks of a process into the book, and what other processes wrote from the book onto the desks.

A disk that fails is a problem that can be seen. It is tried again after 0.5 s to 30 s; what is spent meanwhile is known
to this process, and written when the disk works again.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from unmask.producers import fork
from unmask.producers.delegation.account import Account
from unmask.producers.delegation.book import Book
from unmask.producers.delegation.desk import Desk, Moving
from unmask.producers.outbox.problems import is_damage, name_of

__all__ = ["FORKED", "Saving"]

FORKED = "FORKED_INSIDE_DATABASE"
_RETRY_FIRST, _RETRY_LAST = 0.5, 30.0
_LOOK_EVERY = 1.0
_ALWAYS = float("-inf")


class Saving:
    """The book of one keeper, for one thread at a time. Raises nothing of a disk's."""

    def __init__(self, folder: Path, moving: Moving, note_fault: Callable[[], None], seconds: Callable[[], float]):
        self._folder = folder
        self._moving = moving
        self._note_fault = note_fault
        self._seconds = seconds
        self._book: Book | None = None
        self._retry_wait, self._retry_at, self._look_at = _RETRY_FIRST, _ALWAYS, _ALWAYS
        self.problem: str | None = None

    def due(self) -> bool:
        """Whether the disk may be tried now."""
        return self.problem is None or self._seconds() >= self._retry_at

    def try_at_once(self) -> None:
        """Do not wait with the next try."""
        self._retry_at = _ALWAYS

    def save(self, delegation: str, desk: Desk) -> None:
        """Write what the book does not have, and read what it has. Within `fork.using_a_database_within`."""
        try:
            book = self._opened()
            if desk.unsaved or self._moving.unlearned:
                account = self._written(book, delegation, desk)
            else:
                account = _newest(book, delegation, desk)
        except (sqlite3.Error, OSError) as error:
            self._failed(error)
            return
        desk.is_saved(account)
        self._moving.unlearned.clear()
        self.problem = None
        self._retry_wait = _RETRY_FIRST

    def close(self) -> None:
        """Close the file; the next save() opens it again."""
        book, self._book = self._book, None
        if book is not None:
            book.close()

    def abandon(self) -> bool:
        """The process is a forked child. Returns whether the parent's file was open, and is out of reach here."""
        book, self._book = self._book, None
        if book is not None:
            book.abandon()
        return book is not None

    def _written(self, book: Book, delegation: str, desk: Desk) -> Account:
        moving = self._moving
        book.begin()
        try:
            account = _newest(book, delegation, desk)
            for entry in desk.unsaved:
                signal = None if entry.step is None else entry.step.signal
                if signal is not None and signal not in moving and book.moves(signal):
                    moving.add((signal,))
                account = account.after(entry, moving)
            moving.add(account.breaker.moved)
            book.learn(moving.unlearned)
            book.write(delegation, account)
            book.commit()
        except BaseException:
            book.roll_back()
            raise
        return account

    def _opened(self) -> Book:
        if not fork.databases_work():
            raise OSError(FORKED)
        now = self._seconds()
        if self._book is not None and now >= self._look_at:
            self._look_at = now + _LOOK_EVERY
            if not self._book.there():
                self.close()
        if self._book is None:
            self._book = Book(self._folder)
            self._look_at = now + _LOOK_EVERY
            self._book.forget_old()
        return self._book

    def _failed(self, error: sqlite3.Error | OSError) -> None:
        if self.problem is None:
            self._note_fault()
        self.problem = FORKED if str(error) == FORKED else name_of(error)
        self._retry_at = self._seconds() + self._retry_wait
        self._retry_wait = min(2 * self._retry_wait, _RETRY_LAST)
        if self.problem.startswith("SQLITE_BUSY"):
            return
        self.close()
        if isinstance(error, sqlite3.Error) and is_damage(error):
            Book.put_aside(self._folder)
            self.try_at_once()


def _newest(book: Book, delegation: str, desk: Desk) -> Account:
    found = book.account(delegation)
    # Where the book was lost, and begun anew, this process may know more.
    return desk.saved if found is None or found.version < desk.saved.version else found
