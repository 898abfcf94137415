"""The breaker's steps: changes, trips that were false, doubts about signals, and what they leave behind."""

import pytest

from unmask.schemas.breaker import AbstainReason, BreakerAnswer, BreakerState, BrokenBreakerState, Step, advance

_MOVES = frozenset({"tree", "tests"})


def _after(state: BreakerState, *steps: Step, moves: frozenset[str] = _MOVES) -> BreakerState:
    for step in steps:
        state, _ = advance(state, step, moves)
    return state


def _call(state: object = None, **fields: object) -> Step:
    said: dict[str, object] = {
        "outcome": "succeeded", "signal": "tree", "state_digest": None if state is None else f"s-{state}",
        "delegation_id": "d-1",
    }  # fmt: skip
    return Step(**(said | fields))  # type: ignore[arg-type]


def _tripped(limit: int = 2) -> BreakerState:
    state = _after(BreakerState(limit=limit), *[_call("a")] * (limit + 1))
    assert state.tripped
    return state


def test_progress_after_a_trip_closes_the_breaker_and_makes_the_trip_a_false_one() -> None:
    state = _after(_tripped(), _call("b"))
    assert (state.tripped, state.trips, state.false_trips, state.unchanged) == (False, 1, 1, 0)
    assert state.advice.answer is BreakerAnswer.CONTINUE
    state = _after(state, _call("b"), _call("a"))
    assert (state.trips, state.false_trips, state.first_trip_call) == (2, 1, 3)


def test_a_failed_call_that_changed_something_is_progress_too() -> None:
    assert _after(_tripped(), _call("b", outcome="failed")).false_trips == 1


def test_a_state_that_was_seen_before_is_no_change() -> None:
    state = _after(BreakerState(limit=3), _call("a"), _call("b"), _call("a"), _call("b"), _call("a"))
    assert state.tripped


def test_more_states_than_are_remembered_look_new_when_they_come_round() -> None:
    cycle = [_call(n) for n in range(5)]
    assert _after(BreakerState(limit=3, memory=5), *cycle * 4).tripped
    assert _after(BreakerState(limit=3, memory=4), *cycle * 4).trips == 0


def test_a_state_that_comes_often_is_not_the_one_that_is_forgotten() -> None:
    state = _after(BreakerState(limit=9, memory=2), _call("home"), _call(1), _call("home"), _call(2), _call("home"))
    assert state.unchanged == 1
    assert _after(state, _call(1)).unchanged == 0


def test_without_a_digest_the_breaker_abstains() -> None:
    for step in (_call(), _call("a", signal=None)):
        state = _after(BreakerState(), step)
        assert state.advice.doubt is AbstainReason.NO_SIGNAL
        assert state.doubts == ((AbstainReason.NO_SIGNAL, 1),)


def test_a_signal_of_another_delegation_decides_nothing_and_moves_nothing() -> None:
    state = _after(BreakerState(limit=1), *[_call(n, subject="d-2") for n in range(9)], moves=frozenset())
    assert state.doubts == ((AbstainReason.FOREIGN_SIGNAL, 9),)
    assert state.moved == ()
    assert _after(state, _call("a"), _call("a"), moves=frozenset()).advice.doubt is AbstainReason.NEVER_SEEN_TO_MOVE


def test_a_signal_that_names_the_delegation_itself_is_not_foreign() -> None:
    assert _after(BreakerState(limit=1), *[_call("a", subject="d-1")] * 2).tripped


def test_a_signal_that_differs_under_identical_conditions_may_not_decide_any_more() -> None:
    look = _call("a", conditions="c", reading=True)
    state = _after(BreakerState(limit=2), look, _call("b", conditions="c", reading=True))
    assert state.advice.doubt is AbstainReason.UNSTABLE_SIGNAL
    assert state.moved == ()
    state = _after(state, *[_call("b")] * 5)
    assert state.doubts == ((AbstainReason.UNSTABLE_SIGNAL, 5),)
    assert state.trips == 0


def test_a_refused_call_is_nothing_done_and_a_failed_one_is_something() -> None:
    refused = _call("b", conditions="c", outcome="refused")
    assert _after(BreakerState(), _call("a", conditions="c"), refused).advice.doubt is AbstainReason.UNSTABLE_SIGNAL
    between = _call(outcome="failed")
    assert _after(BreakerState(), _call("a", conditions="c"), between, refused).advice.doubt is None


def test_a_delegation_that_works_is_not_called_unstable_for_the_same_conditions() -> None:
    """Its calls are what changes the state: the conditions are everything else."""
    state = _after(BreakerState(), *[_call(n, conditions="commit-1") for n in range(50)])
    assert state.doubts == ()
    assert state.moved == ("tree",)


def test_readings_under_other_or_unstated_conditions_are_not_held_against_a_signal() -> None:
    state = _after(BreakerState(), _call("a", reading=True), _call("b", reading=True))
    state = _after(state, _call("c", conditions="c1", reading=True), _call("d", conditions="c2", reading=True))
    assert state.advice.doubt is None
    # The first of these conditions is still remembered: nothing was done since.
    assert _after(state, _call("d", conditions="c1", reading=True)).advice.doubt is AbstainReason.UNSTABLE_SIGNAL


def test_one_digest_for_two_measures_is_named_and_decides_nothing() -> None:
    state = _after(BreakerState(limit=2), _call("a", measure=5), _call("b", measure=5), _call("a", measure=4))
    assert state.advice.doubt is AbstainReason.INDISTINCT_SIGNAL
    assert state.indistinct == ("tree",)
    assert _after(state, *[_call("a", measure=4)] * 9).trips == 0


def test_a_measure_that_is_stated_only_now_and_then_is_remembered() -> None:
    state = _after(BreakerState(), _call("a"), _call("a", measure=5), _call("a"))
    assert state.advice.doubt is None
    assert _after(state, _call("a", measure=6)).indistinct == ("tree",)


def test_a_trip_by_a_signal_that_then_proves_inadequate_is_withdrawn_and_not_called_false() -> None:
    state = _after(_tripped(), _call("a", measure=1), _call("a", measure=2))
    assert (state.tripped, state.trips, state.false_trips, state.withdrawn) == (False, 1, 0, 1)
    assert state.advice.answer is BreakerAnswer.ABSTAIN


def test_what_proves_nothing_leaves_the_breaker_open_and_is_counted() -> None:
    state = _after(_tripped(), _call(), _call("z", subject="d-2"))
    assert state.advice.answer is BreakerAnswer.TRIPPED
    assert dict(state.doubts) == {AbstainReason.NO_SIGNAL: 1, AbstainReason.FOREIGN_SIGNAL: 1}


def test_a_refused_call_without_a_state_is_nothing_to_judge() -> None:
    state = _tripped()
    after, advice = advance(state, _call(outcome="refused"))
    assert after == state
    assert advice == state.advice


def test_progress_by_one_signal_counts_for_all_and_a_first_look_at_another_is_none() -> None:
    state = _after(BreakerState(limit=2), _call("a"), _call("a"), _call("t1", signal="tests"))
    assert state.unchanged == 1
    state = _after(state, _call("t2", signal="tests"))
    assert state.unchanged == 0
    state = _after(state, *[_call("a"), _call("t2", signal="tests")] * 2)
    assert state.tripped_by == "tree"


def test_knowledge_that_a_signal_moves_is_kept_and_counts_what_was_counted_before() -> None:
    still = _after(BreakerState(limit=3), *[_call("a")] * 10, moves=frozenset())
    assert still.advice.doubt is AbstainReason.NEVER_SEEN_TO_MOVE
    known = _after(still, _call("a"))
    assert known.tripped
    assert _after(known, _call("b"), *[_call("b")] * 3, moves=frozenset()).trips == 2


def test_a_ninth_signal_is_not_followed_and_so_never_decides() -> None:
    state = _after(BreakerState(limit=1), *[_call("a", signal=f"signal-{n}") for n in range(8)])
    state = _after(state, *[_call(n, signal="tests") for n in range(3)])
    assert state.doubts[-1] == (AbstainReason.NEVER_SEEN_TO_MOVE, 11)
    assert len(state.tracks) == 8


def test_a_step_is_read_from_a_record() -> None:
    record = {
        "delegation_id": "d-1", "session_id": "s", "invocation_id": "i", "occurred_at": 0, "step": 1, "turn": 0,
        "outcome": "failed", "attempt": 1, "tokens": 3, "signal": "tree", "state_digest": "x", "conditions": "c",
        "subject": None, "measure": 4, "declared_scope": None, "budget_calls": None, "budget_tokens": None,
        "budget_attempts": None,
    }  # fmt: skip
    assert Step.of(record) == Step("failed", "tree", "x", "c", None, 4, "d-1")


@pytest.mark.parametrize(
    "broken",
    [{"states": 7}, {"tracks": [["only-a-name"]]}, {"doubts": {"no_such": 1}}, {"answer": "MAYBE"}, {"limit": 0}],
)
def test_what_is_no_state_is_refused_by_name(broken: dict[str, object]) -> None:
    with pytest.raises(BrokenBreakerState):
        BreakerState.from_json(broken)


def test_a_new_breaker_is_an_empty_value() -> None:
    assert BreakerState().to_json() == {}
    assert BreakerState.from_json({}) == BreakerState()
    with pytest.raises(ValueError, match="1 at least"):
        BreakerState(limit=0)
