"""The adopter beside a living emitter: one outbox after the other, and never in the living one's way."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.outbox_rig import Broker, Host, assert_accounted_for

from unmask.producers.outbox import adopter as adopter_module
from unmask.producers.outbox.adopter import Adopter
from unmask.producers.outbox.folder import LifeFolder
from unmask.producers.outbox.store import Limits
from unmask.producers.store import StoredBatch
from unmask.producers.transport import Receiver
from unmask.schemas.codec import encode
from unmask.schemas.codes import Family


class Sender:
    """A client by hand: what is sent waits in `on_the_way` until the test decides."""

    def __init__(self) -> None:
        self.on_the_way: list[tuple[Receiver, StoredBatch, int]] = []
        self.takes = True
        self.partitions_asked = 0
        self.knows: int | None = 4
        self.one_at_a_time: int | None = None
        self.broker = Broker()

    def partition_of(self, emitter_id: str, seconds: float) -> int | None:
        self.partitions_asked += 1
        return self.knows

    def may_send(self, partition: int) -> bool:
        return self.one_at_a_time is None or not any(to == self.one_at_a_time for _, _, to in self.on_the_way)

    def send_for(self, receiver: Receiver, batch: StoredBatch, partition: int) -> bool:
        if not self.takes:
            receiver.returned(batch.batch_seq)
            return False
        self.on_the_way.append((receiver, batch, partition))
        return True

    def deliver(self) -> None:
        for receiver, batch, _ in self.on_the_way:
            self.broker.take(batch)
            receiver.delivered(batch.batch_seq)
        self.on_the_way.clear()

    def give_back(self) -> int:
        given, self.on_the_way = self.on_the_way, []
        for receiver, batch, _ in given:
            receiver.returned(batch.batch_seq)
        return len(given)


def _dead_host(above: Path, batches: int, *, partition: int | None = 2) -> Host:
    host = Host(above)
    host.life.partition = partition
    host.cut_and_keep()
    for _ in range(batches):
        host.record(times=3)
        host.cut_and_keep()
    host.record(Family.MASKED_ERROR)
    # It dies: nobody holds the lock any more, and nobody tidies up.
    host.life._store._file.close()  # type: ignore[attr-defined]
    host.life._store._folder.leave()  # type: ignore[attr-defined]
    return host


@pytest.fixture
def adopter(tmp_path: Path) -> Adopter:
    clock: Callable[[], int] = lambda: 2_000_000_000 * 10**9  # noqa: E731
    return Adopter(tmp_path, Limits(10**9, 10**18), clock, encode, "own")


def test_dead_outboxes_are_sent_one_after_the_other_to_their_end(tmp_path: Path, adopter: Adopter) -> None:
    hosts = [_dead_host(tmp_path, 40) for _ in range(3)]
    sender, now = Sender(), 0.0
    while adopter.finished < 3:
        assert now < 10
        adopter.turn(sender, now)
        assert len(sender.on_the_way) <= 16
        assert all(batch.emitter_id == adopter.adopting for _, batch, _ in sender.on_the_way)
        assert all(partition == 2 for _, _, partition in sender.on_the_way)
        sender.deliver()
        now += 0.01
    for host in hosts:
        assert_accounted_for(sender.broker.of(host.life.emitter_id), host.recorded)
    assert os.listdir(tmp_path) == []
    assert sender.partitions_asked == 0


def test_an_emitter_that_never_knew_its_partition_gets_one_that_its_next_adopter_knows_too(
    tmp_path: Path, adopter: Adopter
) -> None:
    _dead_host(tmp_path, 3, partition=None)
    sender = Sender()
    sender.knows = None
    adopter.turn(sender, 0)
    assert sender.on_the_way == []
    sender.knows = 4
    adopter.turn(sender, 10)
    assert {partition for _, _, partition in sender.on_the_way} == {4}
    adopter.stop()
    other, again = Sender(), Adopter(tmp_path, Limits(10**9, 10**18), lambda: 2 * 10**18, encode, "own")
    other.knows = 1
    again.turn(other, 0)
    assert {partition for _, _, partition in other.on_the_way} == {4}
    again.stop()


def test_a_client_that_takes_nothing_is_not_pressed(tmp_path: Path, adopter: Adopter) -> None:
    _dead_host(tmp_path, 10)
    sender = Sender()
    sender.takes = False
    calls = 0

    def counting(*arguments: object) -> bool:
        nonlocal calls
        calls += 1
        return Sender.send_for(sender, *arguments)  # type: ignore[arg-type]

    sender.send_for = counting  # type: ignore[method-assign,assignment]
    for turn in range(1_000):
        adopter.turn(sender, turn / 100)
    assert calls < 10
    adopter.stop()


def test_a_partition_that_has_not_acknowledged_anything_gets_one_batch_at_a_time(
    tmp_path: Path, adopter: Adopter
) -> None:
    _dead_host(tmp_path, 3, partition=2)
    sender = Sender()
    sender.one_at_a_time = 2
    adopter.turn(sender, 0.0)
    adopter.turn(sender, 0.1)
    assert [batch.batch_seq for _, batch, _ in sender.on_the_way] == [1]
    sender.one_at_a_time = None
    sender.deliver()
    adopter.turn(sender, 0.2)
    assert [batch.batch_seq for _, batch, _ in sender.on_the_way] == [2, 3, 4]


def test_batches_that_come_back_are_sent_again_more_and_more_slowly(tmp_path: Path, adopter: Adopter) -> None:
    host = _dead_host(tmp_path, 10)
    sender = Sender()
    sent = 0
    for turn in range(1_000):
        adopter.turn(sender, turn / 100)
        sent += sender.give_back()
    assert 11 < sent < 11 * 12
    now = 20.0
    while not adopter.finished:
        adopter.turn(sender, now)
        sender.deliver()
        now += 0.1
    assert_accounted_for(sender.broker.of(host.life.emitter_id), host.recorded)


def test_one_that_makes_no_progress_lets_the_others_go_first(tmp_path: Path, adopter: Adopter) -> None:
    hosts = sorted((_dead_host(tmp_path, 2) for _ in range(2)), key=lambda host: host.life.emitter_id)
    sender, now = Sender(), 0.0
    while adopter.finished < 1:
        assert now < 300
        adopter.turn(sender, now)
        if adopter.adopting == hosts[0].life.emitter_id:
            sender.give_back()
        else:
            sender.deliver()
        now += 1
    assert_accounted_for(sender.broker.of(hosts[1].life.emitter_id), hosts[1].recorded)
    while adopter.finished < 2:
        assert now < 600
        adopter.turn(sender, now)
        sender.deliver()
        now += 1
    assert_accounted_for(sender.broker.of(hosts[0].life.emitter_id), hosts[0].recorded)


def test_one_that_cannot_be_read_is_passed_over_and_tried_again_later(
    tmp_path: Path, adopter: Adopter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        LifeFolder.create(tmp_path, name).leave()
    asked: list[str] = []

    def refuse(folder: LifeFolder, *_: object) -> None:
        asked.append(folder.name)
        raise OSError(5, "input/output error")

    monkeypatch.setattr(adopter_module, "adopt", refuse)
    for now in (0.0, 5.0, 15.0, 75.0):
        adopter.turn(Sender(), now)
        assert adopter.adopting is None
    assert asked == ["a", "b", "a", "b"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_its_own_folder_and_those_of_the_living_are_not_its_business(tmp_path: Path, adopter: Adopter) -> None:
    living = Host(tmp_path)
    living.record()
    living.cut_and_keep()
    LifeFolder.create(tmp_path, "own").leave()
    for now in range(0, 100, 10):
        adopter.turn(Sender(), now)
        assert adopter.adopting is None
    assert sorted(os.listdir(tmp_path)) == sorted([living.life.emitter_id, "own"])
