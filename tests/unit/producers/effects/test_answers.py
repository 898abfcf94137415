"""What a host gets to hear is one of few things, and only one of them allows the effect."""

import pytest
from tests.unit.producers.effects.decided import KEY, decision

from unmask.producers.effects import Claim, Settlement
from unmask.producers.effects.lease_clock import lease_now
from unmask.producers.effects.reading import claim_of, settlement_of
from unmask.schemas.codes import EffectAnswer, EffectReason
from unmask.schemas.instants import from_micros
from unmask.schemas.testing import SAMPLE_INSTANT

LATER = SAMPLE_INSTANT + 5_000_000


def claimed(**said: object) -> Claim:
    told = decision("GRANTED", fencing_token=8, lease_until=LATER) | said
    return claim_of(KEY, 5_000, "c-1", "q-1", told, None, lease_now() + 5)


def test_a_grant_tells_its_lease_and_how_long_it_holds_for_certain() -> None:
    claim = claimed(attempts=2, unsettled=1, late_receipt="late")
    assert claim.granted
    assert (claim.fencing_token, claim.lease_until) == (8, from_micros(LATER))
    assert 4 < claim.remaining() <= 5
    assert (claim.attempts, claim.unsettled, claim.late_receipt) == (2, 1, "late")
    assert claim.effect_id == KEY.effect_id


@pytest.mark.parametrize("answer", [a for a in EffectAnswer if a is not EffectAnswer.GRANTED])
def test_nothing_but_a_grant_allows_the_effect(answer: EffectAnswer) -> None:
    claim = claimed(answer=answer.value)
    assert not claim.granted
    assert claim.remaining() == 0
    allowed = {"ALREADY_COMMITTED", "HELD_BY_ANOTHER", "BUDGET_SPENT", "ABSTAIN"}
    assert claim.answer == (answer if answer in allowed else "ABSTAIN")


def test_no_decision_is_an_abstention_with_its_reason() -> None:
    claim = claim_of(KEY, 5_000, "c-1", "q-1", None, EffectReason.TIMEOUT, 0.0)
    assert (claim.answer, claim.reason, claim.granted) == ("ABSTAIN", "timeout", False)
    settlement = settlement_of(claimed(), None, EffectReason.CLOSED, 0.0)
    assert (settlement.answer, settlement.reason, bool(settlement)) == ("ABSTAIN", "closed", False)


@pytest.mark.parametrize("answer", list(EffectAnswer))
def test_a_settlement_is_true_where_it_did_what_was_asked(answer: EffectAnswer) -> None:
    settlement = Settlement(claimed(), answer)
    assert bool(settlement) == (answer in ("COMMITTED", "RELEASED", "RENEWED"))


def test_a_renewal_brings_the_claim_with_the_longer_lease() -> None:
    claim = claimed()
    told = decision("RENEWED", kind="renew", fencing_token=8, lease_until=LATER + 60_000_000)
    renewed = settlement_of(claim, told, None, lease_now() + 65).claim
    assert renewed.remaining() > 60
    assert renewed.lease_until == from_micros(LATER + 60_000_000)
    assert renewed.fencing_token == claim.fencing_token
