"""The fold: one request at its place in the log, what is decided about it, and what is known afterwards. Pure.

Time is the newest append time of the partition's log; no clock is asked, so that a replay decides the same.
"""

from typing import Any

from unmask.schemas.codes import EffectAnswer, EffectReason, EffectRequestKind
from unmask.streams.effects.answer import Answer
from unmask.streams.effects.claiming import claim
from unmask.streams.effects.forgetting import forget
from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.settling import commit, expire, release, renew
from unmask.streams.effects.state import EffectKey, PartitionState

__all__ = ["Request", "fold_request", "fold_unreadable"]

Request = dict[str, Any]
"""A decoded and checked effect_request; instants are microseconds."""

_SETTLING = {
    EffectRequestKind.COMMIT.value: commit,
    EffectRequestKind.RELEASE.value: release,
    EffectRequestKind.RENEW.value: renew,
    EffectRequestKind.EXPIRE.value: expire,
}
_CLAIM = EffectRequestKind.CLAIM.value


def fold_request(state: PartitionState, rules: EffectRules, offset: int, arrival: int, request: Request) -> None:
    """Decides about the request at `offset`, which the broker appended at `arrival`; the decision is in `touched`."""
    _move(state, rules, offset, arrival)
    key = EffectKey(*(request[name] for name in EffectKey._fields))
    forget(state, rules, key)
    kind = request["kind"]
    if kind == _CLAIM:
        answer = claim(state, rules, key, offset, request)
    elif (settle := _SETTLING.get(kind)) is not None:
        answer = settle(state, key, request)
    else:
        answer = Answer(EffectAnswer.ABSTAIN, EffectReason.UNKNOWN_REQUEST)
    state.touched.decisions.append(_decision(state, key, offset, request, answer))


def fold_unreadable(
    state: PartitionState, rules: EffectRules, offset: int, arrival: int, entry: dict[str, Any]
) -> None:
    """Passes over a record that nobody can decide about, with its entry for the quarantine."""
    _move(state, rules, offset, arrival)
    state.touched.quarantined.append(entry)


def _move(state: PartitionState, rules: EffectRules, offset: int, arrival: int) -> None:
    state.next_offset = offset + 1
    state.now = max(state.now, arrival)
    forget(state, rules)


def _decision(state: PartitionState, key: EffectKey, offset: int, request: Request, answer: Answer) -> dict[str, Any]:
    effect = state.effects.get(key)
    budget = state.budgets.get(key.budget)
    return {
        "request_id": request["request_id"],
        "kind": request["kind"],
        "answer": answer.answer.value,
        "reason": None if answer.reason is None else answer.reason.value,
        **key._asdict(),
        "holder": request["holder"],
        "partition": state.partition,
        "offset": offset,
        "decided_at": state.now,
        "attempts": 0 if effect is None else effect.attempts,
        "unsettled": 0 if effect is None else effect.unsettled,
        "fencing_token": answer.token,
        "lease_until": answer.lease_until,
        "receipt": None if effect is None else effect.receipt,
        "committed_at": None if effect is None else effect.committed_at,
        "late_receipt": None if effect is None else effect.late_receipt,
        "fingerprint": None if effect is None else effect.fingerprint,
        "budget_used": None if budget is None else budget.used,
        "budget_limit": None if budget is None else budget.limit,
    }
