"""What a claim is answered, in each condition that a key can be in."""

from datetime import timedelta

import pytest
from tests.unit.streams.effects.asking import KEY, Asked

from unmask.schemas.codes import EffectAnswer, EffectReason
from unmask.schemas.instants import from_micros
from unmask.schemas.testing import SAMPLE_INSTANT
from unmask.streams.effects.rules import EffectRules

BEGIN = from_micros(SAMPLE_INSTANT)


def test_the_first_claim_is_granted_until_its_lease_ends_by_the_brokers_time() -> None:
    asked = Asked()
    granted = asked.claim(5)
    assert (granted.answer, granted.fencing_token, granted.attempts, granted.unsettled) == ("GRANTED", 1, 1, 0)
    assert granted.lease_until == BEGIN + timedelta(seconds=15)
    assert (granted.budget_used, granted.budget_limit) == (1, None)


def test_a_live_lease_is_held_against_everybody_else_and_told_until_when() -> None:
    asked = Asked()
    asked.claim(0)
    held = asked.claim(9.999, holder="other")
    assert held.answer is EffectAnswer.HELD_BY_ANOTHER
    assert held.lease_until == BEGIN + timedelta(seconds=10)
    assert held.fencing_token is None, "the token is the holder's alone"


def test_the_same_host_under_another_question_is_another() -> None:
    asked = Asked()
    asked.claim(0, request_id="a")
    assert asked.claim(1, request_id="b").answer is EffectAnswer.HELD_BY_ANOTHER


def test_the_same_question_again_has_the_same_answer_and_costs_nothing() -> None:
    asked = Asked()
    first = asked.claim(0, request_id="a")
    again = asked.claim(3, request_id="a")
    assert (again.answer, again.fencing_token, again.lease_until) == ("GRANTED", first.fencing_token, first.lease_until)
    assert (again.attempts, again.budget_used) == (1, 1)


@pytest.mark.parametrize("released", [True, False])
def test_the_same_question_after_its_lease_is_no_second_lease(*, released: bool) -> None:
    asked = Asked()
    first = asked.claim(0, request_id="a")
    if released:
        asked.say(1, "release", first.fencing_token)
    late = asked.claim(11, request_id="a")
    assert (late.answer, late.reason) == ("ABSTAIN", "lease_over")
    assert asked.claim(11, request_id="b").answer is EffectAnswer.GRANTED


def test_after_a_lease_without_a_word_the_next_holder_is_told_to_look() -> None:
    asked = Asked()
    first = asked.claim(0)
    second = asked.claim(10, holder="other")
    assert second.answer is EffectAnswer.GRANTED
    assert (second.attempts, second.unsettled) == (2, 1)
    assert second.fencing_token is not None
    assert first.fencing_token is not None
    assert second.fencing_token > first.fencing_token


def test_after_a_release_nobody_need_look() -> None:
    asked = Asked()
    asked.say(1, "release", asked.claim(0).fencing_token)
    second = asked.claim(2)
    assert (second.answer, second.attempts, second.unsettled) == ("GRANTED", 2, 0)


def test_what_was_committed_is_told_with_its_receipt_for_ever_after() -> None:
    asked = Asked()
    granted = asked.claim(0)
    asked.commit(1, granted.fencing_token)
    again = asked.claim(1_000_000, holder="other")
    assert (again.answer, again.receipt, again.fencing_token) == (
        "ALREADY_COMMITTED", "receipt-1", granted.fencing_token,
    )  # fmt: skip
    assert again.committed_at == BEGIN + timedelta(seconds=1)


@pytest.mark.parametrize("committed", [True, False])
def test_another_content_under_the_same_key_is_a_conflict_and_never_a_confident_answer(*, committed: bool) -> None:
    asked = Asked()
    granted = asked.claim(0)
    if committed:
        asked.commit(1, granted.fencing_token)
    other = asked.claim(2, fingerprint="content-2")
    assert (other.answer, other.reason) == (EffectAnswer.ABSTAIN, EffectReason.FINGERPRINT_CONFLICT)
    assert other.fingerprint == "content-1", "what it was claimed for first"
    assert other.receipt == ("receipt-1" if committed else None)


def test_a_budget_is_spent_by_granted_claims_of_all_its_keys() -> None:
    asked = Asked()
    for number in range(2):
        key = KEY._replace(failure=f"failure-{number}")
        asked.say(0, "release", asked.claim(0, key, budget_limit=2).fencing_token, key)
    spent = asked.claim(1, budget_limit=2)
    assert (spent.answer, spent.budget_used, spent.budget_limit, spent.attempts) == ("BUDGET_SPENT", 2, 2, 0)
    assert asked.claim(1, KEY._replace(budget_key="other"), budget_limit=2).answer is EffectAnswer.GRANTED


def test_the_smallest_limit_that_anybody_stated_holds() -> None:
    asked = Asked()
    asked.claim(0, KEY._replace(failure="a"), budget_limit=5)
    asked.claim(0, KEY._replace(failure="a"), budget_limit=2, holder="other")
    assert asked.claim(0, KEY._replace(failure="b"), budget_limit=9).budget_limit == 2
    assert asked.claim(0, KEY._replace(failure="c")).answer is EffectAnswer.BUDGET_SPENT


def test_a_tenant_that_has_all_its_keys_is_full_and_others_are_not() -> None:
    asked = Asked(EffectRules(tenant_keys=2))
    for number in range(2):
        asked.claim(0, KEY._replace(failure=f"failure-{number}"))
    full = asked.claim(0, KEY._replace(failure="one-more"))
    assert (full.answer, full.reason, full.attempts) == ("ABSTAIN", "tenant_full", 0)
    assert asked.claim(0, KEY._replace(failure="failure-0"), holder="other").answer is EffectAnswer.HELD_BY_ANOTHER
    assert asked.claim(0, KEY._replace(tenant="beta")).answer is EffectAnswer.GRANTED


def test_a_partition_that_has_all_its_keys_is_full_for_everybody() -> None:
    asked = Asked(EffectRules(keys=1))
    asked.claim(0)
    full = asked.claim(0, KEY._replace(tenant="beta"))
    assert (full.answer, full.reason) == ("ABSTAIN", "ledger_full")


def test_a_request_of_a_kind_that_is_not_known_yet_is_abstained_from() -> None:
    decision = Asked().ask(0, "unknown_request")
    assert (decision.answer, decision.reason) == ("ABSTAIN", "unknown_request")
