"""Loss accounting by explicit accounts."""

from typing import Any

from tests.unit.streams.ledger.emitting import T0, Life

from unmask.streams.ledger.accounting import losses_between, read_account, stretch_cause


def _account(*accounts: dict[str, Any]) -> dict[str, Any]:
    batch = Life().cut(T0)
    return batch | {"accounts": list(accounts)}


def test_an_account_is_what_was_recorded_less_what_was_dropped_and_the_events_held() -> None:
    life = Life()
    life.attempt(T0, 3)
    life.fallback(T0)
    life.drop("route_attempt", 2)
    shipped, dropped, events = read_account(life.cut(T0))
    assert shipped == {"route_attempt": 3, "kernel_fallback": 1}
    assert dropped == {"route_attempt": {"buffer_full": 2}}
    assert events == {"route_attempt": 3, "kernel_fallback": 1}


def test_a_family_that_this_reader_does_not_know_is_left_out() -> None:
    batch = _account({"family": "unknown_family", "recorded": 9, "dropped": []})
    assert read_account(batch) == ({}, {}, {})


def test_causes_that_this_reader_does_not_know_are_added_up() -> None:
    unknown = [{"cause": "unknown_cause", "count": 2}, {"cause": "unknown_cause", "count": 3}]
    shipped, dropped, _ = read_account(_account({"family": "route_attempt", "recorded": 9, "dropped": unknown}))
    assert (shipped, dropped) == ({"route_attempt": 4}, {"route_attempt": {"unknown_cause": 5}})


def test_causes_with_a_count_of_zero_are_no_drops() -> None:
    zero = [{"cause": "buffer_full", "count": 0}]
    assert read_account(_account({"family": "masked_error", "recorded": 1, "dropped": zero}))[1] == {}


def test_equal_points_of_an_account_lack_nothing() -> None:
    assert losses_between({"route_attempt": 5}, {}, {"route_attempt": 5}, {}) == []
    assert losses_between({}, {}, {"route_attempt": 0}, {}) == []


def test_what_was_shipped_between_two_points_and_not_received_is_missing() -> None:
    losses = losses_between({"route_attempt": 5}, {}, {"route_attempt": 9, "masked_error": 1}, {})
    assert losses == [
        {"family": "route_attempt", "missing": 4, "dropped": []},
        {"family": "masked_error", "missing": 1, "dropped": []},
    ]


def test_what_was_dropped_between_two_points_is_told_by_cause() -> None:
    losses = losses_between({}, {"route_attempt": {"buffer_full": 1}}, {}, {"route_attempt": {"buffer_full": 4}})
    assert losses == [{"family": "route_attempt", "missing": 0, "dropped": [{"cause": "buffer_full", "count": 3}]}]


def test_more_received_than_recorded_is_a_loss_of_proof_too() -> None:
    losses = losses_between({"route_attempt": 5}, {}, {"route_attempt": 3}, {})
    assert losses == [{"family": "route_attempt", "missing": -2, "dropped": []}]
    assert stretch_cause(1, 2, losses) == "miscount"


def test_a_batch_given_up_after_later_ones_were_cut_is_missing_where_it_was_and_nowhere_else() -> None:
    life = Life()
    first = read_account(life.cut(T0))
    life.attempt(T0 + 1, 4)
    given_up = life.cut(T0 + 1)
    life.attempt(T0 + 2)
    third = read_account(life.cut(T0 + 2))
    life.give_up(given_up)
    life.attempt(T0 + 3)
    fourth = read_account(life.cut(T0 + 3))

    def between(earlier: Any, later: Any) -> Any:
        began = {family: n - later[2].get(family, 0) for family, n in later[0].items()}
        return losses_between(earlier[0], earlier[1], began, later[1])

    assert between(first, third) == [{"family": "route_attempt", "missing": 4, "dropped": []}]
    assert between(third, fourth) == []


def test_the_cause_of_a_stretch_is_a_gap_where_batches_are_missing_with_events() -> None:
    missing = [{"family": "route_attempt", "missing": 1, "dropped": []}]
    dropped = [{"family": "route_attempt", "missing": 0, "dropped": [{"cause": "buffer_full", "count": 1}]}]
    assert stretch_cause(1, 3, missing) == "gap"
    assert stretch_cause(1, 2, missing) == "miscount"
    assert stretch_cause(1, 3, dropped) == "dropped"
    assert stretch_cause(1, 2, dropped) == "dropped"
