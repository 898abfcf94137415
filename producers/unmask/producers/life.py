"""One life of an emitter: from its random id to its closing batch. All of its state, none of its threads."""

import secrets
from collections import Counter
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from unmask.producers.account import Account
from unmask.producers.batcher import Batcher
from unmask.producers.buffer import Buffer, Lane
from unmask.producers.custody import Clock, Custody
from unmask.producers.events import Cleaner, Event
from unmask.producers.framer import Framer
from unmask.producers.report import FAMILIES, Counts, DeliveryReport, FamilyCount, OutboxHealth, OutboxState
from unmask.producers.settings import EmitterSettings
from unmask.producers.store import MemoryStore, Owner, Stores
from unmask.producers.tick import Tick
from unmask.producers.wire import Identity
from unmask.schemas.codes import DropCause, Family

__all__ = ["EmitterLife"]


def in_memory(owner: Owner) -> MemoryStore:
    """The store of an emitter without an outbox, with the usual limit."""
    return MemoryStore()


def _sdk() -> str:
    try:
        return f"unmask-python-{version('unmask')}"
    except PackageNotFoundError:
        return "unmask-python"


class EmitterLife(Custody):
    """Buffer, account, batcher and store of one emitter_id. A forked child begins another life."""

    buffer: Buffer

    def __init__(
        self, settings: EmitterSettings, clock: Clock, stores: Stores = in_memory, framer: Framer | None = None
    ) -> None:
        self.settings = settings
        self.buffer = Buffer()
        self.internal_errors = Tick()
        self.framer = framer or Framer.single_object()
        self._cleaner = Cleaner(settings.label_limit)
        account = Account()
        identity = Identity(
            secrets.token_hex(16), clock() // 1000, settings.scope, settings.heartbeat_ms, _sdk(),
            tuple(family.value for family in settings.witnesses),
        )  # fmt: skip
        batcher = Batcher(
            identity, account, encode=self.framer.encode, max_bytes=settings.max_record_bytes,
            max_events=settings.max_batch_events,
        )  # fmt: skip
        # In memory there is nothing to keep yet; what begins life is open().
        super().__init__(account, batcher, clock, MemoryStore())
        self._stores = stores

    def open(self) -> None:
        """Get ready for the first record. Never raises; may take as long as a disk takes."""
        self.store_in(self._stores(self))

    def prepare(self) -> bool:
        """Whether batches can be encoded; asks the schema registry where that is still open. Takes seconds at most."""
        return self.framer.prepare(self._batcher.opening)

    def stalled(self) -> bool:
        """Whether no further batch should be cut: so many wait for the broker, or none can be encoded yet."""
        with self.lock:
            return self._store.stalled() or not self.framer.ready

    def cut(self, *, closing: bool = False) -> bool:
        """Cut everything that was recorded until now into batches, and keep them. False where none can be encoded."""
        with self.lock:
            if self.settled or not self.framer.ready:
                return False
            # The lanes first, then the clock: whatever was taken happened before the cut.
            events: list[Event] = []
            for lane in (*self.buffer.lanes, self.buffer.openings):
                self._take(lane, events)
            for batch in self._batcher.cut(events, self.now(), closing=closing, room=self._store.room()):
                self._store.put(batch)
            return True

    def _take(self, lane: Lane, into: list[Event]) -> None:
        family, clean = lane.family, self._cleaner.clean
        if family is not None:
            self._account.told_by_lane(family, lane.drops())
        taken = lane.take(len(lane.events))
        if family is Family.ROUTE_ATTEMPT:
            into += self._cleaner.clean_attempts(
                taken, lambda: self._account.drop_uncut(Family.ROUTE_ATTEMPT, DropCause.INVALID_EVENT)
            )
            return
        for raw in taken:
            try:
                into.append(clean(family, raw))
            except Exception:
                if family is not None:
                    self._account.drop_uncut(family, DropCause.INVALID_EVENT)

    def settle(self) -> None:
        """End: what nobody can send any more is dropped."""
        with self.lock:
            if self.settled:
                return
            self.settled = True
            self._account_for_lanes()
            for lane in self.buffer.lanes:
                assert lane.family is not None
                self._account.drop_uncut(lane.family, DropCause.CLOSE_DEADLINE, len(lane.take(len(lane.events))))
            self.give_up(*self._store.settle())

    def current_account(self) -> Account:
        """The account, with what the lanes have dropped until now."""
        self._account_for_lanes()
        return self._account

    def _account_for_lanes(self) -> None:
        for lane in self.buffer.lanes:
            if lane.family is not None:
                self._account.told_by_lane(lane.family, lane.drops())

    def counts(self) -> Counts:
        """What became of everything that was recorded, per family."""
        with self.lock:
            pending = Counter(self._store.pending())
            self._account_for_lanes()
            return Counts(
                self.emitter_id, {lane.family: self._count(lane, pending) for lane in self.buffer.lanes if lane.family}
            )

    def _count(self, lane: Lane, pending_in_batches: Counter[Family]) -> FamilyCount:
        family = lane.family
        assert family is not None
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

    @property
    def openings_dropped(self) -> int:
        """Openings of sessions that no batch took."""
        openings = self.buffer.openings
        return openings.full.value + openings.late.value + self._batcher.openings_dropped

    def outbox_health(self) -> OutboxHealth | None:
        """How the disk outbox is; None where there is none."""
        with self.lock:
            health = self._store.health()
            full = health is not None and health.state is OutboxState.ON and self._batcher.out_of_room
            return replace(health, state=OutboxState.FULL) if health is not None and full else health
