"""What an effects ledger tells of itself."""

from collections import Counter
from dataclasses import dataclass, field

from unmask.streams.ledger.status import Progress

__all__ = ["EffectsProgress", "EffectsStatus"]


@dataclass(frozen=True, slots=True)
class EffectsStatus:
    """A snapshot of an effects ledger's condition."""

    ready: bool
    """Joined, states restored, and deciding or idle."""
    reason: str
    """Why it is not ready; empty when it is."""
    partitions: tuple[int, ...] = ()
    lag: int = 0
    """Requests that stand in the log of these partitions and were not decided yet."""
    requests: int = 0
    transactions: int = 0
    quarantined: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    """Decisions of this worker, by answer."""
    keys: int = 0
    """Keys on record."""
    budgets: int = 0
    error: BaseException | None = None
    """What ended it."""


@dataclass(slots=True)
class EffectsProgress(Progress):
    """What an effects ledger counts while it runs, over all of its lives. `records` are requests."""

    answers: Counter[str] = field(default_factory=Counter)
