"""What a holder says of its lease, and how a lease ends of which nobody says anything. Pure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unmask.schemas.codes import EffectAnswer, EffectReason
from unmask.streams.effects.answer import Answer
from unmask.streams.effects.lapse import lapse
from unmask.streams.effects.state import Effect, EffectKey, PartitionState, Standing

__all__ = ["commit", "expire", "release", "renew"]


def commit(state: PartitionState, key: EffectKey, request: dict[str, Any]) -> Answer:
    """The effect was made."""
    token, receipt = request["fencing_token"], request["receipt"]

    def settle(effect: Effect) -> Answer:
        committed = replace(
            effect, standing=Standing.COMMITTED, receipt=receipt, committed_at=state.now, changed_at=state.now
        )
        state.put(key, committed)
        return Answer(EffectAnswer.COMMITTED, token=token)

    effect = state.effects.get(key)
    if effect is not None and effect.standing is Standing.COMMITTED and effect.token == token:
        if effect.receipt == receipt:
            return Answer(EffectAnswer.COMMITTED, token=token)
        return Answer(EffectAnswer.ALREADY_COMMITTED, EffectReason.RECEIPT_CONFLICT, token)
    answer = _settled(state, key, token, settle)
    if answer.answer is EffectAnswer.FENCED:
        _note_late(state, key, token, receipt)
    return answer


def release(state: PartitionState, key: EffectKey, request: dict[str, Any]) -> Answer:
    """The effect was not made, and will not be under this lease."""
    token = request["fencing_token"]

    def settle(effect: Effect) -> Answer:
        state.put(key, replace(effect, standing=Standing.RELEASED, changed_at=state.now))
        return Answer(EffectAnswer.RELEASED, token=token)

    effect = state.effects.get(key)
    if effect is not None and effect.standing is Standing.RELEASED and effect.token == token:
        return Answer(EffectAnswer.RELEASED, token=token)
    return _settled(state, key, token, settle)


def renew(state: PartitionState, key: EffectKey, request: dict[str, Any]) -> Answer:
    """The holder needs more time."""
    token = request["fencing_token"]

    def settle(effect: Effect) -> Answer:
        until = max(effect.lease_until, state.now + request["lease_ms"] * 1000)
        state.put(key, replace(effect, lease_until=until, changed_at=state.now))
        return Answer(EffectAnswer.RENEWED, None, token, until)

    return _settled(state, key, token, settle)


def expire(state: PartitionState, key: EffectKey, request: dict[str, Any]) -> Answer:
    """A lease should be over. The broker's time of the request, not the sender's clock, says whether it is."""
    token = request["fencing_token"]
    effect = lapse(state, key)
    if effect is None or effect.token != token or effect.standing not in (Standing.HELD, Standing.LAPSED):
        return Answer(EffectAnswer.ABSTAIN, EffectReason.NOTHING_HELD, token)
    if effect.standing is Standing.HELD:
        return Answer(EffectAnswer.ABSTAIN, EffectReason.NOT_DUE, token, effect.lease_until)
    return Answer(EffectAnswer.EXPIRED, None, token, effect.lease_until)


def _settled(state: PartitionState, key: EffectKey, token: int, settle: Callable[[Effect], Answer]) -> Answer:
    """What `settle` says where the token is that of a live lease, else the refusal."""
    effect = lapse(state, key)
    if effect is None:
        return Answer(EffectAnswer.FENCED, EffectReason.UNKNOWN_KEY, token)
    if effect.token != token or effect.standing is Standing.RELEASED:
        return Answer(EffectAnswer.FENCED, EffectReason.NOT_THE_HOLDER, token)
    if effect.standing is Standing.COMMITTED:
        return Answer(EffectAnswer.ALREADY_COMMITTED, token=token)
    if effect.standing is Standing.LAPSED:
        return Answer(EffectAnswer.FENCED, EffectReason.LEASE_OVER, token, effect.lease_until)
    return settle(effect)


def _note_late(state: PartitionState, key: EffectKey, token: int, receipt: str) -> None:
    """Keeps what a refused commit says to have left behind: the next holder looks there first."""
    effect = state.effects.get(key)
    if effect is None or effect.standing is Standing.COMMITTED or token > effect.token:
        return
    if effect.late_receipt != receipt:
        state.put(key, replace(effect, late_receipt=receipt, changed_at=state.now))
