"""The state as pieces: one record of the state topic per effect and budget, and a head.

Keys are `h`, `k|tenant|failure|strategy|version|budget` and `b|tenant|budget`. Values are JSON of the ledger's own; a
value of None removes. The head says how far the pieces go. All pieces of one transaction become visible together.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

import orjson

from unmask.streams.effects.errors import EffectsStateUnreadable
from unmask.streams.effects.state import Budget, BudgetKey, Effect, EffectKey, PartitionState, Standing

__all__ = ["HEAD", "Head", "budget_piece", "effect_piece", "head_piece", "read_head", "restore"]

HEAD = b"h"
_VERSION = 1
_EFFECT = tuple(field.name for field in fields(Effect))


@dataclass(frozen=True, slots=True)
class Head:
    """How far the state goes, and who wrote it."""

    next_offset: int
    now: int
    log_id: str
    writer: str
    """Transactional id."""


def head_piece(state: PartitionState, writer: str) -> tuple[bytes, bytes]:
    """The head of a state."""
    head = Head(state.next_offset, state.now, state.log_id, writer)
    return HEAD, orjson.dumps({"v": _VERSION, **asdict(head)})


def read_head(raw: bytes) -> Head:
    """The head in a piece. Raises EffectsStateUnreadable."""
    try:
        value = orjson.loads(raw)
        version = value.pop("v")
        if version == _VERSION:
            return Head(**value)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise EffectsStateUnreadable(f"its head cannot be read ({type(error).__name__})") from error
    raise EffectsStateUnreadable(f"it is of version {version}, this worker reads {_VERSION}")


def effect_piece(key: EffectKey, effect: Effect | None) -> tuple[bytes, bytes | None]:
    """An effect's piece; None removes it."""
    name = f"k|{key}".encode()
    return name, None if effect is None else orjson.dumps([getattr(effect, field) for field in _EFFECT])


def budget_piece(key: BudgetKey, budget: Budget | None) -> tuple[bytes, bytes | None]:
    """A budget's piece; None removes it."""
    name = f"b|{key}".encode()
    return name, None if budget is None else orjson.dumps([budget.used, budget.limit, budget.changed_at])


def restore(partition: int, pieces: dict[bytes, bytes]) -> tuple[PartitionState, Head | None]:
    """The state that the newest piece of every key makes; one at offset 0 and no head where there is none.

    Raises EffectsStateUnreadable.
    """
    state = PartitionState(partition)
    raw = pieces.get(HEAD)
    head = None if raw is None else read_head(raw)
    try:
        effects = [
            (EffectKey(*name.decode().split("|")[1:]), _effect(orjson.loads(raw)))
            for name, raw in pieces.items()
            if name.startswith(b"k|")
        ]
        budgets = [
            (BudgetKey(*name.decode().split("|")[1:]), Budget(*orjson.loads(raw)))
            for name, raw in pieces.items()
            if name.startswith(b"b|")
        ]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise EffectsStateUnreadable(f"a piece of partition {partition} cannot be read") from error
    for key, effect in sorted(effects, key=lambda item: (item[1].changed_at, item[0])):
        state.put(key, effect)
    for budget_key, budget in sorted(budgets, key=lambda item: (item[1].changed_at, item[0])):
        state.put_budget(budget_key, budget)
    state.take_touched()
    if head is not None:
        state.next_offset, state.now, state.log_id = head.next_offset, head.now, head.log_id
        state.committed_offset = head.next_offset
    return state, head


def _effect(values: list[Any]) -> Effect:
    effect = Effect(*values)
    effect.standing = Standing(effect.standing)
    return effect
