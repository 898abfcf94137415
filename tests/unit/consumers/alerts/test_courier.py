"""The courier against a log that is compacted, a receiver that fails and refuses, and ends that come at any moment.

The log, the commits and the receiver are kept here as plain values; everything that decides is the product's own.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.alert_records import FIRING, RESOLVED, SINCE, alert_record, row

from unmask.consumers.alerts.answer import Accepted, Answer, Failed, Refused
from unmask.consumers.alerts.begin import begin, first_reading, metadata_of
from unmask.consumers.alerts.book import Book
from unmask.consumers.alerts.courier import Courier
from unmask.consumers.alerts.lanes import Lanes
from unmask.consumers.alerts.outbox import Outbox, Parcel
from unmask.consumers.alerts.pace import Backoff
from unmask.consumers.alerts.receiver import Receiver, ReceiverKind
from unmask.consumers.alerts.refusals import ReceiverRefusesAll
from unmask.consumers.topic_reader import Row
from unmask.schemas.windowing import MICROS

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ALERTS = ("a", "b", "c")


def lanes() -> Outbox:
    return Lanes("unmask", wall_clock=lambda: NOW, jitter=lambda: 1.0, backoff=Backoff(1.0, 4.0))


def book() -> Outbox:
    return Book("unmask", wall_clock=lambda: NOW, jitter=lambda: 1.0, backoff=Backoff(1.0, 4.0))


class World:
    """One partition, its group's commit, a receiver, and a watcher that may end at any moment."""

    def __init__(self, outbox: Callable[[], Outbox], *, standing: bool = True) -> None:
        self.rows: list[Row] = []
        self.end = 0
        self.received: list[tuple[str, str, int]] = []
        self.standing = standing
        self._outbox = outbox
        self._commit: tuple[int, str] | None = None
        self._revision = 0
        self._now = 0.0
        self.start()

    def publish(self, upstream: str, state: str, **changes: Any) -> None:
        """A worker publishes a change."""
        self._revision += 1
        changes = {"since": SINCE + self._revision * MICROS, **changes}
        self._append(row(self.end, alert_record(upstream, state, changes.pop("revision", self._revision), **changes)))

    def publish_again(self, upstream: str) -> None:
        """A worker that restarted publishes what stands."""
        stands = [found for found in self.rows if found.key == f"UPSTREAM_OUTAGE|{upstream}".encode()]
        if stands:
            self._append(stands[-1]._replace(offset=self.end))

    def _append(self, added: Row) -> None:
        self.rows.append(added)
        self.end += 1

    def compact(self) -> None:
        """The broker keeps the newest record of each key."""
        newest = {found.key: found.offset for found in self.rows}
        self.rows = [found for found in self.rows if newest[found.key] == found.offset]

    def start(self) -> None:
        """A watcher starts, as after a kill: it knows what the topic and the commit say."""
        offset, metadata = self._commit or (None, None)
        self._begun = begin(offset, metadata, 0, self.end, standing=self.standing)
        self.courier = Courier(Receiver(ReceiverKind.WEBHOOK, "http://h.example/"), self._outbox())
        below = [found for found in self.rows if found.offset < self._begun.standing_below]
        self.courier.begin({0: self._begun}, {0: first_reading(self._begun.standing_below, below)})
        for found in self.rows:
            if found.offset < self._begun.position:
                self.courier.recall(found)
        self._read_through = self._begun.position
        self._under_way: list[Parcel] = []
        self.commit()

    def commit(self) -> None:
        position = self.courier.positions()[0]
        self._commit = (position, metadata_of(self._begun, position))

    def read(self, count: int) -> None:
        for found in [found for found in self.rows if found.offset >= self._read_through][:count]:
            self.courier.read(found)
            self._read_through = found.offset + 1

    def send(self) -> None:
        """Requests begin. The receiver has what it is sent, whether or not its answer arrives."""
        while (parcel := self.courier.outbox.take(self._now)) is not None:
            self._under_way.append(parcel)

    def answer(self, answer: Answer, *, arrives: bool = True) -> None:
        """The receiver answers the oldest request."""
        if not self._under_way:
            return
        parcel = self._under_way.pop(0)
        if isinstance(answer, Accepted):
            self.received += [(a.upstream or "", a.state.value, a.revision) for a in parcel.alerts]
        self.courier.settle(parcel, answer if arrives else Failed("lost"), self._now)

    def wait(self, seconds: float = 10.0) -> None:
        self._now += seconds

    def settle_everything(self) -> None:
        """The receiver is well from now on, until nothing is waiting."""
        for _ in range(1_000):
            self.read(len(self.rows))
            self.send()
            if not self._under_way and not self.courier.outbox.waiting:
                self.commit()
                return
            while self._under_way:
                self.answer(Accepted(200))
            self.wait()
        raise AssertionError("it never comes to rest")


STEPS = st.one_of(
    st.tuples(st.just("publish"), st.sampled_from(ALERTS), st.sampled_from([FIRING, RESOLVED])),
    st.tuples(st.just("publish_again"), st.sampled_from(ALERTS)),
    st.tuples(st.just("read"), st.integers(1, 4)),
    st.sampled_from([("send",), ("accept",), ("accept_unheard",), ("fail",), ("refuse",), ("wait",), ("commit",)]),
    st.sampled_from([("kill",), ("compact",)]),
)


def take_step(world: World, step: tuple[Any, ...]) -> None:
    match step:
        case ("publish", upstream, state):
            world.publish(upstream, state)
        case ("publish_again", upstream):
            world.publish_again(upstream)
        case ("read", count):
            world.read(count)
        case ("accept",):
            world.answer(Accepted(200))
        case ("accept_unheard",):
            world.answer(Accepted(200), arrives=False)
        case ("fail",):
            world.answer(Failed("HTTP 503"))
        case ("kill",):
            world.start()
        case (name,):
            getattr(world, name)()


def newest(rows: list[Row]) -> dict[bytes, Row]:
    return {found.key or b"": found for found in rows}


@pytest.mark.parametrize("outbox", [lanes, book])
@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS.filter(lambda step: step != ("refuse",)), max_size=60))
def test_the_newest_state_of_every_alert_arrives_and_arrives_last(
    outbox: Callable[[], Outbox], steps: list[tuple[Any, ...]]
) -> None:
    world = World(outbox)
    states: dict[str, str] = {}
    for step in steps:
        take_step(world, step)
        if step[0] == "publish":
            states[step[1]] = step[2]
    world.settle_everything()
    for upstream, state in states.items():
        heard = [found[1] for found in world.received if found[0] == upstream]
        assert heard, f"{upstream} was never told"
        assert heard[-1] == state


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS.filter(lambda step: step[0] not in ("refuse", "compact")), max_size=60))
def test_a_webhook_gets_every_change_in_order_and_repeats_only_what_it_may_not_have_answered(
    steps: list[tuple[Any, ...]],
) -> None:
    world = World(lanes)
    published: dict[str, list[tuple[str, int]]] = {upstream: [] for upstream in ALERTS}
    for step in steps:
        take_step(world, step)
        if step[0] == "publish":
            history = published[step[1]]
            # Two of one state in a row, the later one begun later, are two times that the condition holds.
            history.append((step[2], world._revision))
    world.settle_everything()
    for upstream in ALERTS:
        heard = [(state, revision) for name, state, revision in world.received if name == upstream]
        furthest = -1
        for change in heard:
            place = published[upstream].index(change)
            assert place <= furthest + 1, "a change was told before one that came earlier"
            furthest = max(furthest, place)
        assert furthest == len(published[upstream]) - 1, "a change was never told"


@pytest.mark.parametrize("outbox", [lanes, book])
@settings(max_examples=100, deadline=None)
@given(st.lists(STEPS, max_size=60))
def test_nothing_that_is_owed_is_ever_committed(outbox: Callable[[], Outbox], steps: list[tuple[Any, ...]]) -> None:
    """A refused delivery is no exception, until the receiver took another one."""
    world = World(outbox)
    for step in steps:
        if step == ("refuse",):
            try:
                world.answer(Refused(400))
            except ReceiverRefusesAll:
                world.start()
        else:
            take_step(world, step)
        told = set(world.received)
        position = world.courier.positions()[0]
        for key, found in newest([found for found in world.rows if found.offset < position]).items():
            record = alert_of(found)
            upstream = key.decode().split("|")[1]
            taken_since = any(name == upstream and revision >= record[1] for name, _, revision in told)
            assert taken_since or world.courier.refused, f"{upstream} was given up untold"


def alert_of(found: Row) -> tuple[str, int]:
    from unmask.schemas.codec import decode

    record = decode("alert", found.value)
    return record["state"], record["revision"]


@pytest.mark.parametrize("outbox", [lanes, book])
def test_the_first_start_tells_what_fires_and_not_what_was_over(outbox: Callable[[], Outbox]) -> None:
    world = World(outbox)
    world._commit = None
    for upstream, state in (("a", FIRING), ("b", FIRING), ("b", RESOLVED), ("a", FIRING)):
        world.publish(upstream, state)
    world.start()
    world.settle_everything()
    assert world.received == [("a", FIRING, 4)]


@pytest.mark.parametrize("outbox", [lanes, book])
def test_a_first_start_that_is_killed_in_the_middle_goes_on_with_what_stood(outbox: Callable[[], Outbox]) -> None:
    world = World(outbox)
    world._commit = None
    for upstream, state in (("b", FIRING), ("a", FIRING), ("b", RESOLVED), ("c", FIRING), ("c", FIRING)):
        world.publish(upstream, state)
    world.start()
    world.read(2)
    world.send()
    world.answer(Accepted(200))
    world.commit()
    world.start()
    world.settle_everything()
    assert [found for found in world.received if found[0] != "a"] == [("c", FIRING, 5)]
    assert {found for found in world.received if found[0] == "a"} == {("a", FIRING, 2)}


def test_a_start_from_now_tells_nothing_that_stood_also_where_it_is_killed_before_anything_came() -> None:
    world = World(lanes, standing=False)
    world._commit = None
    world.publish("a", FIRING)
    world.start()
    world.publish("b", FIRING)
    world.start()
    world.settle_everything()
    assert world.received == [("b", FIRING, 2)]


@pytest.mark.parametrize("outbox", [lanes, book])
def test_an_alert_whose_firing_was_told_is_resolved_after_the_topic_was_compacted(outbox: Callable[[], Outbox]) -> None:
    world = World(outbox)
    world.publish("a", FIRING)
    world.settle_everything()
    world.publish("a", RESOLVED)
    world.compact()
    world.start()
    world.settle_everything()
    assert world.received[-1] == ("a", RESOLVED, 2)


def test_a_restarted_worker_and_a_restarted_watcher_together_repeat_nothing_to_a_webhook() -> None:
    world = World(lanes)
    world.publish("a", FIRING)
    world.settle_everything()
    for _ in range(3):
        world.publish_again("a")
        world.start()
        world.publish_again("a")
        world.settle_everything()
    assert world.received == [("a", FIRING, 1)]


def test_a_record_that_is_no_alert_is_handed_back_and_passed_over() -> None:
    world = World(lanes)
    bad = world.courier.read(Row(0, 0, b"k", b"nonsense", 0))
    assert bad is not None
    assert bad.reason == "BAD_MAGIC"
    assert world.courier.read(row(1, None)) is None
    assert world.courier.positions() == {0: 2}


def test_records_of_a_partition_that_went_away_are_passed_over() -> None:
    world = World(lanes)
    world.courier.drop([0])
    assert world.courier.read(row(0, alert_record())) is None
    assert (world.courier.positions(), world.courier.outbox.waiting) == ({}, 0)
