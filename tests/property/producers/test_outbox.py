"""The outbox against a small model, with a crash possible at every step and inside of every write.

A crash is a copy of the folder, taken at that moment. An adopter takes the copy to its end, crashing on the way itself;
then recorded must be delivered plus dropped, per family, to the last event.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.outbox_rig import Crashed, FailingDisk, Host, dropped, held

from unmask.producers.outbox.batches import Batches
from unmask.producers.outbox.page import Page
from unmask.producers.report import FAMILIES
from unmask.producers.store import StoredBatch
from unmask.producers.testing import account_faults, events_in, lost_by_cause
from unmask.schemas.codec import decode
from unmask.schemas.codes import DropCause, Family

POINTS = ("before the commit", "after the commit", "after the page")
CAPACITY = 6_000
FLIGHT = 4


class OutboxHistory(RuleBasedStateMachine):
    """One life driven by hand, and the model: what was recorded, and where each batch that was cut is."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="unmask-outbox-"))
        self.crashes = 0
        self.host = Host(
            self.place / "box", max_bytes=CAPACITY, max_age_s=100, in_flight=FLIGHT, buffer_limit=12,
            max_batch_events=100,
        )  # fmt: skip
        self.disk = FailingDisk()
        self.crash_at: str | None = None
        self.undo = self._watch()
        self.disk_ever_failed = False
        self.closing = False
        self.delivered: Counter[Family] = Counter()
        self.too_large: Counter[Family] = Counter()
        self.in_doubt: dict[int, StoredBatch] = {}
        """Came back, and may have arrived all the same."""

    def _watch(self) -> Callable[[], None]:
        """Have crashes happen inside of writes too."""
        commit, write, machine = Batches.commit, Page.write, self

        def watched_commit(file: Batches, *arguments: Any) -> None:
            machine._maybe("before the commit")
            machine.disk.__get__(file)(*arguments)
            machine._maybe("after the commit")

        def watched_write(page: Page, *arguments: Any) -> None:
            write(page, *arguments)
            machine._maybe("after the page")

        Batches.commit, Page.write = watched_commit, watched_write  # type: ignore[method-assign,assignment]

        def undo() -> None:
            Batches.commit, Page.write = commit, write  # type: ignore[method-assign]

        return undo

    @initialize()
    def opening(self) -> None:
        self.host.cut_and_keep()

    # -- what happens to a host

    @rule(lane=st.sampled_from(range(len(FAMILIES))), number=st.integers(1, 9))
    def record(self, lane: int, number: int) -> None:
        if not self.closing:
            self.host.record(FAMILIES[lane], number)

    @precondition(lambda self: not self.closing and not self.host.life.stalled())
    @rule(kept=st.sampled_from([True, True, True, False]))
    def cut(self, kept: bool) -> None:
        self.host.life.cut()
        if kept:
            self.host.life.keep()

    @rule(at_once=st.booleans(), crash_at=st.none() | st.sampled_from(POINTS))
    def keep(self, at_once: bool, crash_at: str | None) -> None:
        self.crash_at = crash_at
        self.host.life.keep(at_once=at_once)
        self.crash_at = None

    @rule(seconds=st.sampled_from([-5, 1, 20, 101]))
    def the_clock_moves(self, seconds: int) -> None:
        self.host.nanoseconds += seconds * 10**9
        self.host.passed += abs(seconds)

    @rule(at_most=st.integers(1, FLIGHT))
    def send(self, at_most: int) -> None:
        self.host.send(at_most)
        assert len(self.host.on_the_way) <= FLIGHT

    @precondition(lambda self: self.host.on_the_way)
    @rule(data=st.data(), fate=st.sampled_from(["delivered", "delivered", "arrived", "returned", "too_large"]))
    def the_client_reports(self, data: st.DataObject, fate: str) -> None:
        seq = data.draw(st.sampled_from(sorted(self.host.on_the_way)))
        batch = self.host.on_the_way[seq]
        if fate == "delivered":
            self.host.arrive(seq)
            self.in_doubt.pop(seq, None)
            self.delivered.update(batch.events)
        elif fate == "arrived":
            # The broker has it, and the host does not know.
            self.host.arrive(seq, acknowledged=False)
        elif fate == "returned" or seq in self.host.broker.batches.get(batch.emitter_id, {}):
            # What has arrived is not refused any more.
            del self.host.on_the_way[seq]
            self.host.life.returned(seq)
            self.in_doubt[seq] = batch
        else:
            del self.host.on_the_way[seq]
            self.host.life.refused_as_too_large(seq)
            self.too_large.update(batch.events)

    @rule(problem=st.none() | st.sampled_from(["SQLITE_FULL", "SQLITE_IOERR_WRITE"]))
    def the_disk_changes(self, problem: str | None) -> None:
        self.disk.problem = problem
        self.disk_ever_failed |= problem is not None

    @precondition(lambda self: not self.closing and self.host.life.batches_cut > 3)
    @rule()
    def close(self) -> None:
        self.closing = True
        self.host.life.cut(closing=True)
        self.host.life.keep()

    @rule()
    def crash(self) -> None:
        self._crash()

    def _maybe(self, point: str) -> None:
        if self.crash_at == point:
            self._crash()

    # -- what must hold

    @invariant()
    def every_event_is_delivered_dropped_or_pending(self) -> None:
        counts = self.host.life.counts()
        for family in FAMILIES:
            count = counts[family]
            assert count.recorded == self.host.recorded[family]
            assert count.recorded == count.delivered + count.pending + count.lost
            assert count.delivered == self.delivered[family]
            assert count.dropped.get(DropCause.TOO_LARGE, 0) == self.too_large[family]
            assert DropCause.HOST_DIED not in count.dropped

    @invariant()
    def the_limit_holds(self) -> None:
        health = self.host.life.outbox_health()
        assert health is not None
        # A closing batch may go beyond it.
        assert health.bytes_kept <= CAPACITY + 2_000 * self.closing

    def _crash(self) -> None:
        self.crashes += 1
        place = self.place / f"crash-{self.crashes}"
        failing, self.disk.problem = self.disk.problem, None
        held_back, self.crash_at = self.crash_at, None
        crashed = self.host.crash(place)
        on_the_way = self.in_doubt | self.host.on_the_way
        # Acknowledged, and still in the file: whoever adopts cannot know.
        delivered = dict(self.host.life._store._shelf.gone)  # type: ignore[attr-defined]
        self._adopt(crashed, on_the_way, delivered)
        self.disk.problem, self.crash_at = failing, held_back
        shutil.rmtree(place)

    def _adopt(
        self, crashed: Crashed, on_the_way: dict[int, StoredBatch], delivered: dict[int, dict[Family, int]]
    ) -> None:
        # The adopter gets some way, dies, and another one goes on.
        life = crashed.adopt()
        more = crashed.step(life, at_most=2, acknowledged=self.crashes % 2 == 0)
        if more:
            crashed = crashed.copy(crashed.above / "second")
            life.release()
            crashed.bring_to_its_end()
        # What was on its way when the host died may arrive after all, as a duplicate or to fill a gap.
        for batch in on_the_way.values():
            crashed.broker.take(batch)
        batches = crashed.broker.of(crashed.emitter_id)
        last = batches[-1]
        assert last["closing"]
        # A batch that was given up may be missing; whatever there is must fit together.
        assert [fault for fault in account_faults(batches) if "follows" not in fault] == []
        recorded = {each["family"]: each["recorded"] for each in last["accounts"]}
        assert recorded == {str(family): count for family, count in self.host.recorded.items() if count}
        arrived, told = held(batches), dropped(last)
        in_doubt = sum((events_in(decode("event_batch", batch.data)) for batch in on_the_way.values()), Counter[str]())
        for events in delivered.values():
            in_doubt.update({str(family): count for family, count in events.items()})
        for family in map(str, FAMILIES):
            lost = recorded.get(family, 0) - arrived[family]
            # What arrived without the disk's knowledge may also have been given up; the stream, which compares what
            # was recorded with what it received, is right all the same.
            assert told[family] - lost >= 0
            assert self.disk_ever_failed or told[family] - lost <= in_doubt[family]
        if not self.disk_ever_failed:
            assert not any("disk_failed" in causes for causes in lost_by_cause(last).values())

    def teardown(self) -> None:
        self.undo()
        shutil.rmtree(self.place, ignore_errors=True)


TestOutboxHistory = OutboxHistory.TestCase
TestOutboxHistory.settings = hypothesis_settings(max_examples=100, stateful_step_count=40, deadline=None)
