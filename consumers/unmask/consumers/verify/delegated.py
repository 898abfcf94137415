"""What the log says of one delegation in one session, and what must be found of it."""

from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.breaker import LIMIT, BreakerState, Budget, Spent, Step, advance
from unmask.schemas.codes import CallOutcome, Finding, SignalDoubt

__all__ = ["DelegationFacts"]

_INADEQUATE = (SignalDoubt.UNSTABLE_SIGNAL, SignalDoubt.INDISTINCT_SIGNAL)


@dataclass(slots=True)
class DelegationFacts:
    """Its calls and its refusals, in the order of the log. Instants are microseconds."""

    spent: Spent = field(default_factory=Spent)
    budget: Budget = field(default_factory=Budget)
    """Of each part the least that was ever stated."""
    breaker: BreakerState = field(default_factory=BreakerState)
    tellers: dict[str, set[str]] = field(default_factory=dict)
    """By invocation: emitters that told of it."""
    commits: int = 0
    """Different commits of effects that have a key."""
    duplicates: bool = False
    """Whether an effect of it was committed more than once."""
    longest_blocked: int = 0
    """The most turns with a refusal between two accepted writes."""
    _refused_at: dict[int, int] = field(default_factory=dict)
    """Turns with a refusal since the last accepted write: the newest refusal of each. Those outside of any turn are
    below 0, each for itself."""
    _outside: int = 0
    _written_at: int = 0

    def call(self, progress: dict[str, Any], seen_to_move: dict[str, None]) -> tuple[str, ...]:
        """A call of it ended. Returns the signals that were seen to move in it."""
        if progress["outcome"] != CallOutcome.REFUSED.value:
            self.spent = self.spent.plus(tokens=progress["tokens"], attempt=progress["attempt"])
        stated = Budget(progress["budget_calls"], progress["budget_tokens"], progress["budget_attempts"])
        self.budget = self.budget.tightest(stated)
        self.breaker, _ = advance(self.breaker, Step.of(progress), seen_to_move)
        return self.breaker.moved

    def refuse(self, turn: int, at: int) -> None:
        """Somebody refused it something; what is told of late may lie before the last accepted write."""
        if at < self._written_at:
            return
        if turn == 0:
            self._outside += 1
            turn = -self._outside
        self._refused_at[turn] = max(at, self._refused_at.get(turn, 0))
        self.longest_blocked = max(self.longest_blocked, len(self._refused_at))

    def write(self, at: int) -> None:
        """A write of it was accepted."""
        self._written_at = max(self._written_at, at)
        self._refused_at = {turn: last for turn, last in self._refused_at.items() if last > at}

    def claimed_by_two(self) -> bool:
        """Whether two emitters told of one of its runs."""
        return any(len(emitters) > 1 for emitters in self.tellers.values())

    def findings(self, blocked_turns: int) -> list[str]:
        """What must be found of it, in the order of the enum."""
        holds = {
            Finding.STALLED_DELEGATION: self.breaker.tripped,
            Finding.BUDGET_EXCEEDED: bool(self.spent.exceeded(self.budget)),
            Finding.DUPLICATE_EFFECT: self.duplicates,
            Finding.INADEQUATE_SIGNAL: self._proves_nothing(),
            Finding.IDENTITY_CONFLICT: self.claimed_by_two(),
            Finding.ENFORCEMENT_BLOCKED: self.longest_blocked >= blocked_turns,
        }
        return [finding.value for finding in Finding if holds.get(finding)]

    def _proves_nothing(self) -> bool:
        """Whether its signal was inadequate, or no call proved anything where the breaker could have tripped."""
        doubts = dict(self.breaker.doubts)
        if any(doubts.get(doubt) for doubt in _INADEQUATE):
            return True
        return self.spent.calls >= LIMIT and sum(doubts.values()) >= self.spent.calls
