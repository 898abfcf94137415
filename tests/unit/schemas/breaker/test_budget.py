"""Budgets: what is left, what is exceeded, and that the smaller of two holds."""

import pytest

from unmask.schemas.breaker import Budget, BudgetPart, Spent


def test_of_two_budgets_the_smaller_part_holds() -> None:
    one, other = Budget(calls=10, attempts=3), Budget(calls=20, tokens=500)
    assert one.tightest(other) == other.tightest(one) == Budget(calls=10, tokens=500, attempts=3)


def test_spending_all_of_a_budget_exhausts_it_and_more_exceeds_it() -> None:
    budget = Budget(calls=2, tokens=100)
    spent = Spent().plus(tokens=60).plus(tokens=40)
    assert spent.exceeded(budget) == ()
    assert spent.exhausted(budget) == (BudgetPart.CALLS, BudgetPart.TOKENS)
    assert spent.plus().exceeded(budget) == (BudgetPart.CALLS,)
    assert spent.left(budget) == Budget(calls=0, tokens=0)


def test_a_call_that_would_take_more_tokens_than_are_left_exhausts_them() -> None:
    spent = Spent().plus(tokens=60)
    assert spent.exhausted(Budget(tokens=100), tokens=40) == ()
    assert spent.exhausted(Budget(tokens=100), tokens=41) == (BudgetPart.TOKENS,)


def test_each_thing_has_attempts_of_its_own() -> None:
    budget = Budget(attempts=3)
    spent = Spent().plus(attempt=3)
    assert spent.exhausted(budget, attempt=4) == (BudgetPart.ATTEMPTS,)
    assert spent.exhausted(budget) == ()
    assert spent.plus(attempt=4).exceeded(budget) == (BudgetPart.ATTEMPTS,)
    assert spent.left(budget, attempt=2) == Budget(attempts=1)


@pytest.mark.parametrize("amount", [-1, 1.5, True, "7"])
def test_a_budget_that_is_no_number_is_refused(amount: object) -> None:
    with pytest.raises(ValueError, match="calls are a number"):
        Budget(calls=amount)  # type: ignore[arg-type]


def test_a_budget_goes_through_json() -> None:
    budget = Budget(calls=0, attempts=3)
    assert budget.to_json() == {"calls": 0, "attempts": 3}
    assert Budget.from_json(budget.to_json()) == budget
