"""What a request must be answered, by the contract and all that was decided before it."""

from typing import Any, NamedTuple

from unmask.consumers.effects_check.facts import Budget, Effect, End
from unmask.schemas.codes import EffectAnswer, EffectReason, EffectRequestKind

__all__ = ["Expected", "expected", "limit_of"]


class Expected(NamedTuple):
    """The answer, and the reason where it has one."""

    answer: EffectAnswer
    reason: EffectReason | None = None


_FENCED, _ABSTAIN = EffectAnswer.FENCED, EffectAnswer.ABSTAIN
_NOT_THE_HOLDER = Expected(_FENCED, EffectReason.NOT_THE_HOLDER)
_LEASE_OVER = Expected(_FENCED, EffectReason.LEASE_OVER)


def expected(effect: Effect | None, budget: Budget | None, body: dict[str, Any], now: int) -> Expected:
    """The answer to a request at `now`. Leases that are over must have been found so before."""
    kind = body["kind"]
    if kind == EffectRequestKind.CLAIM:
        return _claim(effect, budget, body, now)
    if kind == EffectRequestKind.EXPIRE:
        return _expire(effect, body)
    asked_of = {
        EffectRequestKind.COMMIT.value: EffectAnswer.COMMITTED,
        EffectRequestKind.RELEASE.value: EffectAnswer.RELEASED,
        EffectRequestKind.RENEW.value: EffectAnswer.RENEWED,
    }
    if kind not in asked_of:
        return Expected(_ABSTAIN, EffectReason.UNKNOWN_REQUEST)
    return _settle(effect, body, asked_of[kind])


def limit_of(budget: Budget | None, stated: int | None) -> int | None:
    """The smallest limit that was stated holds."""
    return min((each for each in (None if budget is None else budget.limit, stated) if each is not None), default=None)


def _claim(effect: Effect | None, budget: Budget | None, body: dict[str, Any], now: int) -> Expected:
    if effect is not None:
        if effect.fingerprint != body["fingerprint"]:
            return Expected(_ABSTAIN, EffectReason.FINGERPRINT_CONFLICT)
        if effect.commit is not None:
            return Expected(EffectAnswer.ALREADY_COMMITTED)
        lease = effect.newest
        if lease is not None:
            again = (lease.holder, lease.request_id) == (body["holder"], body["request_id"])
            if again and not lease.live(now):
                return Expected(_ABSTAIN, EffectReason.LEASE_OVER)
            if lease.live(now):
                return Expected(EffectAnswer.GRANTED if again else EffectAnswer.HELD_BY_ANOTHER)
    limit = limit_of(budget, body["budget_limit"])
    if limit is not None and budget is not None and budget.used >= limit:
        return Expected(EffectAnswer.BUDGET_SPENT)
    return Expected(EffectAnswer.GRANTED)


def _settle(effect: Effect | None, body: dict[str, Any], done: EffectAnswer) -> Expected:
    if effect is None or effect.newest is None:
        return Expected(_FENCED, EffectReason.UNKNOWN_KEY)
    lease, commit = effect.newest, effect.commit
    if lease.token != body["fencing_token"]:
        return _NOT_THE_HOLDER
    if commit is not None:
        if done is not EffectAnswer.COMMITTED:
            return Expected(EffectAnswer.ALREADY_COMMITTED)
        same = commit.receipt == body["receipt"]
        return Expected(done) if same else Expected(EffectAnswer.ALREADY_COMMITTED, EffectReason.RECEIPT_CONFLICT)
    if lease.end is End.RELEASED:
        return Expected(done) if done is EffectAnswer.RELEASED else _NOT_THE_HOLDER
    return _LEASE_OVER if lease.end is End.OVER else Expected(done)


def _expire(effect: Effect | None, body: dict[str, Any]) -> Expected:
    lease = None if effect is None else effect.newest
    if lease is None or lease.token != body["fencing_token"] or lease.end not in (None, End.OVER):
        return Expected(_ABSTAIN, EffectReason.NOTHING_HELD)
    if lease.end is None:
        return Expected(_ABSTAIN, EffectReason.NOT_DUE)
    return Expected(EffectAnswer.EXPIRED)
