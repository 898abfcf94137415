"""Batches of one emitter between their cut and their end, and the account that this changes.

The background thread and the diagnostics meet at `lock`, which no record call ever takes and which is held for moments
only: never while a disk or the network is waited for.
"""

import threading
from collections.abc import Callable, Mapping

from unmask.producers.account import Account
from unmask.producers.batcher import Batcher
from unmask.producers.buffer import Buffer
from unmask.producers.store import BatchStore, StoredBatch
from unmask.producers.wire import Identity
from unmask.schemas.codes import DropCause, Family

__all__ = ["Clock", "Custody"]

Clock = Callable[[], int]
"""Nanoseconds since the epoch."""

_SMALLEST_LIMIT = 4_096


class Custody:
    """Told by the client what became of each batch. The store's owner."""

    buffer: Buffer | None = None

    def __init__(self, account: Account, batcher: Batcher, clock: Clock, store: BatchStore) -> None:
        self.lock = threading.RLock()
        self.redeliveries = 0
        self.batches_delivered = 0
        self.closing_delivered = False
        self.settled = False
        self.partition: int | None = None
        """Chosen once for the emitter's life, so that its batches stay in one order."""
        self._account = account
        self._batcher = batcher
        self._clock = clock
        self._store = store

    @property
    def identity(self) -> Identity:
        """Who it is."""
        return self._batcher.identity

    @property
    def emitter_id(self) -> str:
        """Random per life."""
        return self._batcher.identity.emitter_id

    def store_in(self, store: BatchStore) -> None:
        """Keep batches there from now on; there must be none yet."""
        self._store = store

    @property
    def batches_cut(self) -> int:
        """The last batch_seq."""
        return self._batcher.batches_cut

    @property
    def accounted_through(self) -> int:
        """sent_at of the last batch, in microseconds."""
        return self._batcher.accounted_through

    @property
    def alive(self) -> int:
        """When its host was last known to be alive, in microseconds."""
        return self.now()

    @property
    def over(self) -> bool:
        """Whether nothing is left to be told of it once its batches are delivered."""
        return self.closing_delivered and self._account.given_up() <= self.told

    @property
    def told(self) -> int:
        """Events given up after their cut of which the last batch tells."""
        return self._batcher.told

    def now(self) -> int:
        """Microseconds by the host's clock."""
        return self._clock() // 1000

    def current_account(self) -> Account:
        """The account, brought up to now."""
        return self._account

    def unacknowledged(self) -> int:
        """Batches that wait for the broker."""
        with self.lock:
            return self._store.unacknowledged()

    def next_to_send(self) -> StoredBatch | None:
        """The oldest batch that may go out and is not on its way."""
        with self.lock:
            return self._store.next_to_send()

    def delivered_through(self, batch_seq: int) -> bool:
        """Whether no batch up to this one is kept any more."""
        with self.lock:
            oldest = self._store.oldest()
            return oldest is None or oldest > batch_seq

    def keep(self, *, at_once: bool = False) -> None:
        """Bring what is new to where it outlives the process. May take time; the background thread calls it."""
        self._store.keep(at_once=at_once)

    def release(self) -> None:
        """Give the store back, at the end. The background thread calls it."""
        self._store.release()

    def abandon(self) -> None:
        """The process is a forked child: leave the store to the parent."""
        self._store.abandon()

    # -- what the client reports

    def delivered(self, batch_seq: int) -> None:
        """The broker acknowledged a batch."""
        with self.lock:
            batch = self._store.removed(batch_seq)
            if batch is not None:
                self._account.delivered(batch.events)
                self.batches_delivered += 1
                self.closing_delivered |= batch.closing

    def returned(self, batch_seq: int) -> None:
        """The client gave a batch back; it goes out again, with the same bytes."""
        with self.lock:
            if self._store.returned(batch_seq):
                self.redeliveries += 1

    def refused_as_too_large(self, batch_seq: int) -> None:
        """The broker takes no record of this size: give the batch up, and make the next ones smaller."""
        with self.lock:
            batch = self._store.removed(batch_seq)
            if batch is not None:
                self._account.drop_cut(batch.events, DropCause.TOO_LARGE)
                self._batcher.max_bytes = max(_SMALLEST_LIMIT, min(self._batcher.max_bytes, len(batch.data)) // 2)

    def give_up(self, events: Mapping[Family, int], cause: DropCause) -> None:
        """Count the events of batches that the store keeps no longer and that were not delivered."""
        self._account.drop_cut(events, cause)
