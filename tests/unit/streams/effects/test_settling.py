"""Commits, releases, renewals and the end of leases."""

from datetime import timedelta

import pytest
from tests.unit.streams.effects.asking import KEY, Asked

from unmask.schemas.instants import from_micros
from unmask.schemas.testing import SAMPLE_INSTANT

BEGIN = from_micros(SAMPLE_INSTANT)


def test_a_commit_within_its_lease_is_on_record_with_its_receipt() -> None:
    asked = Asked()
    committed = asked.commit(9.9, asked.claim(0).fencing_token)
    assert (committed.answer, committed.receipt) == ("COMMITTED", "receipt-1")
    assert committed.committed_at == BEGIN + timedelta(seconds=9.9)


def test_the_same_commit_again_is_the_same_answer_also_after_the_lease() -> None:
    asked = Asked()
    token = asked.claim(0).fencing_token
    first = asked.commit(1, token)
    again = asked.commit(99, token)
    assert (again.answer, again.committed_at) == ("COMMITTED", first.committed_at)


def test_two_receipts_under_one_grant_are_told_apart() -> None:
    asked = Asked()
    token = asked.claim(0).fencing_token
    asked.commit(1, token)
    other = asked.commit(2, token, "receipt-2")
    assert (other.answer, other.reason, other.receipt) == ("ALREADY_COMMITTED", "receipt_conflict", "receipt-1")


def test_a_commit_at_the_very_end_of_its_lease_is_too_late_though_nobody_asked_since() -> None:
    asked = Asked()
    late = asked.commit(10, asked.claim(0).fencing_token)
    assert (late.answer, late.reason, late.receipt) == ("FENCED", "lease_over", None)
    assert (late.unsettled, late.late_receipt) == (1, "receipt-1")


def test_a_paused_holder_is_fenced_after_another_one_has_the_lease_and_its_receipt_is_told_to_whoever_comes() -> None:
    asked = Asked()
    old = asked.claim(0).fencing_token
    new = asked.claim(11, holder="other").fencing_token
    late = asked.commit(12, old, "made-twice")
    assert (late.answer, late.reason) == ("FENCED", "not_the_holder")
    asked.say(13, "release", new)
    assert asked.claim(14).late_receipt == "made-twice"


def test_a_paused_holder_is_fenced_after_another_one_committed() -> None:
    asked = Asked()
    old = asked.claim(0).fencing_token
    asked.commit(12, asked.claim(11, holder="other").fencing_token, "receipt-2")
    late = asked.commit(13, old)
    assert (late.answer, late.reason, late.receipt, late.late_receipt) == (
        "FENCED", "not_the_holder", "receipt-2", None,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["commit", "release", "renew"])
def test_nothing_can_be_said_of_a_key_that_nobody_claimed(kind: str) -> None:
    decision = Asked().say(0, kind, 7, receipt="r", lease_ms=1)
    assert (decision.answer, decision.reason, decision.fencing_token) == ("FENCED", "unknown_key", 7)


def test_a_release_frees_the_key_at_once_and_may_be_said_again() -> None:
    asked = Asked()
    token = asked.claim(0).fencing_token
    assert asked.say(1, "release", token).answer == "RELEASED"
    assert asked.say(2, "release", token).answer == "RELEASED"
    assert asked.commit(3, token).answer == "FENCED", "who released it cannot commit"
    assert asked.claim(4, holder="other").answer == "GRANTED"
    assert asked.say(5, "release", token).reason == "not_the_holder"


def test_a_release_after_the_lease_changes_nothing() -> None:
    asked = Asked()
    late = asked.say(10, "release", asked.claim(0).fencing_token)
    assert (late.answer, late.reason, late.unsettled) == ("FENCED", "lease_over", 1)


def test_a_renewal_counts_from_the_brokers_time_and_never_shortens() -> None:
    asked = Asked()
    token = asked.claim(0).fencing_token
    longer = asked.say(8, "renew", token, lease_ms=10_000)
    assert (longer.answer, longer.lease_until) == ("RENEWED", BEGIN + timedelta(seconds=18))
    assert asked.say(9, "renew", token, lease_ms=1).lease_until == BEGIN + timedelta(seconds=18)
    assert asked.commit(17, token).answer == "COMMITTED"


@pytest.mark.parametrize("kind", ["release", "renew"])
def test_what_is_committed_is_neither_released_nor_renewed(kind: str) -> None:
    asked = Asked()
    token = asked.claim(0).fencing_token
    asked.commit(1, token)
    decision = asked.say(2, kind, token, lease_ms=1)
    assert (decision.answer, decision.receipt) == ("ALREADY_COMMITTED", "receipt-1")


def test_a_lease_ends_by_the_time_of_the_request_that_asks_for_its_end() -> None:
    asked = Asked()
    token = asked.claim(0).fencing_token
    early = asked.say(9.999, "expire", token)
    assert (early.answer, early.reason, early.unsettled) == ("ABSTAIN", "not_due", 0)
    over = asked.say(10, "expire", token)
    assert (over.answer, over.unsettled, over.lease_until) == ("EXPIRED", 1, BEGIN + timedelta(seconds=10))
    assert asked.say(11, "expire", token).unsettled == 1, "it ends once"
    assert asked.commit(12, token).answer == "FENCED"


def test_what_was_settled_or_followed_has_no_end_any_more() -> None:
    asked = Asked()
    first = asked.claim(0).fencing_token
    second = asked.claim(11, holder="other").fencing_token
    assert asked.say(12, "expire", first).reason == "nothing_held"
    asked.commit(13, second)
    assert asked.say(99, "expire", second).reason == "nothing_held"
    assert asked.say(99, "expire", 1, KEY._replace(failure="never-claimed")).reason == "nothing_held"


def test_the_brokers_time_of_a_partition_never_goes_back() -> None:
    asked = Asked()
    token = asked.claim(0).fencing_token
    asked.claim(10, KEY._replace(failure="another"))
    late = asked.commit(1, token)
    assert (late.answer, late.decided_at) == ("FENCED", BEGIN + timedelta(seconds=10))
