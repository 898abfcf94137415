"""What is found of a delegation, each rule with what just misses it."""

from typing import Any

from tests.session_parts import delegation, refusal
from tests.table_records import session_tally

from unmask.schemas.codes import Finding
from unmask.streams.verdict import merge_tallies
from unmask.streams.verdict.delegation_rules import BLOCKED_TURNS, delegation_findings


def found(**parts: Any) -> list[str]:
    (known,) = merge_tallies([session_tally(delegations=[delegation(**parts)])]).delegations
    return [str(finding) for finding in delegation_findings(known)]


def doubts(**counts: int) -> list[dict[str, Any]]:
    return [{"doubt": doubt, "count": count} for doubt, count in counts.items()]


def test_of_a_delegation_that_makes_progress_nothing_is_found() -> None:
    assert found() == []


def test_a_breaker_that_stands_open_is_a_stall() -> None:
    assert found(tripped=True, trips=1, unchanged=54, longest_unchanged=54) == ["STALLED_DELEGATION"]


def test_a_false_trip_and_a_withdrawn_one_are_no_stalls() -> None:
    assert found(trips=1, false_trips=1, longest_unchanged=8) == []
    assert found(trips=1, longest_unchanged=8, doubts=doubts(unstable_signal=1)) == ["INADEQUATE_SIGNAL"]


def test_a_budget_that_is_spent_to_the_last_is_not_exceeded() -> None:
    assert found(calls=10, budget_calls=10, tokens=100, budget_tokens=100, highest_attempt=3, budget_attempts=3) == []
    assert found(calls=11, budget_calls=10) == ["BUDGET_EXCEEDED"]
    assert found(tokens=101, budget_tokens=100) == ["BUDGET_EXCEEDED"]
    assert found(highest_attempt=4, budget_attempts=3) == ["BUDGET_EXCEEDED"]


def test_an_effect_that_was_made_twice() -> None:
    assert found(committed=2, repeated_commits=1) == ["DUPLICATE_EFFECT"]
    assert found(committed=2) == []


def test_a_signal_on_which_the_breaker_always_abstained_proves_nothing() -> None:
    assert found(calls=54, succeeded=54, doubts=doubts(never_seen_to_move=54)) == ["INADEQUATE_SIGNAL"]
    assert found(calls=8, succeeded=8, doubts=doubts(no_signal=5, foreign_signal=3)) == ["INADEQUATE_SIGNAL"]
    # It decided once, or it could not have tripped yet: every signal is in doubt until it has been seen to move.
    assert found(calls=54, succeeded=54, doubts=doubts(never_seen_to_move=53)) == []
    assert found(calls=7, succeeded=7, doubts=doubts(never_seen_to_move=7)) == []


def test_a_signal_that_was_wrong_once_proves_nothing() -> None:
    assert found(doubts=doubts(unstable_signal=1)) == ["INADEQUATE_SIGNAL"]
    assert found(doubts=doubts(indistinct_signal=1)) == ["INADEQUATE_SIGNAL"]
    assert found(doubts=doubts(foreign_signal=1)) == []


def test_an_invocation_that_two_emitters_claim() -> None:
    assert found(identity_conflicts=1) == ["IDENTITY_CONFLICT"]


def test_enforcement_is_what_is_wrong_from_twenty_turns_without_an_accepted_write_on() -> None:
    assert BLOCKED_TURNS == 20
    refused = [refusal("effects", 107)]
    assert found(blocked_turns=19, longest_blocked=19, refusals=refused) == []
    assert found(blocked_turns=20, longest_blocked=20, refusals=refused) == ["ENFORCEMENT_BLOCKED"]
    # What was so stays in the verdict, also after a write got through.
    assert found(blocked_turns=0, longest_blocked=107, committed=1, refusals=refused) == ["ENFORCEMENT_BLOCKED"]


def test_findings_come_in_the_order_of_the_enum() -> None:
    everything = found(
        tripped=True, trips=1, calls=20, budget_calls=1, repeated_commits=1, doubts=doubts(indistinct_signal=1),
        identity_conflicts=1, longest_blocked=20,
    )  # fmt: skip
    order = list(Finding)
    assert everything == sorted(everything, key=lambda name: order.index(Finding(name)))
    assert len(everything) == 6
