"""What a host gets to hear: the answer to a claim, and what became of a settlement. Closed sets, nothing to guess."""

from dataclasses import dataclass, field
from datetime import datetime

from unmask.producers.effects.key import EffectKey
from unmask.producers.effects.lease_clock import lease_now
from unmask.schemas.codes import EffectAnswer, EffectReason

__all__ = ["CLAIM_ANSWERS", "Claim", "NotGranted", "Settlement"]

CLAIM_ANSWERS = frozenset(
    (
        EffectAnswer.GRANTED,
        EffectAnswer.ALREADY_COMMITTED,
        EffectAnswer.HELD_BY_ANOTHER,
        EffectAnswer.BUDGET_SPENT,
        EffectAnswer.ABSTAIN,
    )
)
"""All that a claim can be answered."""


class NotGranted(ValueError):
    """A claim that was not granted holds no lease: there is nothing to commit, release or renew. Look at `granted`."""

    def __init__(self, answer: EffectAnswer) -> None:
        super().__init__(f"the claim was answered {answer}: it holds no lease; ask `claim.granted` before the effect")


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim. Only `granted` allows the effect, and only while `remaining()` is above 0."""

    effect: EffectKey
    answer: EffectAnswer
    """One of CLAIM_ANSWERS."""
    reason: EffectReason | None = None
    """Why, where it is ABSTAIN."""
    request_id: str = ""
    holder: str = ""
    fencing_token: int | None = None
    """Of the lease where granted, of the one that committed where that was done before. To be handed to what the
    effect changes, where that can refuse older tokens."""
    lease_until: datetime | None = None
    """By the broker's clock: of the own lease where granted, of the other one where HELD_BY_ANOTHER."""
    lease_ms: int = 0
    """What was asked for."""
    receipt: str | None = None
    """What the effect left behind, where it was committed before."""
    committed_at: datetime | None = None
    attempts: int = 0
    """Leases granted on the key so far, this one included."""
    unsettled: int = 0
    """How many earlier ones ended without a word: where it is not 0, look whether the effect was made."""
    late_receipt: str | None = None
    """What a holder named whose commit came too late: look there first."""
    budget_used: int | None = None
    budget_limit: int | None = None
    deadline: float = field(default=0.0, compare=False, repr=False)
    """When the lease is over at the latest, on this machine's lease clock."""

    @property
    def granted(self) -> bool:
        """Whether the effect may be made."""
        return self.answer is EffectAnswer.GRANTED

    @property
    def effect_id(self) -> str:
        """A token that stands for the effect's key."""
        return self.effect.effect_id

    def remaining(self) -> float:
        """Seconds that the lease holds for certain, by this machine's own clock; 0 where it may be over."""
        return max(0.0, self.deadline - lease_now()) if self.granted else 0.0


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of a commit, release or renewal; true where it did what was asked."""

    claim: Claim
    """With the longer lease where it was renewed."""
    answer: EffectAnswer
    """COMMITTED, RELEASED, RENEWED, ALREADY_COMMITTED, FENCED or ABSTAIN."""
    reason: EffectReason | None = None
    receipt: str | None = None
    """The receipt on record."""
    committed_at: datetime | None = None

    def __bool__(self) -> bool:
        return self.answer in (EffectAnswer.COMMITTED, EffectAnswer.RELEASED, EffectAnswer.RENEWED)
