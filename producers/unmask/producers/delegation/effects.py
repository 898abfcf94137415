"""Effects of a delegation: claimed from the effects ledger, and what became of them put on record."""

from typing import TYPE_CHECKING, Any

from unmask.producers import foreign
from unmask.producers.delegation.content import content_digest
from unmask.producers.delegation.enforcement import Enforcement
from unmask.schemas.codes import EffectAnswer, EffectStep, Enforcer

if TYPE_CHECKING:
    from unmask.producers.delegation.claimed import DelegatedEffect
    from unmask.producers.effects import Claim, EffectsClient, Settlement

__all__ = ["Effects"]

_STEPS = {
    EffectAnswer.GRANTED: EffectStep.GRANTED,
    EffectAnswer.COMMITTED: EffectStep.COMMITTED,
    EffectAnswer.RELEASED: EffectStep.RELEASED,
}


class Effects(Enforcement):
    """What a delegation changes outside, once each."""

    def effect(
        self,
        client: "EffectsClient",
        *,
        tenant: str,
        failure: str,
        strategy: str,
        strategy_version: str,
        fingerprint: object,
        budget_key: str | None = None,
        turn: int | None = None,
        **claim: Any,
    ) -> "DelegatedEffect":
        """`with d.effect(client, ...) as effect: if effect.granted: effect.commit(make_it())`, all on record.

        The arguments are those of EffectsClient.claim, and so are the errors; the budget key is the delegation's id by
        default, and `fingerprint` may be whatever has a digest: what the effect would do.
        """
        # Imported here: a delegation without effects needs no client.
        from unmask.producers.delegation.claimed import DelegatedEffect

        print_of = fingerprint if isinstance(fingerprint, str | bytes) else content_digest(fingerprint) or ""
        key = self.delegation_id if budget_key is None else budget_key
        arguments = {
            "tenant": tenant, "failure": failure, "strategy": strategy, "strategy_version": strategy_version,
            "budget_key": key, "fingerprint": print_of,
        }  # fmt: skip
        return DelegatedEffect(self, client, arguments | claim, turn)

    def claimed(self, claim: "Claim", *, fingerprint: str | None = None, turn: int | None = None) -> None:
        """Put the answer to a claim on record, for a host that asks the client itself, as coroutines do."""
        self._tell(claim, claim, fingerprint, turn)

    def settled(self, settlement: "Settlement", *, fingerprint: str | None = None, turn: int | None = None) -> None:
        """Put on record what became of a commit or release. A renewal is none."""
        if foreign.read(settlement, "answer") is not EffectAnswer.RENEWED:
            self._tell(foreign.read(settlement, "claim"), settlement, fingerprint, turn)

    def _tell(self, claim: "Claim", answered: "Claim | Settlement", fingerprint: str | None, turn: int | None) -> None:
        try:
            step = _STEPS.get(answered.answer, EffectStep.REFUSED)
            if step is EffectStep.REFUSED:
                self.remember_refusal(Enforcer.EFFECTS, answered.answer.value, claim.effect_id)
            self.record_effect(
                step,
                turn,
                enforcer=Enforcer.EFFECTS.value,
                answer=answered.answer.value,
                effect_key=claim.effect_id,
                fingerprint=fingerprint,
                fencing_token=claim.fencing_token,
                receipt=answered.receipt,
                reason_code=None if answered.reason is None else answered.reason.value,
            )
        except Exception:
            self.note_fault()
