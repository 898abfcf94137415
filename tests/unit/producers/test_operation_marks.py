"""Manual marks: code that falls back by itself says what it did, and need not say it well."""

import asyncio
from contextlib import suppress

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.schemas.codes import Equivalence


def test_a_fault_and_an_answer_are_marked_apart(host: RecordingHost) -> None:
    with host.session() as session, session.operation(capability="marks-quote", entry_point="api") as operation:
        operation.failed("prices", 503)
        operation.failed("mirror", TimeoutError())
        operation.answered("cache", receipt="cache.v2")
    masked = host.masked(session)
    assert [(each["upstream"], each["masked_upstream_signature"]) for each in masked] == [
        ("prices", "HTTP_503"),
        ("mirror", "TIMEOUT"),
    ]
    assert {each["fallback_execution_receipt"] for each in masked} == {"cache.v2"}
    (fallback,) = host.fallbacks(session)
    assert (fallback["capability"], fallback["reason_code"], fallback["entry_point"]) == (
        "marks-quote", "upstream_error", "api",
    )  # fmt: skip
    assert host.attempts("marks-quote") == 1
    assert host.teardown(session)["degraded_operations"] == 1


def test_an_operation_in_which_nothing_failed_is_clean(host: RecordingHost) -> None:
    with host.session() as session, session.operation(capability="marks-clean") as operation:
        with operation.trying("prices"):
            pass
        operation.answered("prices")
    assert host.masked(session) == host.fallbacks(session) == []
    assert host.teardown(session)["operations"] == 1


def test_the_same_upstream_that_answers_after_all_makes_a_retry(host: RecordingHost) -> None:
    with host.session() as session:
        with session.operation() as operation:
            for fault in (TimeoutError(), None):
                with suppress(TimeoutError), operation.trying("prices"):
                    if fault is not None:
                        raise fault
        with session.operation() as operation:
            operation.failed("prices", 503)
            operation.answered("prices")
    assert host.masked(session) == []
    assert host.teardown(session)["degraded_operations"] == 0


def test_a_fault_that_is_hidden_and_never_explained_was_masked_all_the_same(host: RecordingHost) -> None:
    with host.session() as session:
        with session.operation() as operation, suppress(TimeoutError), operation.trying("prices"):
            raise TimeoutError
        with session.operation() as operation:
            with suppress(TimeoutError), operation.trying("prices"):
                raise TimeoutError
            with operation.trying("mirror"):
                pass
    assert [each["fallback_execution_receipt"] for each in host.masked(session)] == ["unstated", "mirror"]
    assert host.teardown(session)["degraded_operations"] == 2


def test_a_fault_that_reaches_the_caller_was_not_masked(host: RecordingHost) -> None:
    error = TimeoutError("mine")
    with host.session() as session:
        with pytest.raises(TimeoutError) as raised, session.operation() as operation, operation.trying("prices"):
            raise error
        assert raised.value is error
    assert host.masked(session) == []


def test_an_upstream_that_was_not_asked_has_no_error(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        operation.not_attempted("prices")
        operation.answered("cache")
    assert host.signatures(session) == ["NOT_ATTEMPTED"]


def test_a_documented_primary_path_may_be_marked(host: RecordingHost) -> None:
    with host.session(primary_paths=[("prices", "cache")]) as session, session.operation() as operation:
        operation.fell_back("prices", "cache", KeyError())
        operation.fell_back("prices", "mirror", KeyError())
    assert len(host.masked(session)) == 1


def test_a_session_takes_marks_without_an_operation(host: RecordingHost) -> None:
    with host.session() as session:
        session.fell_back("prices", "cache", 503, capability="marks-own", receipt="r-1")
        session.fell_back("prices", "cache", 503, operation_id="op-9")
        with session.operation("op-10"):
            session.fell_back("prices", "cache", 503)
            session.fell_back("prices", "cache", 503, capability="marks-other")
    masked = host.masked(session)
    assert [each["operation_id"] for each in masked][1:3] == ["op-9", "op-10"]
    assert len({each["operation_id"] for each in masked}) == 4
    assert [each["capability"] for each in host.fallbacks(session)] == ["marks-own", "marks-other"]
    assert host.teardown(session)["degraded_operations"] == 4


def test_answers_that_are_handed_in_are_compared(host: RecordingHost) -> None:
    with host.session() as session, session.operation() as operation:
        operation.answered("marked", answer={"a": 1, "b": 2}, request="q")
        operation.fell_back("marked", "mirror", 503, answer={"b": 2, "a": 1}, request="q")
        operation.fell_back("marked", "cache", 503, answer={"a": 1}, request="q")
        operation.fell_back("marked", "other", 503, equivalence=Equivalence.BIT_FOR_BIT)
    same, simpler, told = host.masked(session)
    assert (same["equivalence"], simpler["equivalence"], told["equivalence"]) == (
        "bit_for_bit", "different", "bit_for_bit",
    )  # fmt: skip
    assert same["primary_shape"] == same["fallback_shape"] != simpler["fallback_shape"] is not None


def test_marks_work_in_coroutines(host: RecordingHost) -> None:
    async def work() -> None:
        async with session.operation() as operation:
            with suppress(TimeoutError), operation.trying("prices"):
                async with asyncio.timeout(0.001):
                    await asyncio.sleep(60)
            operation.answered("cache")

    with host.session() as session:
        asyncio.run(work())
    assert host.signatures(session) == ["TIMEOUT"]


def test_marks_of_an_operation_that_is_no_context_are_taken_too(host: RecordingHost) -> None:
    with host.session() as session:
        operation = session.operation()
        operation.failed("prices", 503)
        operation.answered("cache")
        session.call("prices", fails(TimeoutError()), lambda: 1)
    assert host.signatures(session) == ["HTTP_503", "TIMEOUT"]
    assert host.teardown(session)["operations"] == 2
