"""Fetching again from the primary: every answer of a substitute, or it does not count."""

import asyncio
from typing import Any

import pytest
from tests.unit.consumers.gate.asking import SESSION, StubGate

from unmask.consumers.gate import AdmissionAnswer, Halted, MaskedAnswer
from unmask.consumers.testing import degraded_verdict, failed_verdict


def gate(**changes: Any) -> StubGate:
    fields = {"directive": "RE_FETCH_FROM_PRIMARY", "degraded": 3, **changes}
    return StubGate(degraded_verdict(SESSION, **fields))


def test_each_listed_answer_is_fetched_once_and_the_successor_admitted() -> None:
    stub, fetched = gate(), []

    def fetch(masked: MaskedAnswer) -> bool:
        fetched.append(masked)
        return True

    admission = stub.admit(SESSION).refetch(fetch)
    assert admission.admitted
    assert fetched == [MaskedAnswer(f"operation-{n}", "prices", f"cache-{n}") for n in range(3)]
    assert stub.kept == ["RECONCILED"]
    assert "3 answers were fetched" in admission.reason


@pytest.mark.parametrize("outcome", [False, None, 1, "yes"])
def test_one_that_cannot_be_fetched_ends_it(outcome: Any) -> None:
    stub = gate()
    admission = stub.admit(SESSION).refetch(lambda masked: outcome if masked.operation_id == "operation-1" else True)
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST
    assert stub.kept == ["RECONCILE_FAILED"]
    assert "answer 2 of 3" in admission.reason


def test_an_exception_is_a_failure_of_which_only_the_type_is_told() -> None:
    def fetch(masked: MaskedAnswer) -> bool:
        raise ConnectionError("sk-live-canary")

    admission = gate().admit(SESSION).refetch(fetch)
    assert not admission.admitted
    assert "ConnectionError" in admission.reason
    assert "canary" not in admission.reason


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"masked_cut": 2}, "does not list the answers of 2"),
        ({"degraded": 5, "masked": []}, "does not list the answers of 5"),
        ({"inherited_from": ["session-0"]}, "earlier sessions are open"),
    ],
)
def test_what_the_verdict_does_not_list_cannot_be_fetched_and_nothing_is_tried(
    changes: dict[str, Any], why: str
) -> None:
    tried: list[MaskedAnswer] = []

    def fetch(masked: MaskedAnswer) -> bool:
        tried.append(masked)
        return True

    admission = gate(**changes).admit(SESSION).refetch(fetch)
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST
    assert why in admission.reason
    assert tried == []


def test_a_failed_session_has_nothing_to_fetch() -> None:
    with pytest.raises(Halted):
        StubGate(failed_verdict(SESSION)).admit(SESSION).refetch(lambda _: True)


def test_coroutine_functions_are_awaited_where_that_is_asked_for_and_refused_where_not() -> None:
    async def fetch(masked: MaskedAnswer) -> bool:
        return True

    assert asyncio.run(gate().admit(SESSION).arefetch(fetch)).admitted
    admission = gate().admit(SESSION).refetch(fetch)  # type: ignore[arg-type]
    assert not admission.admitted
    assert "arefetch" in admission.reason
    assert asyncio.run(gate().admit(SESSION).arefetch(lambda _: True)).admitted
