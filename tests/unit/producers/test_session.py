"""Sessions: operations are counted, not hops and not retries, and the teardown says how it went."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from unmask.producers import Emitter, NotAttempted, Substitute
from unmask.schemas.codes import Equivalence, Family

Cut = Callable[[], list[dict[str, Any]]]


class Quota(Exception):
    status_code = 429
    code = "insufficient_quota"


def fails(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


def _all(batches: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    return [event for batch in batches for event in batch[field]]


def _claims(teardown: dict[str, Any]) -> dict[str, int]:
    return {claim["family"]: claim["count"] for claim in teardown["claims"]}


def test_a_session_that_needs_no_substitute_claims_nothing_degraded(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1", predecessor="s-0") as session:
        assert [session.call("openai", lambda: "answer", lambda: "cached") for _ in range(3)] == ["answer"] * 3
    batches = cut()
    (opening,) = _all(batches, "session_openings")
    assert (opening["session_id"], opening["predecessor_session_id"]) == ("s-1", "s-0")
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["outcome"], teardown["operations"], teardown["degraded_operations"]) == ("success", 3, 0)
    assert opening["occurred_at"] <= teardown["occurred_at"]
    assert _all(batches, "masked_errors") == []


def test_both_hops_of_a_failover_are_in_the_receipts_and_each_operation_degrades_once(
    emitter: Emitter, cut: Cut
) -> None:
    ways = (
        Substitute("anthropic", fails(Quota())),
        Substitute("mistral", lambda: "answer", receipt=lambda answer: f"mistral-{answer}"),
    )
    with emitter.session("s-1") as session:
        for _ in range(40):
            assert session.call("openai", fails(Quota()), *ways, capability="answer") == "answer"
        assert (session.operations, session.degraded_operations) == (40, 40)
    batches = cut()
    masked = _all(batches, "masked_errors")
    assert [each["upstream"] for each in masked] == ["openai", "anthropic"] * 40
    assert {each["masked_upstream_signature"] for each in masked} == {"QUOTA_EXHAUSTED"}
    assert {each["fallback_execution_receipt"] for each in masked} == {"mistral-answer"}
    assert len({each["operation_id"] for each in masked}) == 40
    fallbacks = _all(batches, "kernel_fallbacks")
    assert [each["reason_code"] for each in fallbacks] == ["quota_exhausted"] * 40
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["operations"], teardown["degraded_operations"]) == (40, 40)
    assert _claims(teardown) == {"route_attempt": 40, "kernel_fallback": 40, "masked_error": 80}


def test_an_outage_in_the_middle_leaves_its_operations_degraded_and_no_later_one(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1") as session:
        for number in range(50):
            primary = fails(TimeoutError()) if 10 <= number <= 20 else lambda: "answer"
            session.call("openai", primary, lambda: "cached", receipt="cache.v2", capability="answer")
    batches = cut()
    assert len(_all(batches, "kernel_fallbacks")) == 11
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["outcome"], teardown["operations"], teardown["degraded_operations"]) == ("success", 50, 11)


def test_a_primary_that_was_never_tried_has_no_error_code(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1") as session:
        session.call("openai", fails(NotAttempted()), lambda: "cached", receipt="cache.v2", capability="answer")
    batches = cut()
    (masked,) = _all(batches, "masked_errors")
    assert masked["masked_upstream_signature"] == "NOT_ATTEMPTED"
    (fallback,) = _all(batches, "kernel_fallbacks")
    assert fallback["reason_code"] == "circuit_open"
    assert sum(len(group["occurred_at"]) for group in _all(batches, "route_attempts")) == 1


def test_one_operation_reported_by_two_layers_after_three_retries_is_one_fallback(emitter: Emitter, cut: Cut) -> None:
    tries = iter([TimeoutError(), TimeoutError(), TimeoutError(), TimeoutError()])

    def primary() -> str:
        raise next(tries)

    retries = [Substitute("openai", primary)] * 3
    with emitter.session("s-1") as session, session.operation("op-7") as operation:
        operation.call("openai", primary, *retries, lambda: "cached", receipt="cache.v2", capability="answer")
        emitter.record_fallback("answer", "timed out", session_id="s-1", operation_id="op-7")
    batches = cut()
    assert len(_all(batches, "kernel_fallbacks")) == 1
    assert emitter.counts()[Family.KERNEL_FALLBACK].recorded == 1
    (masked,) = _all(batches, "masked_errors")
    assert masked["operation_id"] == "op-7"
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["operations"], teardown["degraded_operations"]) == (1, 1)
    assert _claims(teardown)["kernel_fallback"] == 1


def test_a_second_try_of_the_same_target_is_a_retry_and_no_fallback(emitter: Emitter, cut: Cut) -> None:
    answers: list[Any] = [ConnectionResetError(), "answer", ConnectionResetError(), "answer"]

    def primary() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with emitter.session("s-1") as session:
        session.call("openai.gpt", primary, Substitute("openai.gpt", primary), capability="answer")
        session.call("openai.gpt", primary, primary, capability="answer")
        emitter.record_masked_error("s-1", "op", "openai.gpt", 503, "again", answered_by="openai.gpt")
    batches = cut()
    assert _all(batches, "masked_errors") == _all(batches, "kernel_fallbacks") == []
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["operations"], teardown["degraded_operations"]) == (2, 0)


def test_a_documented_primary_path_is_no_fallback(emitter: Emitter, cut: Cut) -> None:
    paths = [("embedding", "local-index")]
    with emitter.session("s-1", primary_paths=paths) as session:
        session.call("embedding", fails(KeyError()), Substitute("local-index", lambda: 1), capability="search")
        session.call("embedding", fails(KeyError()), Substitute("other", lambda: 1), receipt="r", capability="search")
        emitter.record_masked_error("s-1", "op", "embedding", KeyError(), "r", answered_by="local-index")
    batches = cut()
    assert len(_all(batches, "masked_errors")) == len(_all(batches, "kernel_fallbacks")) == 1
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["operations"], teardown["degraded_operations"]) == (2, 1)


def test_an_error_that_nothing_hides_reaches_the_caller_and_is_not_recorded(emitter: Emitter, cut: Cut) -> None:
    first, last = TimeoutError("first"), ValueError("last")
    with emitter.session("s-1") as session:
        with pytest.raises(ValueError, match="last") as raised:
            session.call("openai", fails(first), Substitute("anthropic", fails(last)), capability="answer")
        assert raised.value is last
        with pytest.raises(TimeoutError) as alone:
            session.call("openai", fails(first))
        assert alone.value is first
    batches = cut()
    assert _all(batches, "masked_errors") == _all(batches, "kernel_fallbacks") == []


@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_exception_is_a_failure_and_goes_on_unchanged(emitter: Emitter, cut: Cut, error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, emitter.session("s-1"):
        raise error
    assert raised.value is error
    assert raised.value.__context__ is None
    (teardown,) = _all(cut(), "session_teardowns")
    assert teardown["outcome"] == "failure"


def test_a_host_may_say_that_the_objective_was_missed_without_raising(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1") as session:
        session.fail()
    (teardown,) = _all(cut(), "session_teardowns")
    assert teardown["outcome"] == "failure"


def test_an_interrupted_call_is_not_answered_by_a_substitute(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1") as session, pytest.raises(asyncio.CancelledError):
        session.call("openai", fails(asyncio.CancelledError()), lambda: "cached")
    assert _all(cut(), "masked_errors") == []


def test_async_calls_side_by_side_are_operations_of_their_own(emitter: Emitter, cut: Cut) -> None:
    async def slow(number: int) -> int:
        await asyncio.sleep(0.001 * (number % 3))
        if number % 2:
            raise TimeoutError
        return number

    async def work() -> list[int]:
        async with emitter.session("s-1") as session:
            calls = (session.acall("openai", partial(slow, n), lambda: -1, receipt="r") for n in range(20))
            return await asyncio.gather(*calls)

    assert sum(asyncio.run(work())) == sum(range(0, 20, 2)) - 10
    batches = cut()
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["operations"], teardown["degraded_operations"]) == (20, 10)
    assert len({each["operation_id"] for each in _all(batches, "masked_errors")}) == 10


def test_threads_of_one_session_count_together(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1") as session:

        def work() -> None:
            for _ in range(500):
                session.call("openai", fails(TimeoutError()), lambda: 1, receipt="r")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (teardown,) = _all(cut(), "session_teardowns")
    assert (teardown["operations"], teardown["degraded_operations"]) == (2_000, 2_000)
    assert _claims(teardown)["masked_error"] == 2_000


def test_a_layer_that_opens_the_same_session_joins_it(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1") as outer:
        outer.call("openai", fails(TimeoutError()), lambda: 1, receipt="r")
        with emitter.session("s-1") as inner:
            inner.call("openai", lambda: 1)
            inner.fail()
        outer.call("openai", lambda: 1)
    batches = cut()
    assert len(_all(batches, "session_openings")) == 1
    (teardown,) = _all(batches, "session_teardowns")
    assert (teardown["outcome"], teardown["operations"], teardown["degraded_operations"]) == ("failure", 3, 1)


def test_what_is_recorded_beside_the_session_is_claimed_too(emitter: Emitter, cut: Cut) -> None:
    with emitter.session("s-1"):
        emitter.record_fallback("answer", 503, session_id="s-1")
        emitter.record_fallback("answer", 503, session_id="s-2", operation_id="op-1")
        emitter.record_fallback("answer", "rollback", session_id="s-1", operation_id="op-2")
        emitter.record_masked_error("s-1", "op-3", "openai", 503, "r")
    (teardown,) = _all(cut(), "session_teardowns")
    assert _claims(teardown) == {"route_attempt": 0, "kernel_fallback": 1, "masked_error": 1}
    assert (teardown["operations"], teardown["degraded_operations"]) == (2, 2)


def test_the_proof_of_equality_goes_with_the_masked_error(emitter: Emitter, cut: Cut) -> None:
    proven = Substitute("mirror", lambda: 1, "r", Equivalence.BIT_FOR_BIT)
    with emitter.session("s-1") as session:
        session.call("openai", fails(TimeoutError()), proven)
        emitter.record_masked_error("s-1", "op", "openai", 503, "r", equivalence="nonsense")
    assert [each["equivalence"] for each in _all(cut(), "masked_errors")] == ["bit_for_bit", "unproven"]


def test_a_receipt_that_cannot_be_made_does_not_disturb_the_call(emitter: Emitter, cut: Cut) -> None:
    def no_receipt(answer: object) -> str:
        raise RuntimeError

    with emitter.session("s-1") as session:
        assert session.call("openai", fails(TimeoutError()), Substitute("cache", lambda: 1, no_receipt)) == 1
    (masked,) = _all(cut(), "masked_errors")
    assert masked["fallback_execution_receipt"] == "cache"


def test_work_outside_of_its_session_is_done_all_the_same(emitter: Emitter, cut: Cut) -> None:
    session = emitter.session("s-1")
    assert session.call("openai", fails(TimeoutError()), lambda: "cached", receipt="r") == "cached"
    with session:
        pass
    assert session.call("openai", fails(TimeoutError()), lambda: "cached", receipt="r") == "cached"
    batches = cut()
    assert len(_all(batches, "masked_errors")) == 2
    assert len(_all(batches, "session_teardowns")) == 1
