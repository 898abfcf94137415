"""A call of a delegation as a context: charged where it begins, told of where it ends."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from unmask.producers.delegation.answers import Allowance, DelegationAnswer
from unmask.schemas.breaker import Advice
from unmask.schemas.codes import CallOutcome

if TYPE_CHECKING:
    from unmask.producers.delegation.delegation import Delegation

__all__ = ["Calling", "outcome_of"]


class Calling:
    """A call that is being made. Set on it what is known once it ended; an exception makes it a failed one."""

    def __init__(
        self, delegation: "Delegation", attempt: int | None, turn: int | None, signal: str | None, subject: str | None
    ) -> None:
        self._delegation = delegation
        self.attempt = attempt
        """1 for the first try of what it does; None for the next one where the last call failed, else 1."""
        self.turn = turn
        self.signal = signal
        self.subject = subject
        self.tokens = 0
        """What it spent."""
        self.state: object = None
        """The content of the outcome: bytes, text, or what JSON has."""
        self.conditions: object = None
        self.measure: int | None = None
        self.ok = True
        """False where it failed although it raised nothing."""
        self.allowance = Allowance(DelegationAnswer.ALLOWED)
        """What spoke against it when it began. With its own charge in the book already, so that of several processes
        that share the last call of a budget one is told that it is allowed."""
        self.advice: Advice | None = None
        """What the breaker says after it."""
        self._refused = False

    def refuse(self) -> None:
        """It is not made after all: nothing is charged for it."""
        self._refused = True

    def __enter__(self) -> Self:
        self.allowance, self.attempt = self._delegation.begin_call(self.attempt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._refused:
            outcome = CallOutcome.REFUSED
        else:
            outcome = CallOutcome.FAILED if kind is not None else outcome_of(self._delegation, self.ok)
        self.advice = self._delegation.end_call(
            outcome, charged=True, tokens=self.tokens, attempt=self.attempt, state=self.state, signal=self.signal,
            conditions=self.conditions, subject=self.subject, measure=self.measure, turn=self.turn,
        )  # fmt: skip

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)


def outcome_of(delegation: "Delegation", ok: object) -> CallOutcome:
    """The outcome of a call that raised nothing. What is neither true nor false (an array, say) tells of no failure."""
    try:
        return CallOutcome.SUCCEEDED if ok else CallOutcome.FAILED
    except Exception:
        delegation.note_fault()
        return CallOutcome.SUCCEEDED
