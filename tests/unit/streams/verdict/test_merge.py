"""A session that several emitters speak of: what is known of it together, and when that is all."""

from typing import Any

import pytest
from tests.table_records import at, masked, session_tally, teardown

from unmask.schemas.codes import Evidence
from unmask.streams.verdict import adjudicate, merge_tallies


def ended(**parts: Any) -> dict[str, Any]:
    """Torn down by e2 on partition 1, at minute 5."""
    return session_tally(**{"partition": 1, "emitters": ["e2"], "teardowns": [teardown(10, emitter="e2")], **parts})


def began(**parts: Any) -> dict[str, Any]:
    """Begun by e1 on partition 0, last seen at minute 2."""
    return session_tally(**{"last_seen_at": at(2), **parts})


def verdict(*tallies: dict[str, Any], accounts: dict[int, int] | None = None) -> tuple[str, str]:
    found = adjudicate(tallies, threshold=0.05, accounts=accounts)
    assert found is not None
    return found["verdict"], found["evidence"]


def test_whoever_ended_a_session_alone_owes_nothing() -> None:
    assert verdict(ended()) == ("CLEAN_SUCCESS", "COMPLETE")


def test_a_session_that_was_resumed_elsewhere_is_open_until_its_first_host_has_accounted_for_its_time() -> None:
    """Its masked errors may still be on their way: until then a clean end proves nothing."""
    assert verdict(began(), ended()) == ("DEGRADED_SUCCESS", "PENDING")
    assert verdict(began(), ended(), accounts={0: at(5) - 1, 1: at(9)}) == ("DEGRADED_SUCCESS", "PENDING")
    assert verdict(began(), ended(), accounts={0: at(5)}) == ("CLEAN_SUCCESS", "COMPLETE")


def test_so_it_is_where_both_hosts_write_to_one_partition() -> None:
    both = ended(emitters=["e1", "e2"])
    assert verdict(both) == ("DEGRADED_SUCCESS", "PENDING")
    assert verdict(both, accounts={1: at(5)}) == ("CLEAN_SUCCESS", "COMPLETE")


def test_two_hosts_that_both_ended_it_owe_nothing() -> None:
    assert verdict(began(teardowns=[teardown(10, minute=2)]), ended()) == ("CLEAN_SUCCESS", "COMPLETE")


def test_a_host_that_left_after_the_end_had_accounted_for_all_of_it() -> None:
    assert verdict(began(abandoned_at=at(5)), ended()) == ("CLEAN_SUCCESS", "COMPLETE")


def test_a_host_that_fell_silent_before_the_end_leaves_a_doubt() -> None:
    assert verdict(began(abandoned_at=at(5) - 1), ended()) == ("DEGRADED_SUCCESS", "LOSSY")


def test_a_session_that_goes_on_where_nobody_ended_it_is_open_whoever_accounted_for_what() -> None:
    assert verdict(began(last_seen_at=at(6)), ended(), accounts={0: at(9)}) == ("DEGRADED_SUCCESS", "PENDING")


def test_an_event_that_came_after_the_end_on_the_ender_s_own_emitter_keeps_nothing_open() -> None:
    assert verdict(ended(last_seen_at=at(6))) == ("CLEAN_SUCCESS", "COMPLETE")


def test_what_is_lost_is_worse_than_what_is_still_to_come() -> None:
    assert merge_tallies([began(evidence="LOSSY"), ended()]).evidence is Evidence.LOSSY


def test_a_failure_is_one_at_once_whatever_is_still_to_come() -> None:
    failed = ended(teardowns=[teardown(10, emitter="e2", outcome="failure")])
    assert verdict(began(), failed) == ("HARD_FAILURE", "PENDING")


def test_each_host_counts_what_it_did_itself_and_that_is_no_contradiction() -> None:
    first = began(teardowns=[teardown(100, 5, minute=2)], degraded=[f"a{n}" for n in range(5)], masked_errors=5)
    found = adjudicate([first, ended()], threshold=0.05)
    assert found is not None
    assert (found["operations"], found["degraded_operations"]) == (110, 5)
    assert found["contradictions"] == []
    assert found["above_threshold"] is False


@pytest.mark.parametrize("outcome", ["failure", "unknown_outcome"])
def test_two_hosts_that_do_not_agree_on_the_outcome_contradict_each_other_and_the_worse_word_stands(
    outcome: str,
) -> None:
    first = began(teardowns=[teardown(10, minute=2, outcome=outcome)])
    found = adjudicate([first, ended()], threshold=0.05)
    assert found is not None
    assert (found["verdict"], found["contradictions"]) == ("HARD_FAILURE", ["teardowns_disagree"])


def test_one_operation_that_two_hosts_name_is_one_and_what_no_list_names_is_added() -> None:
    first = began(degraded=["a", "b"], degraded_operations_total=1500)
    second = ended(degraded=["b", "c"], degraded_operations_total=2)
    assert merge_tallies([first, second]).degraded_operations == 3 + 1498


def test_emitters_and_inherited_sessions_are_listed_up_to_a_bound_and_the_rest_counted() -> None:
    from unmask.schemas.codes import Directive
    from unmask.streams.verdict import Obligation

    left = Obligation("s0", Directive.RE_FETCH_FROM_PRIMARY, tuple(f"p{n}" for n in range(20)), 7)
    tally = ended(emitters=[f"e{n:03}" for n in range(100)])
    found = adjudicate([tally], threshold=0.05, obligations=[left])
    assert found is not None
    assert (len(found["emitters"]), found["emitters_cut"]) == (64, 36)
    assert (len(found["inherited_from"]), found["inherited_cut"]) == (16, 5 + 7)


def test_masked_errors_are_the_first_by_time_over_all_partitions() -> None:
    first = began(masked=[masked("a", minute=3)])
    second = ended(masked=[masked("b", minute=1)])
    assert [m["operation_id"] for m in merge_tallies([first, second]).masked] == ["b", "a"]
