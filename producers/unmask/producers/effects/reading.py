"""From a decision, or none, to the answer that a host gets. Pure."""

from dataclasses import replace
from datetime import datetime

from unmask.producers.effects.answers import CLAIM_ANSWERS, Claim, Settlement
from unmask.producers.effects.key import EffectKey
from unmask.producers.effects.questions import Decision
from unmask.schemas.codes import EffectAnswer, EffectReason
from unmask.schemas.instants import from_micros

__all__ = ["claim_of", "settlement_of"]


def claim_of(
    effect: EffectKey, lease_ms: int, holder: str, request_id: str, decision: Decision | None,
    reason: EffectReason | None, deadline: float,
) -> Claim:  # fmt: skip
    """The answer to a claim. What is no answer to one, since it comes from a newer ledger, allows nothing."""
    if decision is None:
        return Claim(effect, EffectAnswer.ABSTAIN, reason, request_id, holder, lease_ms=lease_ms)
    answer = EffectAnswer(decision["answer"])
    said = _reason(decision)
    if answer not in CLAIM_ANSWERS:
        answer, said = EffectAnswer.ABSTAIN, said or EffectReason.UNKNOWN_REASON
    return Claim(
        effect=effect,
        answer=answer,
        reason=said,
        request_id=request_id,
        holder=holder,
        fencing_token=decision["fencing_token"],
        lease_until=_instant(decision["lease_until"]),
        lease_ms=lease_ms,
        receipt=decision["receipt"],
        committed_at=_instant(decision["committed_at"]),
        attempts=decision["attempts"],
        unsettled=decision["unsettled"],
        late_receipt=decision["late_receipt"],
        budget_used=decision["budget_used"],
        budget_limit=decision["budget_limit"],
        deadline=deadline if answer is EffectAnswer.GRANTED else 0.0,
    )


def settlement_of(claim: Claim, decision: Decision | None, reason: EffectReason | None, deadline: float) -> Settlement:
    """The answer to a commit, release or renewal."""
    if decision is None:
        return Settlement(claim, EffectAnswer.ABSTAIN, reason)
    answer = EffectAnswer(decision["answer"])
    if answer is EffectAnswer.RENEWED:
        until = _instant(decision["lease_until"])
        claim = replace(claim, lease_until=until, deadline=max(claim.deadline, deadline))
    return Settlement(claim, answer, _reason(decision), decision["receipt"], _instant(decision["committed_at"]))


def _reason(decision: Decision) -> EffectReason | None:
    return None if decision["reason"] is None else EffectReason(decision["reason"])


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
