"""The store of a life with an outbox: batches are on the disk before they may be sent, and until they are acknowledged.

Where the disk takes no batch, new ones stay in memory and are sent from there, as without an outbox, and the background
thread tries the disk again and again.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic

from unmask.producers import fork
from unmask.producers.outbox.batches import Batches
from unmask.producers.outbox.folder import LifeFolder
from unmask.producers.outbox.page import Page
from unmask.producers.outbox.problems import is_damage, name_of
from unmask.producers.outbox.shelf import Shelf, content_of
from unmask.producers.outbox.standing import Standing
from unmask.producers.report import OutboxHealth, OutboxState
from unmask.producers.store import Owner, StoredBatch
from unmask.schemas.codes import DropCause, Family

__all__ = ["Limits", "OutboxStore"]

_COMMIT_EVERY = 0.2
"""Seconds for which acknowledged batches may stay in the file. After a crash they are sent again, as duplicates."""
_STAND_EVERY = 0.2
_LOOK_EVERY = 5.0
_SHRINK_EVERY = 60.0
_RETRY_FIRST, _RETRY_LAST = 0.5, 30.0
_ALWAYS = float("-inf")
_FULL = "SQLITE_FULL"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an outbox keeps, and for how long."""

    max_bytes: int
    """Of all its batches together."""
    max_age_us: int
    """Since a batch was cut."""
    in_flight: int = 64
    """Batches that are handed to the client at most, and that are kept in memory where the disk takes none."""


class OutboxStore:
    """Batches of one life in its folder. A BatchStore; a disk that fails is told by health(), never by an error.

    With a page the life goes on and its record calls count there. Without one it is over, and `pending` are the events
    that its batches in the file should hold; what of that cannot be found is given up.
    """

    def __init__(
        self,
        owner: Owner,
        limits: Limits,
        folder: LifeFolder,
        page: Page | None = None,
        *,
        version: int = 0,
        pending: Mapping[Family, int] | None = None,
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        self._owner = owner
        self._limits = limits
        self._folder = folder
        self._page = page
        self._version = version
        self._seconds = seconds
        self._shelf = Shelf(limits.in_flight, pending or {})
        self._file: Batches | None = None
        self._failure: str | None = None
        self._there = True
        self._retry_wait = _RETRY_FIRST
        self._retry_at = self._look_at = self._commit_at = self._stand_at = _ALWAYS
        self._shrink_at = seconds() + _SHRINK_EVERY

    # -- called with the owner's lock held

    def put(self, batch: StoredBatch) -> None:
        """Keep a batch that was just cut."""
        self._shelf.put(batch)

    def room(self) -> int | None:
        """Bytes that are left of the limit."""
        return max(0, self._limits.max_bytes - self._shelf.bytes)

    def stalled(self) -> bool:
        """Whether the disk takes nothing, and memory no more."""
        return self._failure is not None and len(self._shelf.unsaved) >= self._limits.in_flight

    def unacknowledged(self) -> int:
        """Batches that are kept."""
        return self._shelf.kept

    def next_to_send(self) -> StoredBatch | None:
        """The oldest batch that is in the file, or was refused by the disk, and that is not on its way."""
        return self._shelf.queue.next_to_send()

    def returned(self, batch_seq: int) -> bool:
        """Hand the batch out again."""
        return self._shelf.queue.returned(batch_seq)

    def removed(self, batch_seq: int) -> StoredBatch | None:
        """Forget a batch that was handed out."""
        batch = self._shelf.queue.in_flight(batch_seq)
        if batch is not None:
            self._shelf.forget(batch)
        return batch

    def pending(self) -> Mapping[Family, int]:
        """Events in kept batches."""
        return self._shelf.pending

    def oldest(self) -> int | None:
        """No batch before this one is kept."""
        return self._shelf.oldest()

    def settle(self) -> tuple[Mapping[Family, int], DropCause]:
        """What is in the file stays there for the next start; the rest is forgotten."""
        lost: Mapping[Family, int] = {}
        if not self._there:
            lost = self._shelf.forget_all()
        elif self._failure is not None:
            lost = self._shelf.forget_unsaved()
        return lost, DropCause.DISK_FAILED

    def health(self) -> OutboxHealth | None:
        """How the outbox is."""
        if not self._there:
            state = OutboxState.GONE
        elif self._failure is not None:
            state = OutboxState.FAILING
        else:
            state = OutboxState.ON
        return OutboxHealth(state, self._failure, self._shelf.bytes)

    # -- called by the background thread, without the lock

    def keep(self, *, at_once: bool = False) -> None:
        """Write what is new, and read what is to be sent next. With `at_once` nothing is put off to a later call."""
        now = self._seconds()
        if now >= self._look_at:
            self._look_at = now + _LOOK_EVERY
            self._there = self._folder.there() and (self._file is None or self._file.there())
        with fork.using_a_database():
            # First of all: opening finds out what is there, and what is written after it builds on that.
            if self._file is None and (self._shelf.unsaved or self._shelf.unread or self._page is None):
                self._open(now, at_once=at_once)
            while self._write(now, at_once=at_once) and self._shelf.unread:
                # What was too old has made room: behind it may be more of that.
                self._read(now)
            self._read(now)
            self._shrink(now)

    def release(self) -> None:
        """The life ends here: remove a folder that nobody needs, leave any other to the next start."""
        if self._page is not None and (buffer := self._owner.buffer) is not None:
            for lane in buffer.lanes:
                lane.lap, lane.count = None, lane.in_memory.add
        self.keep(at_once=True)
        with fork.using_a_database():
            if self._file is not None:
                self._file.close()
        with self._owner.lock:
            done = not self._shelf.kept and self._owner.over
        try:
            if done:
                self._folder.remove()
        except OSError as error:
            self._failure = name_of(error)
        finally:
            self._folder.leave()

    def abandon(self) -> None:
        """Let go of everything without touching what is the parent's."""
        self._folder.leave()
        if self._file is not None:
            self._file.abandon()

    def _write(self, now: float, *, at_once: bool) -> bool:
        """Whether batches were given up because they were too old."""
        owner, page, shelf = self._owner, self._page, self._shelf
        with owner.lock:
            # Only what is deleted in the same step as it is counted: a disk that fails keeps it for another time.
            expired = [] if self._failure is not None else shelf.waiting(self._expired)
            for batch in expired:
                owner.give_up(batch.events, DropCause.OUTBOX_EXPIRED)
                shelf.forget(batch)
            put = dict(shelf.unsaved)
            due = bool(put or expired or (shelf.gone and now >= self._commit_at))
            due |= at_once and bool(shelf.gone or page is None)
            if not due and not at_once and (page is None or now < self._stand_at):
                return False
            gone = dict(shelf.gone) if due else {}
            standing = self._standing(put, gone)
        saved = due and self._committed(put, gone, standing, now, at_once=at_once)
        with owner.lock:
            if saved:
                self._commit_at = now + _COMMIT_EVERY
                shelf.saved(put, gone)
            elif due:
                for batch in expired:
                    owner.give_up({family: -n for family, n in batch.events.items()}, DropCause.OUTBOX_EXPIRED)
                    shelf.take_back(batch)
                shelf.not_saved()
                standing = self._standing({}, {})
        if page is not None:
            if owner.buffer is not None:
                page.note_counts_in_memory(owner.buffer)
            page.write(standing)
            self._stand_at = now + _STAND_EVERY
        return bool(expired) and saved

    def _standing(self, put: Mapping[int, StoredBatch], gone: Mapping[int, Mapping[Family, int]]) -> Standing:
        """How the life stands once `put` is in the file and `gone` is not."""
        owner = self._owner
        in_file, unsaved = self._shelf.content_after(put, gone)
        self._version += 1
        return Standing(
            version=self._version,
            last_seq=owner.batches_cut,
            last_cut=owner.accounted_through,
            alive=owner.alive,
            partition=owner.partition,
            closing_delivered=owner.closing_delivered,
            told=owner.told,
            totals=owner.current_account().totals(),
            in_file=in_file,
            unsaved=unsaved,
        )

    def _committed(
        self, put: Mapping[int, StoredBatch], gone: Mapping[int, object], standing: Standing, now: float,
        *, at_once: bool,
    ) -> bool:  # fmt: skip
        if self._file is None or (now < self._retry_at and not at_once):
            return False
        try:
            self._file.commit(put.values(), gone, standing)
        except sqlite3.Error as error:
            self._failed(error, now)
            return False
        self._failure = None
        self._retry_wait, self._retry_at = _RETRY_FIRST, _ALWAYS
        return True

    def _read(self, now: float) -> None:
        """Read on in the file while memory has room for it."""
        shelf = self._shelf
        while shelf.unread and self._file is not None and shelf.queue.has_room(half=True):
            try:
                found = self._file.read(shelf.read_through)
            except sqlite3.Error as error:
                self._failed(error, now)
                return
            with self._owner.lock:
                if not found:
                    self._owner.give_up(shelf.nothing_left_to_read(), DropCause.DISK_FAILED)
                for batch, intact in found:
                    if shelf.take_up(batch) and not intact:
                        self._owner.give_up(batch.events, DropCause.DISK_FAILED)
                        shelf.forget(batch)

    def _open(self, now: float, *, at_once: bool) -> None:
        if now < self._retry_at and not at_once:
            return
        owner, shelf = self._owner, self._shelf
        try:
            self._file = file = Batches(self._folder.path, owner.identity.emitter_id)
            with owner.lock:
                known, unsaved = shelf.known(), set(shelf.unsaved)
            content = content_of(file.each(), known, unsaved)
        except (sqlite3.Error, OSError) as error:
            self._failed(error, now)
            return
        with owner.lock:
            owner.give_up(shelf.opened(content), DropCause.DISK_FAILED)

    def _failed(self, error: sqlite3.Error | OSError, now: float) -> None:
        self._failure = name_of(error)
        self._retry_at = now + self._retry_wait
        self._retry_wait = min(2 * self._retry_wait, _RETRY_LAST)
        if self._failure == _FULL:
            return
        if self._file is not None:
            self._file.close()
            self._file = None
        if isinstance(error, sqlite3.Error) and is_damage(error):
            Batches.put_aside(self._folder.path)
            self._retry_at = now

    def _shrink(self, now: float) -> None:
        if self._shelf.kept or self._file is None or now < self._shrink_at:
            return
        self._shrink_at = now + _SHRINK_EVERY
        try:
            self._file.shrink()
        except sqlite3.Error as error:
            self._failed(error, now)

    def _expired(self, batch: StoredBatch) -> bool:
        # The last account is never too old: nothing else tells what became of the rest.
        return not batch.closing and self._owner.now() - batch.sent_at > self._limits.max_age_us
