"""What the breaker answers. It advises; nobody is stopped by it."""

from dataclasses import dataclass
from enum import StrEnum

from unmask.schemas.codes import SignalDoubt

__all__ = ["AbstainReason", "Advice", "BreakerAnswer"]

AbstainReason = SignalDoubt
"""Why the breaker abstains: one closed set, which stands in records too."""


class BreakerAnswer(StrEnum):
    """The breaker's answers."""

    CONTINUE = "CONTINUE"
    """The signal may decide, and says that there was a change not long ago."""
    TRIPPED = "TRIPPED"
    """The signal may decide, and says that one successful call after another has changed nothing."""
    ABSTAIN = "ABSTAIN"
    """The signal may not decide."""


@dataclass(frozen=True, slots=True)
class Advice:
    """An answer, with what it rests on."""

    answer: BreakerAnswer
    doubt: AbstainReason | None = None
    """Why the breaker abstains."""
    unchanged: int = 0
    """Successful calls, one after another, that changed nothing; the most by any of the delegation's signals."""
    limit: int = 0
    """With how many of them the breaker trips."""
