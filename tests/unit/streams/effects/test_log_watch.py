"""How much waits, and since when the broker is silent."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from unmask.streams.effects import log_watch as module
from unmask.streams.effects.log_watch import LogWatch


class Broker:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[list[int]] = []
        self.futures: dict[TopicPartition, Future[Any]] = {}
        self.now = 0.0
        monkeypatch.setattr(module, "ask_log_ends", self.ask)
        self.watch = LogWatch(None, "requests", lambda: self.now)  # type: ignore[arg-type]

    def ask(self, _admin: Any, topic: str, partitions: list[int], _timeout: float) -> dict[TopicPartition, Future[Any]]:
        self.asked.append(list(partitions))
        self.futures = {TopicPartition(topic, partition): Future() for partition in partitions}
        return self.futures

    def answer(self, *ends: int) -> None:
        for future, end in zip(self.futures.values(), ends, strict=True):
            future.set_result(SimpleNamespace(offset=end))


def test_one_question_at_a_time_is_under_way_and_one_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(monkeypatch)
    broker.watch.look([0, 1])
    broker.now = 5.0
    broker.watch.look([0, 1])
    assert broker.asked == [[0, 1]], "not answered yet"
    broker.answer(3, 4)
    broker.watch.look([0, 1])
    assert broker.watch.ends == {0: 3, 1: 4}
    assert broker.watch.answered_at == 5.0
    assert len(broker.asked) == 2
    broker.watch.forget(0)
    assert broker.watch.ends == {1: 4}


def test_an_answer_without_a_leader_and_a_failure_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(monkeypatch)
    broker.watch.look([0, 1])
    first, second = broker.futures.values()
    first.set_result(SimpleNamespace(offset=-1))
    second.set_exception(TimeoutError())
    broker.now = 9.0
    broker.watch.look([0, 1])
    assert broker.watch.ends == {}
    assert broker.watch.answered_at == 0.0


def test_whoever_has_no_partition_waits_for_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(monkeypatch)
    broker.now = 50.0
    broker.watch.look([])
    assert broker.watch.answered_at == 50.0
