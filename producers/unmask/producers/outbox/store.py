"""The store of a life with an outbox: batches are on the disk before they may be sent, and until they are acknowledged.

In memory are only the batches that go out next; everything behind them is in the file alone, however much that is.
Where the disk takes no batch, new ones stay in memory and are sent from there, as without an outbox, and the background
thread tries the disk again and again.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic

from unmask.producers import fork
from unmask.producers.outbox.batches import Batches
from unmask.producers.outbox.folder import LifeFolder
from unmask.producers.outbox.page import Page
from unmask.producers.outbox.problems import is_damage, name_of
from unmask.producers.outbox.queue import SendQueue
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
        self._file: Batches | None = None
        self._unsaved: dict[int, StoredBatch] = {}
        """Cut, and not in the file."""
        self._refused: set[int] = set()
        """Of these, those that the disk did not take: they are sent all the same."""
        self._gone: dict[int, Mapping[Family, int]] = {}
        """In the file, and to be deleted from it."""
        self._queue = SendQueue(limits.in_flight)
        self._read_through = 0
        """Up to this batch_seq the file has been read. What lies behind it is not in memory, unless it was refused."""
        self._unread = 0
        self._in_file: Counter[Family] = Counter()
        self._pending: Counter[Family] = Counter(pending or {})
        self._kept = self._bytes = 0
        self._failure: str | None = None
        self._there = True
        self._retry_wait = _RETRY_FIRST
        self._retry_at = self._look_at = self._commit_at = self._stand_at = _ALWAYS
        self._shrink_at = seconds() + _SHRINK_EVERY

    # -- called with the owner's lock held

    def put(self, batch: StoredBatch) -> None:
        """Keep a batch that was just cut."""
        self._unsaved[batch.batch_seq] = batch
        self._pending.update(batch.events)
        self._kept += 1
        self._bytes += len(batch.data)

    def room(self) -> int | None:
        """Bytes that are left of the limit."""
        return max(0, self._limits.max_bytes - self._bytes)

    def stalled(self) -> bool:
        """Whether the disk takes nothing, and memory no more."""
        return self._failure is not None and len(self._unsaved) >= self._limits.in_flight

    def unacknowledged(self) -> int:
        """Batches that are kept."""
        return self._kept

    def next_to_send(self) -> StoredBatch | None:
        """The oldest batch that is in the file, or was refused by the disk, and that is not on its way."""
        return self._queue.next_to_send()

    def returned(self, batch_seq: int) -> bool:
        """Hand the batch out again."""
        return self._queue.returned(batch_seq)

    def removed(self, batch_seq: int) -> StoredBatch | None:
        """Forget a batch that was handed out."""
        batch = self._queue.in_flight(batch_seq)
        if batch is not None:
            self._forget(batch)
        return batch

    def pending(self) -> Mapping[Family, int]:
        """Events in kept batches."""
        return self._pending

    def oldest(self) -> int | None:
        """No batch before this one is kept."""
        firsts = [*self._unsaved, *self._queue.known()]
        if self._unread:
            firsts.append(self._read_through + 1)
        return min(firsts, default=None)

    def settle(self) -> tuple[Mapping[Family, int], DropCause]:
        """What is in the file stays there for the next start; the rest is forgotten."""
        if not self._there:
            lost = +self._pending
            self._unsaved.clear()
            self._queue.clear()
            self._pending.clear()
            self._kept = self._bytes = self._unread = 0
            return lost, DropCause.DISK_FAILED
        lost = Counter()
        if self._failure is not None:
            for batch in list(self._unsaved.values()):
                lost.update(batch.events)
                self._forget(batch)
        return lost, DropCause.DISK_FAILED

    def health(self) -> OutboxHealth | None:
        """How the outbox is."""
        if not self._there:
            state = OutboxState.GONE
        elif self._failure is not None:
            state = OutboxState.FAILING
        else:
            state = OutboxState.ON
        return OutboxHealth(state, self._failure, self._bytes)

    def _forget(self, batch: StoredBatch) -> None:
        batch_seq = batch.batch_seq
        self._queue.forget(batch_seq)
        self._pending.subtract(batch.events)
        self._kept -= 1
        self._bytes -= len(batch.data)
        if self._unsaved.pop(batch_seq, None) is None:
            self._gone[batch_seq] = batch.events
        self._refused.discard(batch_seq)

    def _expired(self, batch: StoredBatch) -> bool:
        # The last account is never too old: nothing else tells what became of the rest.
        return not batch.closing and self._owner.now() - batch.sent_at > self._limits.max_age_us

    def _standing(self, put: Mapping[int, StoredBatch], gone: Mapping[int, Mapping[Family, int]]) -> Standing:
        """How the life stands once `put` is in the file and `gone` is not."""
        owner = self._owner
        in_file, unsaved = Counter(self._in_file), Counter[Family]()
        for batch_seq, batch in self._unsaved.items():
            (in_file if batch_seq in put else unsaved).update(batch.events)
        for events in gone.values():
            in_file.subtract(events)
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

    # -- called by the background thread, without the lock

    def keep(self, *, at_once: bool = False) -> None:
        """Write what is new, and read what is to be sent next. With `at_once` nothing is put off to a later call."""
        now = self._seconds()
        if now >= self._look_at:
            self._look_at = now + _LOOK_EVERY
            self._there = self._folder.there() and (self._file is None or self._file.there())
        with fork.using_a_database():
            # First of all: opening finds out what is there, and what is written after it builds on that.
            if self._file is None and (self._unsaved or self._unread or self._page is None):
                self._open(now, at_once=at_once)
            while self._write(now, at_once=at_once) and self._unread:
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
            done = not self._kept and self._owner.over
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
        owner, page = self._owner, self._page
        with owner.lock:
            # Only what is deleted in the same step as it is counted: a disk that fails keeps it for another time.
            expired = [] if self._failure is not None else self._queue.waiting(self._expired)
            for batch in expired:
                owner.give_up(batch.events, DropCause.OUTBOX_EXPIRED)
                self._forget(batch)
            put = dict(self._unsaved)
            due = bool(put or expired or (self._gone and now >= self._commit_at))
            due |= at_once and bool(self._gone or page is None)
            if not due and not at_once and (page is None or now < self._stand_at):
                return False
            gone = dict(self._gone) if due else {}
            standing = self._standing(put, gone)
        saved = due and self._committed(put, gone, standing, now, at_once=at_once)
        with owner.lock:
            if saved:
                self._commit_at = now + _COMMIT_EVERY
                self._saved(put, gone)
            elif due:
                for batch in expired:
                    self._take_back(batch)
                for batch_seq in self._unsaved.keys() - self._refused:
                    self._refused.add(batch_seq)
                    self._queue.append(self._unsaved[batch_seq])
                standing = self._standing({}, {})
        if page is not None:
            if owner.buffer is not None:
                page.note_counts_in_memory(owner.buffer)
            page.write(standing)
            self._stand_at = now + _STAND_EVERY
        return bool(expired) and saved

    def _take_back(self, batch: StoredBatch) -> None:
        """It was given up, but is still in the file."""
        self._owner.give_up({family: -count for family, count in batch.events.items()}, DropCause.OUTBOX_EXPIRED)
        self._gone.pop(batch.batch_seq, None)
        self._pending.update(batch.events)
        self._kept += 1
        self._bytes += len(batch.data)
        self._queue.put_back(batch)

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

    def _saved(self, put: Mapping[int, StoredBatch], gone: Mapping[int, Mapping[Family, int]]) -> None:
        for batch_seq, events in gone.items():
            del self._gone[batch_seq]
            self._in_file.subtract(events)
        for batch_seq, batch in put.items():
            self._in_file.update(batch.events)
            if self._unsaved.pop(batch_seq, None) is None:
                # Forgotten while it was being written.
                self._gone[batch_seq] = batch.events
            elif batch_seq in self._refused:
                self._refused.discard(batch_seq)
            elif self._unread or not self._queue.has_room():
                self._unread += 1
            else:
                self._queue.append(batch)
                self._read_through = batch_seq

    def _read(self, now: float) -> None:
        """Read on in the file while memory has room for it."""
        while self._unread and self._file is not None and self._queue.has_room(half=True):
            try:
                found = self._file.read(self._read_through)
            except sqlite3.Error as error:
                self._failed(error, now)
                return
            with self._owner.lock:
                if not found:
                    self._unread = 0
                    self._give_up_what_is_missing(Counter())
                for batch, intact in found:
                    self._take_up(batch, intact)

    def _take_up(self, batch: StoredBatch, intact: bool) -> None:
        batch_seq = self._read_through = batch.batch_seq
        if batch_seq in self._gone or batch_seq in self._unsaved or batch_seq in self._queue.known():
            return
        self._unread -= 1
        if intact:
            self._queue.append(batch)
        else:
            self._owner.give_up(batch.events, DropCause.DISK_FAILED)
            self._forget(batch)

    def _open(self, now: float, *, at_once: bool) -> None:
        if now < self._retry_at and not at_once:
            return
        try:
            self._file = Batches(self._folder.path, self._owner.identity.emitter_id)
            self._recount(self._file)
        except (sqlite3.Error, OSError) as error:
            self._failed(error, now)

    def _recount(self, file: Batches) -> None:
        """See what is in a file that was just opened. What should be there and is neither there nor here, is lost."""
        with self._owner.lock:
            unsaved = set(self._unsaved)
            known = {*unsaved, *self._queue.known(), *self._gone}
        present: set[int] = set()
        behind, in_file = Counter[Family](), Counter[Family]()
        first, unread, size = None, 0, 0
        for batch_seq, bytes_, events in file.each():
            if batch_seq not in unsaved:
                in_file.update(events)
            if batch_seq in known:
                present.add(batch_seq)
            else:
                behind.update(events)
                first, unread, size = first or batch_seq, unread + 1, size + bytes_
        with self._owner.lock:
            self._in_file = in_file
            self._gone = {batch_seq: events for batch_seq, events in self._gone.items() if batch_seq in present}
            here = {**self._unsaved, **self._queue.known()}
            for batch_seq in here.keys() - present - self._unsaved.keys():
                self._unsaved[batch_seq] = here[batch_seq]
                self._refused.add(batch_seq)
            self._unread, self._kept = unread, unread + len(here)
            self._bytes = size + sum(len(batch.data) for batch in here.values())
            self._read_through = self._read_through if first is None else first - 1
            self._give_up_what_is_missing(behind)

    def _give_up_what_is_missing(self, unread: Mapping[Family, int]) -> None:
        """Of the pending events those that are neither in memory nor in the file's `unread` batches."""
        held = Counter(unread)
        for batch in {**self._unsaved, **self._queue.known()}.values():
            held.update(batch.events)
        self._owner.give_up(self._pending - held, DropCause.DISK_FAILED)
        self._pending = held

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
        if self._kept or self._file is None or now < self._shrink_at:
            return
        self._shrink_at = now + _SHRINK_EVERY
        try:
            self._file.shrink()
        except sqlite3.Error as error:
            self._failed(error, now)
