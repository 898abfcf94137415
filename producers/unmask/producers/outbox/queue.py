"""The batches that are in memory to be sent: waiting for their turn, on their way, or come back from it."""

from collections import deque
from collections.abc import Callable, Mapping

from unmask.producers.store import StoredBatch

__all__ = ["SendQueue"]

_AHEAD, _AHEAD_BYTES = 64, 8_000_000
"""What waits here at most where there is a file to leave the rest in."""


class SendQueue:
    """Hands each batch out once, oldest first, until it comes back; at most `in_flight` at a time."""

    def __init__(self, in_flight: int) -> None:
        self._limit = in_flight
        self._known: dict[int, StoredBatch] = {}
        self._in_order: deque[int] = deque()
        self._bytes_in_order = 0
        self._came_back: set[int] = set()
        self._in_flight: set[int] = set()

    def known(self) -> Mapping[int, StoredBatch]:
        """All of them, by batch_seq."""
        return self._known

    def append(self, batch: StoredBatch) -> None:
        """A batch that waits behind all others."""
        self._known[batch.batch_seq] = batch
        self._in_order.append(batch.batch_seq)
        self._bytes_in_order += len(batch.data)

    def put_back(self, batch: StoredBatch) -> None:
        """A batch that was forgotten too early, and that goes before all others."""
        self._known[batch.batch_seq] = batch
        self._came_back.add(batch.batch_seq)

    def has_room(self, *, half: bool = False) -> bool:
        """Whether more may wait here; with `half`, whether it is at most half full."""
        share = 2 if half else 1
        return len(self._in_order) * share < _AHEAD and self._bytes_in_order * share < _AHEAD_BYTES

    def next_to_send(self) -> StoredBatch | None:
        """The oldest one that is not on its way."""
        if len(self._in_flight) >= self._limit:
            return None
        if self._came_back:
            batch_seq = min(self._came_back)
            self._came_back.discard(batch_seq)
        elif self._in_order:
            batch_seq = self._in_order.popleft()
            self._bytes_in_order -= len(self._known[batch_seq].data)
        else:
            return None
        self._in_flight.add(batch_seq)
        return self._known[batch_seq]

    def returned(self, batch_seq: int) -> bool:
        """Hand it out again. False where it is not on its way."""
        if batch_seq not in self._in_flight:
            return False
        self._in_flight.discard(batch_seq)
        self._came_back.add(batch_seq)
        return True

    def in_flight(self, batch_seq: int) -> StoredBatch | None:
        """The batch, where it is on its way."""
        return self._known[batch_seq] if batch_seq in self._in_flight else None

    def waiting(self, chosen: Callable[[StoredBatch], bool]) -> list[StoredBatch]:
        """Those not on their way for which `chosen` holds, as far as each one before them is chosen too."""
        found: list[StoredBatch] = []
        for batch_seq in (*sorted(self._came_back), *self._in_order):
            if not chosen(self._known[batch_seq]):
                break
            found.append(self._known[batch_seq])
        return found

    def forget(self, batch_seq: int) -> None:
        """It is not to be sent any more."""
        batch = self._known.pop(batch_seq, None)
        if batch is None:
            return
        self._in_flight.discard(batch_seq)
        self._came_back.discard(batch_seq)
        if batch_seq in self._in_order:
            self._in_order.remove(batch_seq)
            self._bytes_in_order -= len(batch.data)

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()
        self._in_order.clear()
        self._came_back.clear()
        self._in_flight.clear()
        self._bytes_in_order = 0
