"""The reader runs while somebody looks, forgets afterwards, and tells what it cannot read."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from unmask.schemas.topics import Topics
from unmask.streams.web.page import pulse as pulse_module
from unmask.streams.web.page import reader as reader_module
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.pulse import Pulse
from unmask.streams.web.page.reader import PageReader
from unmask.streams.web.page.reading import ReadingState

TOPICS = Topics("shop", events_partitions=2, table_partitions=1)


def eventually(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def state_of(reader: PageReader) -> ReadingState:
    return reader.read(lambda _, reading: reading.state)


def test_nobody_looks_nothing_is_read_and_what_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "_QUESTION_S", 0.3)
    monkeypatch.setattr(reader_module, "_AGAIN_S", 0.05)
    reader = PageReader("127.0.0.1:1", TOPICS, ("shop.ledger",), Limits(idle_s=1.0))
    assert state_of(reader) is ReadingState.IDLE
    reader.touch()
    assert state_of(reader) is ReadingState.READING
    eventually(lambda: state_of(reader) is ReadingState.FAILED)
    assert reader.read(lambda _, reading: reading.error)
    assert not reader.caught_up.is_set()
    # Nobody looks any more: it ends, and begins again when somebody does.
    eventually(lambda: state_of(reader) is ReadingState.IDLE)
    reader.touch()
    assert state_of(reader) is ReadingState.READING
    reader.stop()
    reader.touch()
    assert state_of(reader) is ReadingState.IDLE


class Admin:
    """A broker that answers, or does not."""

    def __init__(self) -> None:
        self.answers = True

    def _future(self, value: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        if self.answers:
            future.set_result(value)
        else:
            future.set_exception(TimeoutError())
        return future

    def list_offsets(self, asked: dict[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Any]:
        return {place: self._future(SimpleNamespace(offset=10 + place.partition)) for place in asked}

    def describe_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Any]:
        places = [TopicPartition("shop.events", 1)]
        member = SimpleNamespace(assignment=SimpleNamespace(topic_partitions=places))
        joining = SimpleNamespace(assignment=None)
        described = SimpleNamespace(
            group_id="shop.ledger", state=SimpleNamespace(name="STABLE"), members=[member, joining]
        )
        return {name: self._future(described) for name in names}


def test_a_pulse_knows_the_ends_the_groups_and_a_broker_that_falls_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    admin: Any = Admin()
    now = time.monotonic()
    pulse = Pulse(admin, TOPICS, ("shop.ledger",))

    def silent() -> bool:
        return pulse.silent_since is not None

    pulse.beat(now)
    pulse.beat(now + 0.1)
    assert pulse.ends == {0: 10, 1: 11}
    (group,) = pulse.groups
    assert (group.name, group.state, group.members, group.assigned) == ("shop.ledger", "STABLE", 2, frozenset((1,)))

    admin.answers = False
    for step in range(1, 4):
        pulse.beat(now + step)
    assert not silent()
    pulse.beat(now + pulse_module._SILENT_S + 1)
    assert silent()
    assert pulse.ends == {0: 10, 1: 11}

    admin.answers = True
    for step in (8, 10, 12):
        pulse.beat(now + step)
    assert not silent()
