"""What the effects ledger knows of one partition: effects by key, budgets, and how far the log was read.

Effects and budgets stand in the order of their last change, oldest first, so that what is to be forgotten stands in
front. The broker's time of a partition never goes back, which is what keeps them so.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from unmask.schemas.keys import effect_key, effect_route

__all__ = ["Budget", "BudgetKey", "Effect", "EffectKey", "PartitionState", "Standing", "Touched"]


class EffectKey(NamedTuple):
    """What names an effect."""

    tenant: str
    failure: str
    strategy: str
    strategy_version: str
    budget_key: str

    def __str__(self) -> str:
        return effect_key(*self)

    @property
    def budget(self) -> "BudgetKey":
        """What it is charged to."""
        return BudgetKey(self.tenant, self.budget_key)


class BudgetKey(NamedTuple):
    """What names a budget."""

    tenant: str
    budget_key: str

    def __str__(self) -> str:
        return effect_route(*self)


class Standing(StrEnum):
    """What became of an effect's newest lease."""

    HELD = "held"
    """Nobody has said anything yet; it is over once its time is."""
    LAPSED = "lapsed"
    """It ended without a word."""
    RELEASED = "released"
    """It was given back."""
    COMMITTED = "committed"
    """The effect was made under it; there is no other after it."""


@dataclass(slots=True)
class Effect:
    """One key: its newest lease, and what is known of the earlier ones."""

    fingerprint: str
    token: int
    """Fencing token of the newest lease: one more than the offset of the request that got it, so that it only grows."""
    holder: str
    request_id: str
    lease_until: int
    standing: Standing
    attempts: int
    unsettled: int
    changed_at: int
    receipt: str | None = None
    committed_at: int | None = None
    late_receipt: str | None = None

    def live(self, now: int) -> bool:
        """Whether its newest lease holds."""
        return self.standing is Standing.HELD and now < self.lease_until


@dataclass(slots=True)
class Budget:
    """Claims granted on a budget, and how many may be."""

    used: int
    limit: int | None
    changed_at: int
    """When a claim was last granted on it."""


@dataclass(slots=True)
class Touched:
    """What changed since the last transaction."""

    effects: set[EffectKey] = field(default_factory=set)
    budgets: set[BudgetKey] = field(default_factory=set)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    quarantined: list[dict[str, Any]] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        """Whether a transaction has something to publish."""
        return bool(self.decisions or self.quarantined)


@dataclass(slots=True)
class PartitionState:
    """State of one partition, good for the prefix of its log that ends before `next_offset`."""

    partition: int
    next_offset: int = 0
    now: int = 0
    """The newest append time so far, in microseconds since the epoch: the only clock there is."""
    log_id: str = ""
    """The broker's id of the log."""
    committed_offset: int = -1
    effects: OrderedDict[EffectKey, Effect] = field(default_factory=OrderedDict)
    budgets: OrderedDict[BudgetKey, Budget] = field(default_factory=OrderedDict)
    tenants: Counter[str] = field(default_factory=Counter)
    """How many keys each tenant has on record."""
    touched: Touched = field(default_factory=Touched)

    def take_touched(self) -> Touched:
        """What changed, for the transaction that publishes it."""
        touched, self.touched = self.touched, Touched()
        return touched

    def put(self, key: EffectKey, effect: Effect) -> None:
        """Puts an effect that has changed at its place: last."""
        if key not in self.effects:
            self.tenants[key.tenant] += 1
        self.effects[key] = effect
        self.effects.move_to_end(key)
        self.touched.effects.add(key)

    def put_budget(self, key: BudgetKey, budget: Budget) -> None:
        """Puts a budget on which a claim was granted at its place: last."""
        self.budgets[key] = budget
        self.budgets.move_to_end(key)
        self.touched.budgets.add(key)

    def remove(self, key: EffectKey) -> None:
        """Forgets an effect."""
        del self.effects[key]
        self.touched.effects.add(key)
        self.tenants[key.tenant] -= 1
        if not self.tenants[key.tenant]:
            del self.tenants[key.tenant]

    def remove_budget(self, key: BudgetKey) -> None:
        """Forgets a budget."""
        del self.budgets[key]
        self.touched.budgets.add(key)
