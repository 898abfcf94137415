"""What an outbox keeps, without its disk: which batches are in the file, which in memory, which are to be deleted.

Plain bookkeeping, no clock and no I/O; whoever calls holds the owner's lock. In memory are the batches that go out next
and those that the disk has not taken yet; behind them the file holds any number that nobody has read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from unmask.producers.outbox.queue import SendQueue
from unmask.producers.store import StoredBatch
from unmask.schemas.codes import Family

__all__ = ["FileContent", "Shelf", "content_of"]

Events = Mapping[Family, int]


@dataclass(frozen=True, slots=True)
class FileContent:
    """What a file holds that was just opened."""

    known: frozenset[int]
    """batch_seq of those that were known before."""
    events: Events
    """In all batches but the unsaved ones."""
    unread: int
    """Batches that were not known."""
    unread_events: Events
    unread_bytes: int
    first_unread: int | None


class Shelf:
    """The batches of one life, and the events in them that are pending."""

    def __init__(self, in_flight: int, pending: Events) -> None:
        self.pending: Counter[Family] = Counter(pending)
        self.kept = 0
        """Batches that are not acknowledged, wherever they are."""
        self.bytes = 0
        """Of these."""
        self.unsaved: dict[int, StoredBatch] = {}
        """Cut, and not in the file."""
        self.gone: dict[int, Events] = {}
        """In the file, and to be deleted from it."""
        self.unread = 0
        self.read_through = 0
        """Up to this batch_seq the file has been read. What lies behind it is not in memory, unless it was refused."""
        self.queue = SendQueue(in_flight)
        self._refused: set[int] = set()
        """Unsaved ones that the disk did not take: they are sent all the same."""
        self._in_file: Counter[Family] = Counter()

    def put(self, batch: StoredBatch) -> None:
        """Keep a batch that was just cut."""
        self.unsaved[batch.batch_seq] = batch
        self._count(batch, 1)

    def forget(self, batch: StoredBatch) -> None:
        """Keep it no longer: it was delivered, or given up."""
        batch_seq = batch.batch_seq
        self.queue.forget(batch_seq)
        self._count(batch, -1)
        if self.unsaved.pop(batch_seq, None) is None:
            self.gone[batch_seq] = batch.events
        self._refused.discard(batch_seq)

    def take_back(self, batch: StoredBatch) -> None:
        """It was forgotten, but the file still has it."""
        self.gone.pop(batch.batch_seq, None)
        self._count(batch, 1)
        self.queue.put_back(batch)

    def forget_unsaved(self) -> Events:
        """Forget what is not in the file; the events of that."""
        lost = Counter[Family]()
        for batch in list(self.unsaved.values()):
            lost.update(batch.events)
            self.forget(batch)
        return lost

    def forget_all(self) -> Events:
        """Forget everything; the events of that."""
        lost = +self.pending
        self.unsaved.clear()
        self._refused.clear()
        self.queue.clear()
        self.pending.clear()
        self.kept = self.bytes = self.unread = 0
        return lost

    def oldest(self) -> int | None:
        """No batch before this one is kept."""
        firsts = [*self.unsaved, *self.queue.known()]
        if self.unread:
            firsts.append(self.read_through + 1)
        return min(firsts, default=None)

    def known(self) -> set[int]:
        """Every batch_seq that something is known of."""
        return {*self.unsaved, *self.queue.known(), *self.gone}

    def waiting(self, chosen: Callable[[StoredBatch], bool]) -> list[StoredBatch]:
        """The first of those that wait to be sent, as far as `chosen` holds."""
        return self.queue.waiting(chosen)

    def content_after(self, put: Mapping[int, StoredBatch], gone: Mapping[int, Events]) -> tuple[Events, Events]:
        """Events in the file and events in unsaved batches, once `put` is in the file and `gone` is not."""
        in_file, unsaved = Counter(self._in_file), Counter[Family]()
        for batch_seq, batch in self.unsaved.items():
            (in_file if batch_seq in put else unsaved).update(batch.events)
        for events in gone.values():
            in_file.subtract(events)
        return in_file, unsaved

    def saved(self, put: Mapping[int, StoredBatch], gone: Mapping[int, Events]) -> None:
        """The file now has `put`, and no longer has `gone`."""
        for batch_seq, events in gone.items():
            del self.gone[batch_seq]
            self._in_file.subtract(events)
        for batch_seq, batch in put.items():
            self._in_file.update(batch.events)
            if self.unsaved.pop(batch_seq, None) is None:
                # Forgotten while it was being written.
                self.gone[batch_seq] = batch.events
            elif batch_seq in self._refused:
                self._refused.discard(batch_seq)
            elif self.unread or not self.queue.has_room():
                self.unread += 1
            else:
                self.queue.append(batch)
                self.read_through = batch_seq

    def not_saved(self) -> None:
        """The disk took nothing: what is in memory alone may be sent from there."""
        for batch_seq in self.unsaved.keys() - self._refused:
            self._refused.add(batch_seq)
            self.queue.append(self.unsaved[batch_seq])

    def take_up(self, batch: StoredBatch) -> bool:
        """The next batch that was read from the file. False where it is known already."""
        self.read_through = batch.batch_seq
        if batch.batch_seq in self.known():
            return False
        self.unread -= 1
        self.queue.append(batch)
        return True

    def nothing_left_to_read(self) -> Events:
        """The file holds no more; the events that it should have held."""
        self.unread = 0
        return self._missing({})

    def opened(self, content: FileContent) -> Events:
        """See what is in a file that was just opened; the events that should be somewhere and are nowhere."""
        self._in_file = Counter(content.events)
        self.gone = {batch_seq: events for batch_seq, events in self.gone.items() if batch_seq in content.known}
        here = self._here()
        for batch_seq in here.keys() - content.known - self.unsaved.keys():
            self.unsaved[batch_seq] = here[batch_seq]
            self._refused.add(batch_seq)
        self.unread, self.kept = content.unread, content.unread + len(here)
        self.bytes = content.unread_bytes + sum(len(batch.data) for batch in here.values())
        if content.first_unread is not None:
            self.read_through = content.first_unread - 1
        return self._missing(content.unread_events)

    def _missing(self, unread: Events) -> Events:
        held = Counter(unread)
        for batch in self._here().values():
            held.update(batch.events)
        lost, self.pending = self.pending - held, held
        return lost

    def _here(self) -> dict[int, StoredBatch]:
        return {**self.unsaved, **self.queue.known()}

    def _count(self, batch: StoredBatch, sign: int) -> None:
        for family, count in batch.events.items():
            self.pending[family] += sign * count
        self.kept += sign
        self.bytes += sign * len(batch.data)


def content_of(batches: Iterable[tuple[int, int, Events]], known: set[int], unsaved: set[int]) -> FileContent:
    """The sums over a file's batches (batch_seq, bytes, events), in the order of batch_seq."""
    events, unread_events = Counter[Family](), Counter[Family]()
    present: set[int] = set()
    first, unread, unread_bytes = None, 0, 0
    for batch_seq, size, held in batches:
        if batch_seq not in unsaved:
            events.update(held)
        if batch_seq in known:
            present.add(batch_seq)
        else:
            unread_events.update(held)
            first = batch_seq if first is None else first
            unread, unread_bytes = unread + 1, unread_bytes + size
    return FileContent(frozenset(present), events, unread, unread_events, unread_bytes, first)
