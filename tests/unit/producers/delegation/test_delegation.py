"""A delegation on the host: what it spends over all its invocations, and what it records."""

import asyncio
import os
from typing import Any, cast

import pytest
from tests.unit.producers.delegation_host import RememberingHost

from unmask.producers import Budget, DelegationAnswer, NullSink
from unmask.schemas.breaker import BreakerAnswer, BudgetPart, Spent
from unmask.schemas.tokens import is_token


@pytest.fixture
def host() -> RememberingHost:
    return RememberingHost()


def _of(calls: list[dict[str, Any]], *names: str) -> list[Any]:
    return [tuple(call[name] for name in names) if len(names) > 1 else call[names[0]] for call in calls]


def test_21_calls_over_six_invocations_are_one_account_and_six_numberings(host: RememberingHost) -> None:
    sizes = [4, 1, 6, 2, 5, 3]
    for turn, size in enumerate(sizes):
        with host.delegation("repair-7", budget=Budget(calls=21, tokens=2_100), session="s-1") as d:
            d.turn = turn
            for _ in range(size):
                assert d.allowed(tokens=100)
                d.call(tokens=100, state=f"turn-{turn}")
    assert d.spent == Spent(21, 2_100, 1)
    assert d.remaining == Budget(calls=0, tokens=0)
    refusal = d.allowed()
    assert (refusal.answer, refusal.spent) == (DelegationAnswer.BUDGET_SPENT, (BudgetPart.CALLS, BudgetPart.TOKENS))
    assert len(host.calls) == 21
    assert len(set(_of(host.calls, "invocation_id"))) == 6
    assert _of(host.calls, "turn", "step") == [(turn, n + 1) for turn, size in enumerate(sizes) for n in range(size)]
    assert set(_of(host.calls, "delegation_id", "session_id", "budget_calls")) == {("repair-7", "s-1", 21)}


def test_of_two_budgets_the_smaller_holds_and_stands_on_every_later_record(host: RememberingHost) -> None:
    with host.delegation(budget=Budget(calls=3, attempts=9)) as d:
        d.call()
    with host.delegation(budget=Budget(calls=10, tokens=50)) as d:
        d.call(tokens=7)
        assert d.budget == Budget(calls=3, tokens=50, attempts=9)
        assert d.remaining == Budget(calls=1, tokens=43, attempts=9)
    assert _of(host.calls, "budget_calls", "budget_tokens", "budget_attempts") == [(3, None, 9), (3, 50, 9)]


def test_a_retry_is_counted_over_a_resume_and_a_success_ends_the_count(host: RememberingHost) -> None:
    budget = Budget(attempts=3)
    with host.delegation(budget=budget) as d:
        d.call(False)
        d.call(False)
        assert d.remaining.attempts == 1
    with host.delegation(budget=budget) as d:
        d.call(False)
        assert d.allowed().spent == (BudgetPart.ATTEMPTS,)
        assert d.allowed(attempt=1), "another thing has attempts of its own"
        d.call(True, attempt=1)
        assert d.allowed()
    assert _of(host.calls, "attempt") == [1, 2, 3, 1]
    assert d.spent.attempts == 3


def test_a_refused_call_is_on_record_and_costs_nothing(host: RememberingHost) -> None:
    with host.delegation(budget=Budget(calls=1)) as d:
        d.call()
        d.call(outcome="refused")
    assert d.spent.calls == 1
    assert _of(host.calls, "outcome", "step") == [("succeeded", 1), ("refused", 2)]


def test_asking_charges_nothing_and_stops_nothing(host: RememberingHost) -> None:
    with host.delegation(budget=Budget(calls=1)) as d:
        for _ in range(5):
            assert d.allowed()
        d.call()
        assert not d.allowed()
        d.call()
    assert d.spent.calls == 2
    assert d.remaining.calls == 0


def test_a_tripped_breaker_is_an_answer_of_its_own(host: RememberingHost) -> None:
    with host.delegation(signal="tree", trip_after=3) as d:
        d.call(state="a")
        for _ in range(4):
            advice = d.call(state="b")
        assert advice.answer is BreakerAnswer.TRIPPED
        assert d.allowed().answer is DelegationAnswer.TRIPPED
        assert d.allowed().advice == d.advice() == advice
        assert d.call(state="c").answer is BreakerAnswer.CONTINUE
        assert d.allowed()


def test_the_breaker_goes_on_over_invocations(host: RememberingHost) -> None:
    for n in range(10):
        with host.delegation() as d:
            d.call(state="a" if n == 0 else "b")
    assert d.advice().answer is BreakerAnswer.TRIPPED


def test_a_call_as_a_context_is_charged_when_it_begins_and_told_of_when_it_ends(host: RememberingHost) -> None:
    with host.delegation(budget=Budget(calls=2)) as d:
        with d.calling() as call:
            assert d.spent.calls == 1
            assert host.calls == []
            call.tokens, call.state, call.measure, call.conditions = 12, {"failing": 2}, 2, "commit-1"
        assert call.allowance
        assert call.advice is not None
        with pytest.raises(TimeoutError), d.calling():
            raise TimeoutError
        with d.calling() as third:
            assert third.allowance.answer is DelegationAnswer.BUDGET_SPENT
            third.refuse()
    assert d.spent == Spent(2, 12, 2)
    assert _of(host.calls, "outcome", "tokens", "attempt", "measure") == [
        ("succeeded", 12, 1, 2), ("failed", 0, 1, None), ("refused", 0, 2, None),
    ]  # fmt: skip


def test_a_wrapped_function_hands_on_what_it_returns_and_raises(host: RememberingHost) -> None:
    def ask(answer: object) -> object:
        """Ask."""
        if isinstance(answer, Exception):
            raise answer
        return answer

    with host.delegation() as d:
        asked = d.wrap(ask, tokens=lambda found: found["tokens"], state=lambda found: found["text"])
        assert asked({"tokens": 5, "text": "x"}) == {"tokens": 5, "text": "x"}
        with pytest.raises(LookupError):
            asked(LookupError("gone"))
        assert asked("no mapping") == "no mapping"
    assert asked.__doc__ == "Ask."
    assert _of(host.calls, "outcome", "tokens") == [("succeeded", 5), ("failed", 0), ("succeeded", 0)]
    assert host.faults == 2, "what could not be read from the last answer"


def test_coroutines_are_calls_too(host: RememberingHost) -> None:
    async def ask(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def work() -> list[int]:
        async with host.delegation(budget=Budget(calls=20)) as d:
            asked = d.wrap(ask, tokens=lambda n: n)
            return list(await asyncio.gather(*(asked(n) for n in range(5))))

    assert asyncio.run(work()) == [0, 1, 2, 3, 4]
    assert host.delegation().spent == Spent(5, 10, 1)
    assert sorted(_of(host.calls, "step")) == [1, 2, 3, 4, 5]


def test_without_a_session_it_has_one_of_its_own_id(host: RememberingHost) -> None:
    with host.delegation("d-9") as d:
        d.call()
    assert host.sessions == ["d-9"]
    assert _of(host.calls, "session_id") == ["d-9"]
    with host.delegation("d-9", session="s-7") as d:
        d.call()
    assert host.sessions == ["d-9"]
    assert host.calls[-1]["session_id"] == "s-7"


def test_names_that_are_no_tokens_become_digests_everywhere(host: RememberingHost) -> None:
    with host.delegation("a person@example.com", scope="fix /home/x", session="what I asked", signal="my tree") as d:
        d.call(state="secret text", conditions={"k": 1}, subject="another one!")
    (call,) = host.calls
    texts = [value for value in call.values() if isinstance(value, str)]
    assert all(is_token(text) for text in texts)
    assert not any("person" in text or "secret" in text or "another one" in text for text in texts)


def test_work_outside_of_the_context_is_kept_and_recorded_all_the_same(host: RememberingHost) -> None:
    d = host.delegation(budget=Budget(calls=5))
    d.call(tokens=3)
    assert d.spent == Spent(1, 3, 1)
    assert host.calls[0]["budget_calls"] == 5
    d.__exit__(None, None, None)


@pytest.mark.parametrize(
    "nonsense",
    [
        {"tokens": "many"}, {"tokens": -5}, {"attempt": "first"}, {"outcome": "splendid"}, {"measure": 2**80},
        {"measure": "three"}, {"state": object()}, {"state": {"a": {1, 2}}}, {"turn": "next"}, {"signal": ""},
    ],
)  # fmt: skip
def test_what_makes_no_sense_never_reaches_the_host_as_an_error(host: RememberingHost, nonsense: Any) -> None:
    with host.delegation() as d:
        d.call(**nonsense)
        assert d.spent.calls == 1
    (call,) = host.calls
    assert (call["tokens"], call["attempt"], call["measure"], call["turn"]) == (0, 1, None, 0)
    assert call["outcome"] == "succeeded"


def test_a_host_that_fails_is_not_the_works_problem(host: RememberingHost) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError

    host.record_delegation_progress = broken  # type: ignore[method-assign]
    host.session = broken  # type: ignore[method-assign, assignment]
    with host.delegation() as d:
        assert d.call(tokens=1).answer is BreakerAnswer.ABSTAIN
    assert d.spent.tokens == 1
    assert host.faults == 2


def test_an_exception_of_the_work_goes_on_unchanged(host: RememberingHost) -> None:
    with pytest.raises(ZeroDivisionError), host.delegation():
        raise ZeroDivisionError
    assert host.faults == 0


def test_what_is_no_budget_and_no_number_is_a_mistake_of_the_program(host: RememberingHost) -> None:
    with pytest.raises(TypeError, match="Budget"):
        host.delegation(budget={"calls": 3})
    with pytest.raises(ValueError, match="trip_after"):
        host.delegation(trip_after=0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_goes_on_under_an_invocation_of_its_own(host: RememberingHost) -> None:
    with host.delegation(budget=Budget(calls=9)) as d:
        d.call()
        mine = d.invocation_id
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                d.call()
                said = host.calls[-1]
                os.write(writing, f"{said['invocation_id']} {said['step']} {d.spent.calls}".encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        name, step, spent = os.read(reading, 1_000).decode().split()
        os.close(reading)
        os.close(writing)
        d.call()
    assert name != mine
    assert (step, spent) == ("1", "2")
    assert _of(host.calls, "invocation_id", "step") == [(mine, 1), (mine, 2)]


def test_where_nothing_is_wired_budgets_hold_and_nothing_is_recorded() -> None:
    with NullSink().delegation("unwired-1", budget=Budget(calls=1)) as d:
        d.call()
    with NullSink().delegation("unwired-1") as d:
        assert d.allowed().answer is DelegationAnswer.BUDGET_SPENT


class _Hostile:
    """Whatever is done with it raises, as it does with an array of which nobody can say whether it is true."""

    def __bool__(self) -> bool:
        raise ValueError("the truth value is ambiguous")

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)

    __str__ = __repr__ = __index__ = __bool__  # type: ignore[assignment]
    __eq__ = __hash__ = __bool__  # type: ignore[assignment]


def test_nothing_that_a_host_hands_over_is_raised_into_it_and_its_answer_reaches_it(host: RememberingHost) -> None:
    bad: Any = _Hostile()
    with host.delegation(session=bad) as d:
        d.call(ok=bad)
        d.call(outcome=bad, state=bad, measure=bad, tokens=bad, attempt=bad, turn=bad)
        d.call(outcome=bad, ok=bad)
        with d.calling() as call:
            call.ok = bad
        assert d.wrap(lambda: bad, ok=lambda result: result, tokens=lambda result: result)() is bad
        d.claimed(bad)
        d.settled(bad)
        d.refused(bad, bad)
    # What cannot be read tells of no failure; that it could not be read is noted.
    assert _of(host.calls, "outcome") == ["succeeded"] * 5
    assert host.faults >= 5


def test_what_a_host_raises_in_a_call_reaches_it_whatever_it_said_of_the_call(host: RememberingHost) -> None:
    def fail() -> None:
        with host.delegation() as d, d.calling() as call:
            call.ok = cast(bool, _Hostile())
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert _of(host.calls, "outcome") == ["failed"]
