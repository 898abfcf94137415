"""Where batches stay until the broker has acknowledged them."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from unmask.schemas.codes import Family

__all__ = ["BatchStore", "MemoryStore", "StoredBatch", "Stores"]


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """One batch, encoded. Its bytes never change, however often it is produced."""

    emitter_id: str
    batch_seq: int
    data: bytes
    events: Mapping[Family, int]
    """How many it holds, per family."""
    closing: bool


class BatchStore(Protocol):
    """Keeps batches from their cut to their acknowledgement. One thread at a time calls it.

    In memory, what is kept dies with the process; a store on a disk is the place where it would survive.
    """

    def put(self, batch: StoredBatch) -> None:
        """Keep a batch that was just cut."""
        ...

    def unacknowledged(self) -> int:
        """Batches that are kept."""
        ...

    def next_to_send(self) -> StoredBatch | None:
        """The oldest batch that is not on its way; it stays kept, and is handed out once until it comes back."""
        ...

    def returned(self, batch_seq: int) -> bool:
        """The client gave the batch up: hand it out again. False where it is not kept any more."""
        ...

    def removed(self, batch_seq: int) -> StoredBatch | None:
        """The batch was acknowledged or given up for good: forget it. None where it is not kept any more."""
        ...

    def pending(self) -> Mapping[Family, int]:
        """Events in kept batches."""
        ...

    def kept(self) -> tuple[int, ...]:
        """batch_seq of every kept batch, oldest first."""
        ...


Stores = Callable[[str], BatchStore]
"""Makes the store of a new life, given its emitter_id."""


class MemoryStore:
    """Batches in memory: nothing survives the process, and close() reports what was left."""

    def __init__(self, emitter_id: str) -> None:
        self.emitter_id = emitter_id
        self._batches: dict[int, StoredBatch] = {}
        self._waiting: dict[int, None] = {}

    def put(self, batch: StoredBatch) -> None:
        """Keep a batch that was just cut."""
        self._batches[batch.batch_seq] = batch
        self._waiting[batch.batch_seq] = None

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

    def kept(self) -> tuple[int, ...]:
        """batch_seq of every kept batch, oldest first."""
        return tuple(sorted(self._batches))
