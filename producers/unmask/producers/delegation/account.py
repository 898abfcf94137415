"""What a delegation has spent, and how its breaker stands, over all of its invocations. Pure, entry by entry."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from unmask.schemas.breaker import BreakerState, Budget, Spent, Step, advance

__all__ = ["Account", "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened to a delegation."""

    budget: Budget | None = None
    """A budget was declared."""
    limit: int | None = None
    """The breaker is to trip after so many successful calls that change nothing."""
    calls: int = 0
    """Calls that were begun; -1 takes back one that was then not made."""
    tokens: int = 0
    attempt: int = 0
    """The attempt that was begun."""
    step: Step | None = None
    """A call that ended, or a state that was read."""
    moving: tuple[str, ...] = ()
    """Signals that were shown to move."""

    def without_step(self, other: "Entry") -> "Entry":
        """This one and the next in one, for a disk that takes nothing for long: what was spent, and no steps."""
        budgets = [budget for budget in (self.budget, other.budget) if budget is not None]
        return Entry(
            budget=budgets[0].tightest(budgets[-1]) if budgets else None,
            limit=self.limit if other.limit is None else other.limit,
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            attempt=max(self.attempt, other.attempt),
            moving=tuple(dict.fromkeys((*self.moving, *other.moving))),
        )


@dataclass(frozen=True, slots=True)
class Account:
    """One delegation."""

    budget: Budget = field(default_factory=Budget)
    """The smallest that were declared."""
    spent: Spent = field(default_factory=Spent)
    tries: int = 0
    """Attempts so far of the thing at hand: 0 once it succeeded."""
    version: int = 0
    """Grows with every entry: of two states of one delegation the higher one knows more."""
    breaker: BreakerState = field(default_factory=BreakerState)

    def after(self, entry: Entry, seen_to_move: Container[str] = frozenset()) -> Self:
        """The account with one more entry; `seen_to_move` are signals that moved elsewhere."""
        breaker, tries, step = self.breaker, self.tries, entry.step
        if entry.limit is not None:
            breaker = replace(breaker, limit=entry.limit)
        if step is not None:
            breaker, _ = advance(breaker, step, _Either(entry.moving, seen_to_move))
            if step.succeeded:
                tries = 0
            elif step.done:
                tries = max(entry.attempt, 1)
        return replace(
            self,
            budget=self.budget if entry.budget is None else self.budget.tightest(entry.budget),
            spent=replace(
                self.spent.plus(calls=entry.calls, tokens=entry.tokens, attempt=entry.attempt),
                calls=max(0, self.spent.calls + entry.calls),
            ),
            tries=tries,
            version=self.version + 1,
            breaker=breaker,
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON's values."""
        return {
            "budget": self.budget.to_json(),
            "spent": [self.spent.calls, self.spent.tokens, self.spent.attempts],
            "tries": self.tries,
            "version": self.version,
            "breaker": self.breaker.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """What to_json() wrote. Raises KeyError, TypeError or ValueError."""
        return cls(
            budget=Budget.from_json(value["budget"]),
            spent=Spent(*value["spent"]),
            tries=value["tries"],
            version=value["version"],
            breaker=BreakerState.from_json(value["breaker"]),
        )


class _Either:
    """Whether a name is in one of two places."""

    __slots__ = ("_one", "_other")

    def __init__(self, one: Container[str], other: Container[str]) -> None:
        self._one = one
        self._other = other

    def __contains__(self, name: object) -> bool:
        return name in self._one or name in self._other
