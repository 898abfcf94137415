"""Delegations on the host: budgets that hold over all invocations, progress, enforcement, and effects.

`Emitter.delegation` gives them. Nothing of this is imported before that is called.
"""

from pathlib import Path

from unmask.producers.delegation.answers import Allowance, DelegationAnswer
from unmask.producers.delegation.calling import Calling
from unmask.producers.delegation.delegation import Delegation
from unmask.producers.delegation.keeper import Keeper
from unmask.producers.delegation.signal import Signal
from unmask.schemas.breaker import Advice, BreakerAnswer, Budget, BudgetPart, Spent

__all__ = [
    "Advice",
    "Allowance",
    "BreakerAnswer",
    "Budget",
    "BudgetPart",
    "Calling",
    "Delegation",
    "DelegationAnswer",
    "Keeper",
    "Signal",
    "Spent",
    "book_below",
]

_FOLDER = ".delegations"


def book_below(outbox: Path | None) -> Path | None:
    """The folder of the book that the emitters of one outbox share; None without an outbox.

    Its name begins with a dot: no adopter takes it for a dead emitter's.
    """
    return None if outbox is None else outbox / _FOLDER
