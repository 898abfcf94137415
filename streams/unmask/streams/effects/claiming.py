"""Claims: may this effect be made, by whom, and for how long. Pure."""

from dataclasses import replace
from typing import Any

from unmask.schemas.codes import EffectAnswer, EffectReason
from unmask.streams.effects.answer import Answer
from unmask.streams.effects.lapse import lapse
from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.state import Budget, Effect, EffectKey, PartitionState, Standing

__all__ = ["claim"]


def claim(state: PartitionState, rules: EffectRules, key: EffectKey, offset: int, request: dict[str, Any]) -> Answer:
    """The answer to a claim. The order of the questions is part of the contract."""
    limit = _limit(state, key, request["budget_limit"])
    effect = lapse(state, key)
    if effect is not None and (answer := _known(effect, request, state.now)) is not None:
        return answer
    budget = state.budgets.get(key.budget)
    if limit is not None and budget is not None and budget.used >= limit:
        return Answer(EffectAnswer.BUDGET_SPENT)
    if effect is None:
        if state.tenants[key.tenant] >= rules.tenant_keys:
            return Answer(EffectAnswer.ABSTAIN, EffectReason.TENANT_FULL)
        if len(state.effects) >= rules.keys:
            return Answer(EffectAnswer.ABSTAIN, EffectReason.LEDGER_FULL)
    return _grant(state, key, offset, request, effect, limit)


def _limit(state: PartitionState, key: EffectKey, stated: int | None) -> int | None:
    """The smallest limit that anybody has stated holds, whatever this claim is answered."""
    budget = state.budgets.get(key.budget)
    known = None if budget is None else budget.limit
    limit = min((each for each in (known, stated) if each is not None), default=None)
    if budget is not None and limit != known:
        # Its place stays: only a granted claim keeps a budget from being forgotten.
        state.budgets[key.budget] = replace(budget, limit=limit)
        state.touched.budgets.add(key.budget)
    return limit


def _known(effect: Effect, request: dict[str, Any], now: int) -> Answer | None:
    """The answer where the key's past has one."""
    if request["fingerprint"] != effect.fingerprint:
        # Before everything else: "already committed" would be said of another effect.
        return Answer(EffectAnswer.ABSTAIN, EffectReason.FINGERPRINT_CONFLICT)
    if effect.standing is Standing.COMMITTED:
        return Answer(EffectAnswer.ALREADY_COMMITTED, token=effect.token)
    if (request["holder"], request["request_id"]) == (effect.holder, effect.request_id):
        if effect.live(now):
            return Answer(EffectAnswer.GRANTED, None, effect.token, effect.lease_until)
        # A question has one answer. Asked again, it must not become a second lease, of which its holder knows nothing.
        return Answer(EffectAnswer.ABSTAIN, EffectReason.LEASE_OVER, effect.token, effect.lease_until)
    if effect.live(now):
        return Answer(EffectAnswer.HELD_BY_ANOTHER, lease_until=effect.lease_until)
    return None


def _grant(
    state: PartitionState, key: EffectKey, offset: int, request: dict[str, Any], effect: Effect | None,
    limit: int | None,
) -> Answer:  # fmt: skip
    granted = Effect(
        fingerprint=request["fingerprint"],
        token=offset + 1,
        holder=request["holder"],
        request_id=request["request_id"],
        lease_until=state.now + request["lease_ms"] * 1000,
        standing=Standing.HELD,
        attempts=1 if effect is None else effect.attempts + 1,
        unsettled=0 if effect is None else effect.unsettled,
        changed_at=state.now,
        late_receipt=None if effect is None else effect.late_receipt,
    )
    state.put(key, granted)
    budget = state.budgets.get(key.budget)
    state.put_budget(key.budget, Budget(1 if budget is None else budget.used + 1, limit, state.now))
    return Answer(EffectAnswer.GRANTED, None, granted.token, granted.lease_until)
