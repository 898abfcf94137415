"""From a host's sessions to their verdicts: its batches, through the stream's own ledger and tables, in memory."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.unit.consumers.verify.hosts import Record
from tests.unit.consumers.verify.stream_in_memory import InMemoryStream
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import Session, Substitute
from unmask.schemas.codec import decode

log = logging.getLogger("verdicts")
log.propagate = False
log.addHandler(logging.NullHandler())

Judge = Callable[[Session], dict[str, Any]]
FULL = {"price": 1.5, "venue": {"name": "x"}}


@pytest.fixture
def own() -> Iterator[RecordingHost]:
    made = RecordingHost()
    yield made
    made.emitter.close(0)


@pytest.fixture
def judge(own: RecordingHost) -> Judge:
    """The verdict of a session that has ended, as it stands when a later batch has accounted for its time."""

    def verdict_of(session: Session) -> dict[str, Any]:
        for _ in range(2):
            own.emitter._life.cut()
        stream = InMemoryStream()
        for offset, stored in enumerate(own.stored):
            batch = decode("event_batch", stored.data)
            key = batch["emitter"]["emitter_id"].encode()
            stream.feed([Record(0, offset, batch["sent_at"], key, stored.data)])
        through = batch["sent_at"] + 1_000_000
        stream.publish(through)
        stream.publish(through + 1_000_000)
        verdict: dict[str, Any] = stream.newest("t.verdicts")[session.session_id]
        return verdict

    return verdict_of


def test_a_clean_session_is_clean(own: RecordingHost, judge: Judge) -> None:
    with own.session() as session:
        session.call("prices", lambda: FULL, lambda: 1, capability="quote")
        assert list(session.stream("prices", lambda: [1, 2], lambda: [3])) == [1, 2]
    verdict = judge(session)
    assert (verdict["verdict"], verdict["directive"], verdict["operations"]) == ("CLEAN_SUCCESS", "NONE", 2)


def test_a_failover_on_every_operation_is_degraded_wholly_and_never_more(own: RecordingHost, judge: Judge) -> None:
    ways = (Substitute("anthropic", fails(TimeoutError("429"))), Substitute("mistral", lambda: "answer"))
    with own.session() as session:
        for _ in range(40):
            session.call("openai", fails(RuntimeError("429 too many requests")), *ways, capability="answer")
    verdict = judge(session)
    assert (verdict["verdict"], verdict["directive"]) == ("DEGRADED_SUCCESS", "PROBE_UPSTREAM_BEFORE_ACTION")
    assert (verdict["degraded_operation_ratio"], verdict["contradictions"]) == (1.0, [])
    assert "EXHAUSTION" in verdict["findings"]


def test_a_swallowed_outage_is_phantom_stability(own: RecordingHost, judge: Judge) -> None:
    def quiet_primary() -> None:
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError:
            log.exception("using the cache")

    with own.session() as session:
        session.call("prices", quiet_primary, lambda: FULL, accept=lambda answer: answer is not None)
    verdict = judge(session)
    assert "PHANTOM_STABILITY" in verdict["findings"]
    assert verdict["directive"] == "PROBE_UPSTREAM_BEFORE_ACTION"
    assert [masked["masked_upstream_signature"] for masked in verdict["masked"]] == ["CONNECTION_REFUSED"]


def test_a_swallowed_error_that_nothing_attributes_asks_to_fetch_again(own: RecordingHost, judge: Judge) -> None:
    with own.session() as session:
        session.fell_back("prices", "cache")
    verdict = judge(session)
    assert verdict["directive"] == "RE_FETCH_FROM_PRIMARY"
    assert "PHANTOM_STABILITY" not in verdict["findings"]


def test_a_simplified_payload_is_schema_drift(own: RecordingHost, judge: Judge) -> None:
    with own.session() as session:
        session.call("prices", lambda: FULL)
        session.call("prices", fails(KeyError()), lambda: {"price": 1.5})
    assert "SCHEMA_DRIFT" in judge(session)["findings"]


def test_an_equal_payload_is_proven_and_has_no_drift(own: RecordingHost, judge: Judge) -> None:
    with own.session() as session:
        session.call("prices", lambda: FULL, request="x")
        session.call("prices", fails(KeyError()), lambda: dict(reversed(FULL.items())), request="x")
    verdict = judge(session)
    assert verdict["equivalent"] is True
    assert "SCHEMA_DRIFT" not in verdict["findings"]


def broken() -> Iterator[int]:
    yield 1
    raise ConnectionResetError


def test_a_stream_that_a_backup_completed_is_degraded_and_one_that_none_completed_has_failed(
    own: RecordingHost, judge: Judge
) -> None:
    with own.session() as completed:
        list(completed.stream("openai", broken, lambda: [2]))
    with own.session() as given_up, pytest.raises(ConnectionResetError):
        list(given_up.stream("openai", broken, Substitute("azure", broken)))
    assert judge(completed)["verdict"] == "DEGRADED_SUCCESS"
    verdict = judge(given_up)
    assert (verdict["verdict"], verdict["directive"]) == ("HARD_FAILURE", "HALT_AND_ALERT_DEVELOPER")


def test_retries_and_documented_paths_leave_a_session_clean(own: RecordingHost, judge: Judge) -> None:
    with own.session(primary_paths=[("embedding", "local-index")]) as session:
        session.call("openai", fails(TimeoutError()), Substitute("openai", lambda: 1), capability="answer")
        session.call("embedding", fails(KeyError()), Substitute("local-index", lambda: 1), capability="search")
    assert judge(session)["verdict"] == "CLEAN_SUCCESS"


def test_what_is_claimed_is_what_the_stream_saw_in_whatever_way_it_was_recorded(
    own: RecordingHost, judge: Judge
) -> None:
    with own.session() as session:
        for _ in range(3):
            session.call("a", fails(TimeoutError()), lambda: session.call("b", fails(TimeoutError()), lambda: 1))
        with session.operation(capability="quote") as operation:
            operation.failed("c", 503)
            operation.answered("cache")
            session.call("d", fails(TimeoutError()), lambda: 1, capability="other")
        session.fell_back("e", "cache", 503, capability="quote")
        list(session.stream("f", broken, lambda: [1]))
    verdict = judge(session)
    assert verdict["contradictions"] == []
    assert (verdict["operations"], verdict["degraded_operations"]) == (7, 7)
