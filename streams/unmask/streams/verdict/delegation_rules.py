"""What is found of a delegation, each a pure function of what is known of it. None decides kind or directive."""

from unmask.schemas.breaker import LIMIT, BudgetPart
from unmask.schemas.codes import Finding, SignalDoubt
from unmask.streams.verdict.delegations import Delegation

__all__ = ["BLOCKED_TURNS", "delegation_findings", "exceeded", "is_blocked", "proves_nothing"]

BLOCKED_TURNS = 20
"""Turns with a refusal and without an accepted write, from which on enforcement is what is wrong. A repair that is
refused now and then goes on; one that is refused for so long will not be let through by trying again."""
_NEVER_ADEQUATE = (SignalDoubt.UNSTABLE_SIGNAL.value, SignalDoubt.INDISTINCT_SIGNAL.value)


def exceeded(delegation: Delegation) -> tuple[BudgetPart, ...]:
    """The parts of its budget of which it spent more than there was; what was spent to the last is not exceeded."""
    return delegation.spent.exceeded(delegation.budget)


def is_blocked(delegation: Delegation, blocked_turns: int) -> bool:
    """Whether enforcement keeps it from an accepted write now."""
    return delegation.blocked_turns >= blocked_turns


def proves_nothing(delegation: Delegation) -> bool:
    """Whether its signal may not decide: it was unstable or indistinct, or the breaker abstained on every call.

    The latter says something only of a delegation in which the breaker could have tripped: every signal is in doubt
    until it has been seen to move.
    """
    if any(delegation.doubts.get(doubt) for doubt in _NEVER_ADEQUATE):
        return True
    return delegation.calls >= LIMIT and sum(delegation.doubts.values()) >= delegation.calls


def delegation_findings(delegation: Delegation, blocked_turns: int = BLOCKED_TURNS) -> tuple[Finding, ...]:
    """What is found of it, in the order of the enum."""
    holds = {
        # A trip that was withdrawn, since its signal proved inadequate, is neither false nor standing.
        Finding.STALLED_DELEGATION: delegation.tripped,
        Finding.BUDGET_EXCEEDED: bool(exceeded(delegation)),
        Finding.DUPLICATE_EFFECT: delegation.repeated_commits > 0,
        Finding.INADEQUATE_SIGNAL: proves_nothing(delegation),
        Finding.IDENTITY_CONFLICT: delegation.identity_conflicts > 0,
        Finding.ENFORCEMENT_BLOCKED: delegation.longest_blocked >= blocked_turns,
    }
    return tuple(finding for finding, found in holds.items() if found)
