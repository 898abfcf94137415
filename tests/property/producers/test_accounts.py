"""recorded = delivered + dropped + pending, at every step of any history, and so in every batch that goes out."""

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.outbox_rig import raw_event

from unmask.producers import EmitterSettings
from unmask.producers.life import EmitterLife
from unmask.producers.report import FAMILIES
from unmask.producers.store import MemoryStore, StoredBatch
from unmask.producers.testing import account_faults, events_in, lost_by_cause
from unmask.schemas.codec import decode
from unmask.schemas.codes import DropCause, Family
from unmask.streams.ledger.accounting import losses_between, read_account

START = 1_767_225_600 * 10**9
LIMIT = 6


class EmitterHistory(RuleBasedStateMachine):
    """One life driven by hand: record calls, cuts, a clock that steps, a client that delivers, fails and refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        settings = EmitterSettings(max_batch_events=40)
        self.life = EmitterLife(settings, lambda: self.now, lambda _: MemoryStore(5))
        self.life.open()
        self.recorded = dict.fromkeys(FAMILIES, 0)
        self.full = dict.fromkeys(FAMILIES, 0)
        self.invalid = dict.fromkeys(FAMILIES, 0)
        self.too_large = dict.fromkeys(FAMILIES, 0)
        self.delivered = dict.fromkeys(FAMILIES, 0)
        self.on_the_way: dict[int, StoredBatch] = {}
        self.bytes: dict[int, bytes] = {}
        self.sent: list[dict[str, Any]] = []

    @initialize()
    def opening(self) -> None:
        self.life.cut()

    @rule(lane=st.sampled_from(range(len(FAMILIES))), number=st.integers(1, 9), valid=st.booleans())
    def record(self, lane: int, number: int, valid: bool) -> None:
        family = FAMILIES[lane]
        for _ in range(number):
            self.recorded[family] += 1
            if self.life.settled:
                self.life.buffer.lanes[lane].late.add()
            elif len(self.life.buffer.lanes[lane].events) >= LIMIT:
                self.life.buffer.lanes[lane].full.add()
                self.full[family] += 1
            else:
                self.life.buffer.lanes[lane].events.append(_raw(family, self.now, valid))
                self.invalid[family] += not valid

    @rule(nanoseconds=st.integers(-(10**9), 10**10))
    def the_clock_moves(self, nanoseconds: int) -> None:
        self.now = max(START, self.now + nanoseconds)

    @precondition(lambda self: not self.life.settled)
    @rule()
    def cut(self) -> None:
        if not self.life.stalled():
            self.life.cut()

    @rule(number=st.integers(1, 5))
    def send(self, number: int) -> None:
        for _ in range(number):
            batch = self.life.next_to_send()
            if batch is None:
                return
            assert batch.batch_seq not in self.on_the_way
            assert self.bytes.setdefault(batch.batch_seq, batch.data) == batch.data
            self.on_the_way[batch.batch_seq] = batch

    @precondition(lambda self: self.on_the_way)
    @rule(data=st.data(), fate=st.sampled_from(["delivered", "delivered", "returned", "too_large"]))
    def the_client_reports(self, data: st.DataObject, fate: str) -> None:
        seq = data.draw(st.sampled_from(sorted(self.on_the_way)))
        batch = self.on_the_way.pop(seq)
        if self.life.settled:
            return
        if fate == "delivered":
            self.life.delivered(seq)
            self._add(self.delivered, batch)
            self.sent.append(decode("event_batch", batch.data))
        elif fate == "returned":
            self.life.returned(seq)
        else:
            self.life.refused_as_too_large(seq)
            self._add(self.too_large, batch)

    @precondition(lambda self: not self.life.settled and self.life.batches_cut > 6)
    @rule(closing_cut=st.booleans())
    def close(self, closing_cut: bool) -> None:
        if closing_cut:
            self.life.cut(closing=True)
        self.life.settle()

    def _add(self, counts: dict[Family, int], batch: StoredBatch) -> None:
        for family, count in batch.events.items():
            counts[family] += count

    @invariant()
    def every_event_is_delivered_dropped_or_pending(self) -> None:
        counts = self.life.counts()
        for family in FAMILIES:
            count = counts[family]
            assert count.recorded == self.recorded[family]
            assert count.recorded == count.delivered + count.pending + count.lost
            assert count.delivered == self.delivered[family]
            assert count.dropped.get(DropCause.BUFFER_FULL, 0) == self.full[family]
            assert count.dropped.get(DropCause.TOO_LARGE, 0) == self.too_large[family]
            if not self.life.settled:
                assert DropCause.CLOSE_DEADLINE not in count.dropped
                assert count.dropped.get(DropCause.INVALID_EVENT, 0) <= self.invalid[family]
            else:
                assert count.pending == 0

    @invariant()
    def any_part_of_the_series_tells_exactly_what_was_lost_between(self) -> None:
        arrived = sorted(self.sent, key=lambda batch: int(batch["batch_seq"]))
        for earlier, later in pairwise(arrived):
            between = range(earlier["batch_seq"] + 1, later["batch_seq"])
            missing = sum((events_in(decode("event_batch", self.bytes[seq])) for seq in between), Counter[str]())
            recorded, dropped = _account(later)
            recorded_before, dropped_before = _account(earlier)
            for family in map(str, FAMILIES):
                newly = recorded[family] - recorded_before[family] - events_in(later)[family]
                # Of what was recorded between the two, what is not in batches that are missing here was dropped uncut.
                assert 0 <= newly - missing[family] <= dropped[family] - dropped_before[family]

    @invariant()
    def what_is_missing_and_what_is_dropped_never_count_an_event_twice(self) -> None:
        """By the ledger's own reading of any series of batches that arrived in order."""
        arrived = sorted(self.sent, key=lambda batch: int(batch["batch_seq"]))
        if not arrived:
            return
        lost = Counter[str]()
        shipped: dict[str, int] = {}
        drops: dict[str, dict[str, int]] = {}
        for batch in arrived:
            through, dropped, events = read_account(batch)
            began = {family: through.get(family, 0) - events.get(family, 0) for family in {*through, *events}}
            for loss in losses_between(shipped, drops, began, dropped):
                lost[loss["family"]] += loss["missing"] + sum(each["count"] for each in loss["dropped"])
            shipped, drops = through, dropped
        last = _account(arrived[-1])[0]
        for family in map(str, FAMILIES):
            assert lost[family] == last[family] - sum(events_in(batch)[family] for batch in arrived) >= 0

    def teardown(self) -> None:
        """At the end everything is delivered; then the whole series must hold, and hold all that was not dropped."""
        if self.life.settled:
            return
        self.life.cut()
        for batch in iter(self.life.next_to_send, None):
            self.on_the_way[batch.batch_seq] = batch
        for seq, batch in self.on_the_way.items():
            self.life.delivered(seq)
            self.sent.append(decode("event_batch", batch.data))
        counts = self.life.counts()
        for family in FAMILIES:
            arrived = sum(events_in(batch)[str(family)] for batch in self.sent)
            assert arrived == counts[family].delivered == self.recorded[family] - counts[family].lost
        assert [fault for fault in account_faults(self.sent) if "follows" not in fault] == []


def _account(batch: dict[str, Any]) -> tuple[Counter[str], Counter[str]]:
    recorded = Counter({each["family"]: each["recorded"] for each in batch["accounts"]})
    return recorded, Counter({family: sum(causes.values()) for family, causes in lost_by_cause(batch).items()})


def _raw(family: Family, now: int, valid: bool) -> tuple[Any, ...]:
    return raw_event(family, now) if valid else (now,)


TestEmitterHistory = EmitterHistory.TestCase
TestEmitterHistory.settings = hypothesis_settings(max_examples=300, stateful_step_count=40, deadline=None)
