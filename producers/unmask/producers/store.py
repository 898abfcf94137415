"""Where batches stay until the broker has acknowledged them."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from unmask.producers.account import Account
from unmask.producers.buffer import Buffer
from unmask.producers.report import OutboxHealth
from unmask.producers.wire import Identity
from unmask.schemas.codes import DropCause, Family

__all__ = ["BatchStore", "MemoryStore", "Owner", "StoredBatch", "Stores"]


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """One batch, encoded. Its bytes never change, however often it is produced."""

    emitter_id: str
    batch_seq: int
    data: bytes
    events: Mapping[Family, int]
    """How many it holds, per family."""
    closing: bool
    sent_at: int
    """When it was cut, in microseconds."""


class Owner(Protocol):
    """Whose batches a store keeps. Everything here is read and changed with `lock` held."""

    lock: threading.RLock
    """Held only for a moment: the host's diagnostics wait for it."""
    partition: int | None
    closing_delivered: bool

    @property
    def identity(self) -> Identity:
        """Who it is."""
        ...

    @property
    def buffer(self) -> Buffer | None:
        """Where record calls leave events; None for a life that is over."""
        ...

    @property
    def batches_cut(self) -> int:
        """The last batch_seq."""
        ...

    @property
    def accounted_through(self) -> int:
        """sent_at of the last batch, in microseconds."""
        ...

    @property
    def alive(self) -> int:
        """When its host was last known to be alive, in microseconds: now, for the host's own emitter."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing is left to be told of it once its batches are delivered."""
        ...

    @property
    def told(self) -> int:
        """Events given up after their cut of which the last batch tells."""
        ...

    def now(self) -> int:
        """Microseconds by the host's clock."""
        ...

    def current_account(self) -> Account:
        """The account, brought up to now."""
        ...

    def give_up(self, events: Mapping[Family, int], cause: DropCause) -> None:
        """Count the events of batches that are kept no longer and were not delivered."""
        ...


class BatchStore(Protocol):
    """Keeps batches from their cut to their acknowledgement.

    What may take time (`keep`, `release`) is called by the background thread alone, without the owner's lock. All else
    is called with the lock held, and does nothing but remember.
    """

    def put(self, batch: StoredBatch) -> None:
        """Keep a batch that was just cut."""
        ...

    def room(self) -> int | None:
        """Bytes of further batches that may be kept; None where the number of batches decides (`stalled`)."""
        ...

    def stalled(self) -> bool:
        """Whether so many batches wait for the broker that no further one should be cut."""
        ...

    def unacknowledged(self) -> int:
        """Batches that are kept."""
        ...

    def next_to_send(self) -> StoredBatch | None:
        """The oldest batch that may be sent and is not on its way; handed out once until it comes back."""
        ...

    def returned(self, batch_seq: int) -> bool:
        """The client gave the batch up: hand it out again. False where it is not kept any more."""
        ...

    def removed(self, batch_seq: int) -> StoredBatch | None:
        """A batch that was handed out is acknowledged or given up for good: forget it. None where it is not kept."""
        ...

    def pending(self) -> Mapping[Family, int]:
        """Events in kept batches."""
        ...

    def oldest(self) -> int | None:
        """No batch before this batch_seq is kept; None where none is kept at all."""
        ...

    def settle(self) -> tuple[Mapping[Family, int], DropCause]:
        """The owner ends now: forget what nobody could send after it; the events of that, and why they are dropped."""
        ...

    def keep(self, *, at_once: bool = False) -> None:
        """Bring what is new to where it outlives the process, as far as there is such a place. Never raises.

        With `at_once` all that is known now, nothing being put off to a later call.
        """
        ...

    def release(self) -> None:
        """The owner has ended. Never raises."""
        ...

    def abandon(self) -> None:
        """The process is a forked child now: the batches are its parent's."""
        ...

    def health(self) -> OutboxHealth | None:
        """How the place that outlives the process is; None where there is none."""
        ...


Stores = Callable[[Owner], BatchStore]
"""Makes the store of a life that begins. Never raises; may take as long as a disk takes to make a few files."""


class MemoryStore:
    """Batches in memory: nothing survives the process, and close() reports what was left."""

    def __init__(self, limit: int = 64) -> None:
        """At most about `limit` batches are kept."""
        self._limit = limit
        self._batches: dict[int, StoredBatch] = {}
        self._waiting: dict[int, None] = {}

    def put(self, batch: StoredBatch) -> None:
        """Keep a batch that was just cut."""
        self._batches[batch.batch_seq] = batch
        self._waiting[batch.batch_seq] = None

    def room(self) -> int | None:
        """The number of batches decides."""
        return None

    def stalled(self) -> bool:
        """Whether the limit is reached."""
        return len(self._batches) >= self._limit

    def unacknowledged(self) -> int:
        """Batches that are kept."""
        return len(self._batches)

    def next_to_send(self) -> StoredBatch | None:
        """The oldest batch that is not on its way."""
        if not self._waiting:
            return None
        seq = min(self._waiting)
        del self._waiting[seq]
        return self._batches[seq]

    def returned(self, batch_seq: int) -> bool:
        """Hand the batch out again."""
        if batch_seq not in self._batches:
            return False
        self._waiting[batch_seq] = None
        return True

    def removed(self, batch_seq: int) -> StoredBatch | None:
        """Forget the batch."""
        self._waiting.pop(batch_seq, None)
        return self._batches.pop(batch_seq, None)

    def pending(self) -> Mapping[Family, int]:
        """Events in kept batches."""
        total: Counter[Family] = Counter()
        for batch in self._batches.values():
            total.update(batch.events)
        return total

    def oldest(self) -> int | None:
        """The first batch that is kept."""
        return min(self._batches, default=None)

    def settle(self) -> tuple[Mapping[Family, int], DropCause]:
        """Everything is forgotten."""
        left = self.pending()
        self._batches.clear()
        self._waiting.clear()
        return left, DropCause.CLOSE_DEADLINE

    def keep(self, *, at_once: bool = False) -> None:
        """Nothing to do."""

    def release(self) -> None:
        """Nothing to do."""

    def abandon(self) -> None:
        """Nothing to do."""

    def health(self) -> OutboxHealth | None:
        """Nothing outlives the process."""
        return None
