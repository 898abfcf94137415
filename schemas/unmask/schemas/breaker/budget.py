"""Budgets of a delegation, and what it has spent of them: the same arithmetic on the host and in the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

__all__ = ["Budget", "BudgetPart", "Spent"]


class BudgetPart(StrEnum):
    """What a budget limits."""

    CALLS = "calls"
    TOKENS = "tokens"
    ATTEMPTS = "attempts"


@dataclass(frozen=True, slots=True)
class Budget:
    """What a delegation may spend over all of its invocations; None where a part is not limited.

    Raises ValueError where a part is neither None nor a number from 0 on.
    """

    calls: int | None = None
    """Calls that are made, retries included."""
    tokens: int | None = None
    attempts: int | None = None
    """Tries of any one thing: 3 is a first try and two retries."""

    def __post_init__(self) -> None:
        for part in BudgetPart:
            amount = getattr(self, part)
            if amount is not None and (type(amount) is not int or amount < 0):
                raise ValueError(f"a budget's {part} are a number from 0 on, or None for no limit")

    def tightest(self, other: "Budget") -> "Budget":
        """Of each part the smaller one: where a delegation was given several budgets, all of them hold."""
        return Budget(
            _smaller(self.calls, other.calls),
            _smaller(self.tokens, other.tokens),
            _smaller(self.attempts, other.attempts),
        )

    def to_json(self) -> dict[str, int]:
        """The parts that are limited."""
        return {part.value: amount for part in BudgetPart if (amount := getattr(self, part)) is not None}

    @classmethod
    def from_json(cls, value: Mapping[str, int]) -> Self:
        """What to_json() wrote. Raises ValueError or TypeError."""
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a delegation has spent, over all of its invocations."""

    calls: int = 0
    tokens: int = 0
    attempts: int = 0
    """The highest attempt of any one thing."""

    def plus(self, *, calls: int = 1, tokens: int = 0, attempt: int = 1) -> "Spent":
        """After a further call that was made."""
        return Spent(self.calls + calls, self.tokens + max(tokens, 0), max(self.attempts, attempt))

    def exceeded(self, budget: Budget) -> tuple[BudgetPart, ...]:
        """The parts of which more was spent than there was."""
        left = ((part, getattr(budget, part), getattr(self, part)) for part in BudgetPart)
        return tuple(part for part, limit, spent in left if limit is not None and spent > limit)

    def exhausted(self, budget: Budget, *, tokens: int = 1, attempt: int = 1) -> tuple[BudgetPart, ...]:
        """The parts that a further call would exceed, if it took `tokens` and were that attempt of its thing."""
        # An earlier thing may have taken all of its attempts, and more: this one has its own.
        return Spent(self.calls + 1, self.tokens + tokens, attempt).exceeded(budget)

    def left(self, budget: Budget, *, attempt: int = 0) -> Budget:
        """What is left of each part that is limited, 0 at least; `attempt` is the last one of the thing at hand."""
        return Budget(
            _left(budget.calls, self.calls), _left(budget.tokens, self.tokens), _left(budget.attempts, attempt)
        )


def _smaller(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _left(limit: int | None, spent: int) -> int | None:
    return None if limit is None else max(0, limit - spent)
