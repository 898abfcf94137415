"""One delegation, as far as a partition knows it in one session: its calls, its breaker, its effects, its refusals.

Pure: each event of it changes plain values. What is kept of runs, commits and blocked turns is bounded; what is counted
is not.
"""

from collections.abc import Collection, Container
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.breaker import BreakerState, Step, advance
from unmask.schemas.codes import CallOutcome, EffectStep, Enforcer

__all__ = ["MAX_BLOCKED", "MAX_COMMITS", "MAX_INVOCATIONS", "Commit", "Delegation"]

MAX_INVOCATIONS = 32
"""Runs that are known by name: those that were heard of last."""
MAX_COMMITS = 64
MAX_BLOCKED = 256
"""Turns with a refusal that are known one by one; further ones are counted."""
Commit = tuple[str, int, str | None]
"""Effect key, fencing token (0 where none was said) and receipt."""
_BUDGETS = ("budget_calls", "budget_tokens", "budget_attempts")
_OF_OTHERS = (EffectStep.APPEALED.value, EffectStep.VINDICATED.value)


@dataclass(slots=True)
class Delegation:
    """What is known of it."""

    number: int = 0
    """How many delegations its session had before."""
    merged: bool = False
    """Stands for all delegations beyond those that the session keeps apart: nothing is judged of such a mixture."""
    invocations: dict[str, str] = field(default_factory=dict)
    """Runs and who told of them first, the one that was heard of last at the end."""
    invocations_total: int = 0
    disputed: dict[str, None] = field(default_factory=dict)
    """Those of these runs that two emitters told of."""
    identity_conflicts: int = 0
    calls: int = 0
    """Calls that were made: all but refused ones."""
    succeeded: int = 0
    failed: int = 0
    refused: int = 0
    tokens: int = 0
    highest_attempt: int = 0
    budget_calls: int | None = None
    budget_tokens: int | None = None
    budget_attempts: int | None = None
    breaker: BreakerState = field(default_factory=BreakerState)
    granted: int = 0
    committed: int = 0
    released: int = 0
    commits: list[Commit] = field(default_factory=list)
    repeated_commits: int = 0
    refusals: dict[str, list[int]] = field(default_factory=dict)
    """By enforcer: refusals, appeals against them, and how many were vindicated."""
    blocked: dict[int, int] = field(default_factory=dict)
    """Turns with a refusal since the last accepted write, with the latest one's instant; a refusal outside of any turn
    stands for itself, under a number below 0."""
    blocked_further: int = 0
    """Turns before those that are no longer known one by one."""
    unnumbered: int = 0
    """Refusals outside of any turn."""
    longest_blocked: int = 0
    committed_at: int = 0
    """When the last write was accepted."""
    last_step_at: int = 0

    @property
    def blocked_turns(self) -> int:
        """Turns with a refusal since the last accepted write."""
        return len(self.blocked) + self.blocked_further

    def call(self, emitter_id: str, progress: dict[str, Any], seen_to_move: Container[str]) -> tuple[str, ...]:
        """A call of it ended. Returns the signals that have been seen to move in it.

        A call that arrives late is judged when it arrives: what it shows to have changed then ends a standstill.
        """
        self._run(progress["invocation_id"], emitter_id)
        outcome = progress["outcome"]
        if outcome == CallOutcome.REFUSED.value:
            self.refused += 1
        else:
            self.calls += 1
            self.tokens += progress["tokens"]
            self.highest_attempt = max(self.highest_attempt, progress["attempt"])
            self.succeeded += outcome == CallOutcome.SUCCEEDED.value
            self.failed += outcome == CallOutcome.FAILED.value
        self.last_step_at = max(self.last_step_at, progress["occurred_at"])
        if self.merged:
            return ()
        for name in _BUDGETS:
            stated, known = progress[name], getattr(self, name)
            if stated is not None and (known is None or stated < known):
                setattr(self, name, stated)
        self.breaker, _ = advance(self.breaker, Step.of(progress), seen_to_move)
        return self.breaker.moved

    def effect(self, emitter_id: str, effect: dict[str, Any], known: Collection[Commit]) -> None:
        """What became of an effect that it wanted; `known` are all commits in its session, its own among them."""
        step, at = effect["step"], effect["occurred_at"]
        self.last_step_at = max(self.last_step_at, at)
        # Whoever appeals, or finds out later who was right, need not be who was refused.
        if step not in _OF_OTHERS:
            self._run(effect["invocation_id"], emitter_id)
        match step:
            case EffectStep.GRANTED:
                self.granted += 1
            case EffectStep.RELEASED:
                self.released += 1
            case EffectStep.COMMITTED:
                self._commit(effect, at, known)
            case EffectStep.REFUSED:
                self._refusal(effect)[0] += 1
                self._block(effect["turn"], at)
            case EffectStep.APPEALED:
                self._refusal(effect)[1] += 1
            case EffectStep.VINDICATED:
                self._refusal(effect)[2] += 1

    def _run(self, invocation_id: str, emitter_id: str) -> None:
        teller = self.invocations.pop(invocation_id, None)
        if teller is None:
            self.invocations_total += 1
        elif teller != emitter_id and invocation_id not in self.disputed:
            self.disputed[invocation_id] = None
            self.identity_conflicts += 1
        self.invocations[invocation_id] = teller or emitter_id
        if len(self.invocations) > MAX_INVOCATIONS:
            oldest = next(iter(self.invocations))
            del self.invocations[oldest]
            self.disputed.pop(oldest, None)

    def _commit(self, effect: dict[str, Any], at: int, known: Collection[Commit]) -> None:
        key, token, receipt = effect["effect_key"], effect["fencing_token"] or 0, effect["receipt"]
        earlier = [] if key is None else [commit for commit in known if commit[0] == key]
        # A commit that is told of once more, by whoever was not sure that it went through.
        again = (token or receipt is not None) and any(_is_same(commit, token, receipt) for commit in earlier)
        if again:
            self._complete(key, token, receipt)
        else:
            self.committed += 1
            if any(commit[1:] != (token, receipt) for commit in earlier):
                self.repeated_commits += 1
            if key is not None and (key, token, receipt) not in self.commits:
                self.commits.append((key, token, receipt))
                del self.commits[:-MAX_COMMITS]
        self.committed_at = max(self.committed_at, at)
        if self.blocked and at >= min(self.blocked.values()):
            self.blocked_further = 0
        self.blocked = {turn: last for turn, last in self.blocked.items() if last > at}

    def _complete(self, key: str, token: int, receipt: str | None) -> None:
        """The receipt of a commit that was told of without one."""
        if receipt is not None and (key, token, None) in self.commits:
            self.commits[self.commits.index((key, token, None))] = (key, token, receipt)

    def _refusal(self, effect: dict[str, Any]) -> list[int]:
        enforcer = effect["enforcer"] or Enforcer.UNKNOWN_ENFORCER.value
        return self.refusals.setdefault(enforcer, [0, 0, 0])

    def _block(self, turn: int, at: int) -> None:
        # What is told of late may lie before the last accepted write.
        if self.merged or at < self.committed_at:
            return
        if turn == 0:
            self.unnumbered += 1
            turn = -self.unnumbered
        if turn not in self.blocked and len(self.blocked) == MAX_BLOCKED:
            oldest = min(self.blocked, key=self.blocked.__getitem__)
            if at <= self.blocked[oldest]:
                # As likely as not it is counted already.
                return
            del self.blocked[oldest]
            self.blocked_further += 1
        self.blocked[turn] = max(at, self.blocked.get(turn, 0))
        self.longest_blocked = max(self.longest_blocked, self.blocked_turns)


def _is_same(commit: Commit, token: int, receipt: str | None) -> bool:
    """Whether a commit of the same key is this one: one token, and no two receipts."""
    _, known_token, known_receipt = commit
    return known_token == token and (known_receipt == receipt or known_receipt is None or receipt is None)
