"""What is forgotten: keys and budgets that have not changed for the retention."""

from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.state import Effect, EffectKey, PartitionState

__all__ = ["forget"]

_AT_ONCE = 1_000
"""After a long silence much is due; one transaction should not carry all of it."""


def forget(state: PartitionState, rules: EffectRules, key: EffectKey | None = None) -> None:
    """Forgets what is due; with `key`, that key and its budget alone, so that no answer rests on what is due."""
    before = state.now - rules.retention_us
    if key is not None:
        effect = state.effects.get(key)
        if effect is not None and _due(effect, before, state.now):
            state.remove(key)
        budget = state.budgets.get(key.budget)
        if budget is not None and budget.changed_at <= before:
            state.remove_budget(key.budget)
        return
    for _ in range(_AT_ONCE):
        if not state.effects or not _due(next(iter(state.effects.values())), before, state.now):
            break
        state.remove(next(iter(state.effects)))
    for _ in range(_AT_ONCE):
        if not state.budgets or next(iter(state.budgets.values())).changed_at > before:
            break
        state.remove_budget(next(iter(state.budgets)))


def _due(effect: Effect, before: int, now: int) -> bool:
    return effect.changed_at <= before and not effect.live(now)
