"""The progress breaker: tells a delegation that works from one whose calls succeed while nothing changes.

A pure state machine over the calls of one delegation, for hosts and for the ledger, and the arithmetic of budgets.
The standard library and the closed sets only.
"""

from unmask.schemas.breaker.answers import AbstainReason, Advice, BreakerAnswer
from unmask.schemas.breaker.budget import Budget, BudgetPart, Spent
from unmask.schemas.breaker.machine import advance
from unmask.schemas.breaker.state import LIMIT, MEMORY, BreakerState, BrokenBreakerState
from unmask.schemas.breaker.step import Step

__all__ = [
    "LIMIT",
    "MEMORY",
    "AbstainReason",
    "Advice",
    "BreakerAnswer",
    "BreakerState",
    "BrokenBreakerState",
    "Budget",
    "BudgetPart",
    "Spent",
    "Step",
    "advance",
]
