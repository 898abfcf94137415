"""A delegation that several source partitions know of: what they tell of it together."""

from typing import Any

import pytest
from tests.session_parts import commit, delegation, refusal
from tests.table_records import at, session_tally

from unmask.schemas.breaker import Budget, Spent
from unmask.streams.verdict import Delegation, merge_tallies


def merged(*tallies: dict[str, Any]) -> Delegation:
    """The same delegation, each tally from a source partition of its own."""
    parts = [session_tally(partition=number, delegations=[tally]) for number, tally in enumerate(tallies)]
    (found,) = merge_tallies(parts).delegations
    return found


def later(**parts: Any) -> dict[str, Any]:
    return delegation(last_step_at=at(5), invocations=[{"invocation_id": "i2", "emitter_id": "e2"}], **parts)


def test_what_was_spent_is_added_and_the_least_budget_holds() -> None:
    found = merged(
        delegation(calls=10, tokens=100, highest_attempt=2, budget_calls=40, budget_tokens=None),
        later(calls=7, tokens=50, highest_attempt=1, budget_calls=15, budget_tokens=140),
    )
    assert found.spent == Spent(17, 150, 2)
    assert found.budget == Budget(15, 140, None)
    assert found.last_step_at == at(5)


def test_refusals_doubts_and_trips_are_added_and_the_longest_standstill_stays() -> None:
    found = merged(
        delegation(
            refusals=[refusal("gate", 3, 1), refusal("effects", 1)], trips=1, false_trips=1, longest_unchanged=9,
            first_trip_call=8, doubts=[{"doubt": "no_signal", "count": 2}],
        ),
        later(
            refusals=[refusal("gate", 2, 1, 1)], trips=1, longest_unchanged=3, unchanged=3, first_trip_call=20,
            doubts=[{"doubt": "no_signal", "count": 1}],
        ),
    )  # fmt: skip
    gate = found.refusals["gate"]
    assert (gate.count, gate.appealed, gate.vindicated) == (5, 2, 1)
    assert found.refused == 6
    assert (found.trips, found.false_trips, found.first_trip_call) == (2, 1, 8)
    assert (found.unchanged, found.longest_unchanged) == (3, 9)
    assert found.doubts == {"no_signal": 3}


def test_one_invocation_that_emitters_of_two_partitions_tell_of_is_an_identity_that_two_claim() -> None:
    one = {"invocation_id": "i1", "emitter_id": "e1"}
    other = {"invocation_id": "i1", "emitter_id": "e2"}
    assert merged(delegation(invocations=[one]), delegation(invocations=[other])).identity_conflicts == 1
    # The same emitter is no other life, and another invocation is none of the first.
    assert merged(delegation(invocations=[one]), delegation(invocations=[one])).identity_conflicts == 0
    assert merged(delegation(invocations=[one]), later()).identity_conflicts == 0


@pytest.mark.parametrize(
    ("first", "second", "repeated"),
    [
        (commit("k", 1, "r1"), commit("k", 2, "r1"), 1),
        (commit("k", 1, "r1"), commit("k", 1, "r2"), 1),
        (commit("k", 1, "r1"), commit("k", 1, "r1"), 0),
        (commit("k", 1, "r1"), commit("k", 1, None), 0),
        (commit("k", 1, None), commit("k", 2, None), 1),
        (commit("k", 1, "r1"), commit("other", 2, "r2"), 0),
    ],
    ids=["other token", "other receipt", "told twice", "told without receipt", "no receipts", "other effect"],
)
def test_an_effect_that_two_partitions_committed_was_made_once_only_if_token_and_receipt_agree(
    first: dict[str, Any], second: dict[str, Any], repeated: int
) -> None:
    found = merged(delegation(commits=[first], committed=1), later(commits=[second], committed=1))
    assert found.repeated_commits == repeated


def test_what_a_partition_found_to_be_repeated_is_not_counted_again() -> None:
    both = [commit("k", 1), commit("k", 2)]
    found = merged(delegation(commits=both, committed=2, repeated_commits=1), later(commits=both, committed=2))
    assert found.repeated_commits == 1


def test_an_effect_that_two_delegations_committed_is_a_double_of_both() -> None:
    parts = [
        session_tally(
            delegations=[
                delegation("d1", commits=[commit("k", 1)]),
                delegation("d2", commits=[commit("k", 2, "r2")]),
                delegation("d3", commits=[commit("other", 3)]),
            ]
        )
    ]
    assert {known.delegation_id: known.repeated_commits for known in merge_tallies(parts).delegations} == {
        "d1": 1, "d2": 1, "d3": 0,
    }  # fmt: skip


def test_a_trip_stands_until_a_later_partition_has_seen_progress() -> None:
    stuck = delegation(tripped=True, trips=1, unchanged=8, longest_unchanged=8)
    assert merged(stuck, later(calls=5, succeeded=5)).tripped is False
    # A beginning, a standstill, doubted calls, an inadequate signal, or what was earlier: none of it is progress.
    assert merged(stuck, later(calls=1, succeeded=1)).tripped is True
    assert merged(stuck, later(calls=5, succeeded=5, unchanged=4)).tripped is True
    doubted = [{"doubt": "never_seen_to_move", "count": 4}]
    assert merged(stuck, later(calls=5, succeeded=5, doubts=doubted)).tripped is True
    unstable = [{"doubt": "unstable_signal", "count": 1}]
    assert merged(stuck, later(calls=9, succeeded=9, doubts=unstable)).tripped is True
    assert merged(stuck, delegation(calls=5, succeeded=5, last_step_at=at(3))).tripped is True


def test_blocked_turns_are_added_while_nowhere_a_write_was_accepted() -> None:
    blocked = delegation(blocked_turns=12, longest_blocked=12)
    assert merged(blocked, later(blocked_turns=9, longest_blocked=9)).blocked_turns == 21
    found = merged(blocked, later(blocked_turns=9, longest_blocked=9, committed=1))
    assert (found.blocked_turns, found.longest_blocked) == (12, 12)


def test_delegations_come_in_the_order_of_their_names() -> None:
    parts = [session_tally(delegations=[delegation("b")]), session_tally(partition=1, delegations=[delegation("a")])]
    assert [known.delegation_id for known in merge_tallies(parts).delegations] == ["a", "b"]
