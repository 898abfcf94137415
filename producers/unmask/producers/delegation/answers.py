"""What a host that asks is told before a call: whether anything speaks against it. It is advice; nothing is stopped."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from unmask.producers.delegation.account import Account
from unmask.schemas.breaker import Advice, BreakerAnswer, Budget, BudgetPart

__all__ = ["Allowance", "DelegationAnswer"]


class DelegationAnswer(StrEnum):
    """Answers about one more call."""

    ALLOWED = "ALLOWED"
    """Nothing speaks against it; also where the breaker abstains."""
    BUDGET_SPENT = "BUDGET_SPENT"
    """It would exceed a budget of the delegation."""
    TRIPPED = "TRIPPED"
    """The progress breaker stands open: one successful call after another has changed nothing."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """An answer, true where the call is allowed."""

    answer: DelegationAnswer
    spent: tuple[BudgetPart, ...] = ()
    """The parts of the budget that the call would exceed."""
    remaining: Budget = field(default_factory=Budget)
    """What is left of each part that is limited."""
    advice: Advice = field(default_factory=lambda: Advice(BreakerAnswer.CONTINUE))
    """What the breaker says."""

    @classmethod
    def of(cls, account: Account, would_exceed: tuple[BudgetPart, ...], tries: int = 0) -> Self:
        """The answer for a call by which the account would exceed these parts."""
        if would_exceed:
            answer = DelegationAnswer.BUDGET_SPENT
        else:
            answer = DelegationAnswer.TRIPPED if account.breaker.tripped else DelegationAnswer.ALLOWED
        return cls(answer, would_exceed, account.spent.left(account.budget, attempt=tries), account.breaker.advice)

    def __bool__(self) -> bool:
        return self.answer is DelegationAnswer.ALLOWED
