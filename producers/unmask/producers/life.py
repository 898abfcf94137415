"""One life of an emitter: from its random id to its closing batch. All of its state, none of its threads.

The background thread and the diagnostics meet at `lock`, which no record call ever takes.
"""

import secrets
import threading
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from unmask.producers.account import Account
from unmask.producers.batcher import Batcher
from unmask.producers.buffer import Buffer, Lane
from unmask.producers.events import Cleaner, Event
from unmask.producers.report import FAMILIES, Counts, DeliveryReport, FamilyCount
from unmask.producers.settings import EmitterSettings
from unmask.producers.store import BatchStore, MemoryStore, StoredBatch, Stores
from unmask.producers.tick import Tick
from unmask.producers.wire import Identity
from unmask.schemas.codes import DropCause, Family

__all__ = ["EmitterLife"]

Clock = Callable[[], int]
"""Nanoseconds since the epoch."""

_SMALLEST_LIMIT = 4_096


def _sdk() -> str:
    try:
        return f"unmask-python-{version('unmask')}"
    except PackageNotFoundError:
        return "unmask-python"


class EmitterLife:
    """Buffer, account, batcher and store of one emitter_id. A forked child begins another life."""

    def __init__(self, settings: EmitterSettings, clock: Clock, stores: Stores = MemoryStore) -> None:
        self.emitter_id = secrets.token_hex(16)
        self.settings = settings
        self.lock = threading.RLock()
        self.buffer = Buffer()
        self.internal_errors = Tick()
        self.redeliveries = 0
        self.batches_delivered = 0
        self.closing_delivered = False
        self.settled = False
        self._clock = clock
        self._account = Account()
        self._store: BatchStore = stores(self.emitter_id)
        self._cleaner = Cleaner(settings.label_limit)
        self._batcher = Batcher(
            Identity(self.emitter_id, clock() // 1000, settings.scope, settings.heartbeat_ms, _sdk()),
            self._account,
            max_bytes=settings.max_record_bytes,
            max_events=settings.max_batch_events,
        )

    @property
    def batches_cut(self) -> int:
        """The last batch_seq."""
        return self._batcher.batches_cut

    def unacknowledged(self) -> int:
        """Batches that wait for the broker."""
        with self.lock:
            return self._store.unacknowledged()

    def stalled(self) -> bool:
        """Whether so many batches wait for the broker that no further one is cut."""
        return self.unacknowledged() >= self.settings.max_unacknowledged

    def cut(self, *, closing: bool = False) -> None:
        """Cut everything that was recorded until now into batches, and keep them."""
        with self.lock:
            if self.settled:
                return
            # The lanes first, then the clock: whatever was taken happened before the cut.
            events: list[Event] = []
            for lane in (*self.buffer.lanes, self.buffer.openings):
                self._take(lane, events)
            for batch in self._batcher.cut(events, self._clock() // 1000, closing=closing):
                self._store.put(batch)

    def _take(self, lane: Lane, into: list[Event]) -> None:
        family, clean = lane.family, self._cleaner.clean
        if family is not None:
            self._account.told_by_lane(family, lane.drops())
        for raw in lane.take(len(lane.events)):
            try:
                into.append(clean(family, raw))
            except Exception:
                if family is not None:
                    self._account.drop_uncut(family, DropCause.INVALID_EVENT)

    def next_to_send(self) -> StoredBatch | None:
        """The oldest batch that is not on its way."""
        with self.lock:
            return None if self.settled else self._store.next_to_send()

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

    def delivered_through(self, batch_seq: int) -> bool:
        """Whether no batch up to this one is kept any more."""
        with self.lock:
            kept = self._store.kept()
            return not kept or kept[0] > batch_seq

    def settle(self) -> None:
        """End: what has not been delivered by now is dropped, as `close_deadline`."""
        with self.lock:
            if self.settled:
                return
            self.settled = True
            for batch_seq in self._store.kept():
                batch = self._store.removed(batch_seq)
                if batch is not None:
                    self._account.drop_cut(batch.events, DropCause.CLOSE_DEADLINE)

    def counts(self) -> Counts:
        """What became of everything that was recorded, per family."""
        with self.lock:
            pending = Counter(self._store.pending())
            return Counts(
                self.emitter_id, {lane.family: self._count(lane, pending) for lane in self.buffer.lanes if lane.family}
            )

    def _count(self, lane: Lane, pending_in_batches: Counter[Family]) -> FamilyCount:
        family = lane.family
        assert family is not None
        self._account.told_by_lane(family, lane.drops())
        waiting, dropped = len(lane.events), self._account.dropped(family)
        recorded = self._account.cut_so_far(family) + self._account.dropped_uncut(family) + waiting
        if self.settled and waiting:
            # Left by a record call that had begun before the emitter was closed; no batch will take it.
            dropped[DropCause.CLOSE_DEADLINE] = dropped.get(DropCause.CLOSE_DEADLINE, 0) + waiting
            waiting = 0
        return FamilyCount(
            recorded=recorded,
            delivered=self._account.delivered_so_far(family),
            pending=pending_in_batches[family] + waiting,
            dropped=dropped,
        )

    def report(self) -> DeliveryReport:
        """The counts as close() returns them."""
        counts = self.counts().families
        return DeliveryReport(
            delivered={family: counts[family].delivered for family in FAMILIES},
            pending={family: counts[family].pending for family in FAMILIES},
            dropped={family: counts[family].dropped for family in FAMILIES},
            closed=self.closing_delivered or not self.batches_cut,
        )
