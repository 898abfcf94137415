"""What may take the place of a verdict: whoever knows more, and never somebody who merely knows less."""

from typing import Any

import pytest
from tests.session_parts import delegation
from tests.table_records import masked, session_tally, teardown

from unmask.streams.tables.standing_verdict import StandingVerdict, may_replace, next_sequence
from unmask.streams.verdict import adjudicate

NAMES = ["a", "b"]


def judged(*tallies: dict[str, Any]) -> StandingVerdict:
    found = adjudicate(tallies, threshold=0.05, accounts={0: 1 << 60, 1: 1 << 60})
    assert found is not None
    return StandingVerdict.of(found)


def clean(offset: int = 10, partition: int = 0) -> dict[str, Any]:
    emitter = f"e{partition}"
    return session_tally(
        partition=partition, offset=offset, emitters=[emitter], teardowns=[teardown(40, emitter=emitter)]
    )


def degraded(offset: int = 10, partition: int = 0) -> dict[str, Any]:
    errors = [masked(name) for name in NAMES]
    return clean(offset, partition) | {
        "degraded_operations": NAMES, "degraded_operations_total": 2, "masked": errors, "masked_errors": 2,
        "unreachable": 2, "not_equivalent": 2,
    }  # fmt: skip


def test_what_says_the_same_replaces_nothing() -> None:
    assert not may_replace(judged(clean()), judged(clean(offset=99)))


def test_whoever_has_read_further_may_make_it_worse_and_may_heal_it() -> None:
    assert may_replace(judged(clean(10)), judged(degraded(20)))
    lossy = clean(10) | {"evidence": "LOSSY"}
    assert may_replace(judged(lossy), judged(clean(20)))


def test_a_clean_verdict_never_takes_the_place_of_a_degraded_one_that_it_knows_less_than() -> None:
    """One partition has given the session up, and what is left of it looks clean."""
    standing = judged(clean(10, partition=0), degraded(10, partition=1))
    assert not may_replace(standing, judged(clean(5000, partition=0)))


def test_what_is_left_may_still_make_it_worse() -> None:
    standing = judged(clean(10, partition=0), degraded(10, partition=1))
    failed = clean(5000) | {"teardowns": [teardown(40, outcome="failure")]}
    assert may_replace(standing, judged(failed))


def test_an_older_judgement_replaces_nothing_however_bad_it_is() -> None:
    assert not may_replace(judged(clean(20)), judged(degraded(10)))


@pytest.mark.parametrize("gone", ["count", "outcome"])
def test_what_was_once_counted_or_said_cannot_be_unsaid_by_reading_further(gone: str) -> None:
    failed = clean(10) | {"teardowns": [teardown(40, outcome="failure")]}
    standing = judged(degraded(10)) if gone == "count" else judged(failed)
    assert not may_replace(standing, judged(clean(20)))


@pytest.mark.parametrize(
    "found",
    [{"repeated_commits": 1}, {"identity_conflicts": 1}, {"budget_calls": 1}],
    ids=["made twice", "claimed by two", "overspent"],
)
def test_what_cannot_be_undone_is_not_taken_back_by_a_snapshot_that_keeps_less_of_it(found: dict[str, Any]) -> None:
    standing = judged(clean(10) | {"delegations": [delegation(**found)]})
    assert not may_replace(standing, judged(clean(20)))
    assert may_replace(judged(clean(10)), judged(clean(20) | {"delegations": [delegation(**found)]}))


def test_a_stall_that_is_over_is_taken_back() -> None:
    standing = judged(clean(10) | {"delegations": [delegation(tripped=True, trips=1)]})
    assert may_replace(standing, judged(clean(20) | {"delegations": [delegation(trips=1, false_trips=1)]}))


def test_a_session_that_was_given_up_and_then_ended_well_is_cleared() -> None:
    abandoned = session_tally(offset=10, emitters=["e0"], abandoned_at=session_tally()["last_seen_at"])
    assert may_replace(judged(abandoned), judged(clean(20)))


def test_numbers_begin_at_the_clock_and_then_count() -> None:
    assert next_sequence(None, 1_000) == 1_000
    found = adjudicate([clean()], threshold=0.05)
    assert found is not None
    standing = StandingVerdict.of({**found, "sequence": 41})
    # Not at the clock: a worker that wakes after an hour must not number beyond whoever took its place.
    assert next_sequence(standing, 1_000) == 42
