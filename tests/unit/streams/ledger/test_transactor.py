"""The transactor's order of steps, and what it makes of each failure; the broker's side is tested on a broker."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from unmask.streams.ledger import transactor as module
from unmask.streams.ledger.broker_clock import BrokerClock
from unmask.streams.ledger.outputs import Record
from unmask.streams.ledger.pieces import HEAD
from unmask.streams.ledger.transactor import Transactor

RECORDS = [Record("ns.tallies", 0, b"c|0", b"1"), Record("ns.ledger", 2, HEAD, b"{}")]
OFFSETS = [TopicPartition("ns.events", 2, 7)]


def _error(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


class _Message:
    def timestamp(self) -> tuple[int, int]:
        return 2, 5_000


class _Client:
    """Notes what it is asked to do; a step named in `failing` raises its next failure instead."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.members: list[object] = []
        self.failing: dict[str, list[BaseException]] = {}
        self.holding: threading.Event | None = None
        self._callbacks: list[Callable[..., None]] = []

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if self.failing.get(name):
            raise self.failing[name].pop(0)

    def init_transactions(self, _: float) -> None:
        self._step("init")

    def begin_transaction(self) -> None:
        self._step("begin")

    def produce(self, topic: str, *_: Any, on_delivery: Callable[..., None] | None = None) -> None:
        self._step(f"produce {topic}")
        if on_delivery is not None:
            self._callbacks.append(on_delivery)

    def flush(self, _: float) -> int:
        for callback in self._callbacks:
            callback(None, _Message())
        self._step("flush")
        return 0

    def poll(self, _: float) -> int:
        self._step("poll")
        return 0

    def send_offsets_to_transaction(self, offsets: Any, member: object, _: float) -> None:
        self.members.append(member)
        if self.holding is not None:
            self.holding.wait(10)
        self._step(f"offsets {offsets[0].offset}")

    def commit_transaction(self, _: float) -> None:
        self._step("commit")

    def abort_transaction(self, _: float) -> None:
        self._step("abort")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> _Client:
    client = _Client()
    monkeypatch.setattr(module, "Producer", lambda _: client)
    return client


def _transactor(clock: BrokerClock | None = None) -> Transactor:
    return Transactor("localhost:1", "ns.ledger.a", 10_000, clock or BrokerClock(), "ns.ledger")


WHOLE = ["begin", "produce ns.tallies", "produce ns.ledger", "flush", "offsets 7"]


def test_all_records_stand_in_the_log_before_the_group_is_asked(client: _Client) -> None:
    _transactor().commit(RECORDS, OFFSETS, lambda: "member")
    assert client.steps == ["init", *WHOLE, "commit", "poll"]
    assert client.members == ["member"]


def test_the_heads_acknowledgement_tells_the_brokers_time(client: _Client) -> None:
    clock = BrokerClock(lambda: 0.0)
    _transactor(clock).commit(RECORDS, OFFSETS, lambda: "member")
    assert clock.now() == 5_000_000


def test_a_new_generation_of_the_group_is_met_with_the_same_transaction_anew(client: _Client) -> None:
    client.failing["offsets 7"] = [_error(KafkaError.ILLEGAL_GENERATION), _error(KafkaError.REBALANCE_IN_PROGRESS)]
    members = iter(["generation 1", "generation 1", "generation 2"])
    _transactor().commit(iter(RECORDS), OFFSETS, lambda: next(members))
    assert client.steps == ["init", *WHOLE, "abort", *WHOLE, "abort", *WHOLE, "commit", "poll"]
    assert client.members == ["generation 1", "generation 1", "generation 2"]


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_MEMBER_ID, KafkaError.FENCED_INSTANCE_ID, KafkaError._FENCED])
def test_a_member_that_the_group_no_longer_knows_does_not_try_again(client: _Client, code: int) -> None:
    client.failing["offsets 7"] = [_error(code)]
    transactor = _transactor()
    with pytest.raises(KafkaException):
        transactor.commit(RECORDS, OFFSETS, lambda: "member")
    assert client.steps == ["init", *WHOLE]
    transactor.abort()
    assert client.steps[-1] == "abort"


def test_a_generation_that_stays_wrong_is_given_up(client: _Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GENERATION_S", 0.0)
    client.failing["offsets 7"] = [_error(KafkaError.ILLEGAL_GENERATION)]
    with pytest.raises(KafkaException):
        _transactor().commit(RECORDS, OFFSETS, lambda: "member")
    assert "commit" not in client.steps


def test_a_call_that_never_returns_is_left_alone_and_nothing_is_asked_of_that_client_again(
    client: _Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_OFFSETS_TIMEOUT_S", -0.95)
    client.holding = threading.Event()
    transactor = _transactor()
    with pytest.raises(KafkaException, match="coordinator did not take"):
        transactor.commit(RECORDS, OFFSETS, lambda: "member")
    transactor.abort()
    assert client.steps == ["init", *WHOLE[:-1]]
    client.holding.set()


def test_a_commit_whose_outcome_is_open_is_asked_for_again(client: _Client) -> None:
    open_outcome = KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer", False, True))
    assert open_outcome.args[0].retriable()
    client.failing["commit"] = [open_outcome]
    _transactor().commit(RECORDS, OFFSETS, lambda: "member")
    assert client.steps[-3:] == ["commit", "commit", "poll"]


def test_a_commit_that_is_refused_is_not(client: _Client) -> None:
    client.failing["commit"] = [_error(KafkaError._FENCED)]
    with pytest.raises(KafkaException):
        _transactor().commit(RECORDS, OFFSETS, lambda: "member")
    assert client.steps.count("commit") == 1


def test_a_fatal_error_that_surfaces_while_callbacks_are_served_is_told_as_itself(client: _Client) -> None:
    wrapped = SystemError("a callback returned a result with an exception set")
    wrapped.__cause__ = _error(KafkaError._FENCED)
    client.failing["flush"] = [wrapped]
    with pytest.raises(KafkaException) as told:
        _transactor().commit(RECORDS, OFFSETS, lambda: "member")
    assert told.value.args[0].code() == KafkaError._FENCED


def test_a_full_queue_is_waited_for(client: _Client) -> None:
    client.failing["produce ns.tallies"] = [BufferError(), BufferError()]
    _transactor().commit(RECORDS, OFFSETS, lambda: "member")
    assert client.steps[:7] == [
        "init", "begin", "produce ns.tallies", "poll", "produce ns.tallies", "poll", "produce ns.tallies",
    ]  # fmt: skip


def test_a_queue_that_stays_full_is_given_up(client: _Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FULL_S", 0.0)
    client.failing["produce ns.tallies"] = [BufferError()] * 1000
    with pytest.raises(BufferError, match="does not take the ledger's records"):
        _transactor().commit(RECORDS, OFFSETS, lambda: "member")


def test_a_start_that_was_refused_is_told_with_the_first_transaction(client: _Client) -> None:
    client.failing["init"] = [_error(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)]
    with pytest.raises(KafkaException):
        _transactor().commit(RECORDS, OFFSETS, lambda: "member")
    assert client.steps == ["init"]


def test_what_was_never_begun_is_not_aborted(client: _Client) -> None:
    transactor = _transactor()
    transactor.abort()
    assert client.steps == ["init"]
    transactor.commit(RECORDS, OFFSETS, lambda: "member")
    transactor.abort()
    assert "abort" not in client.steps
