"""Published incidents, replayed: what the breaker says of each, and at which call."""

import json
from collections.abc import Iterable

import pytest

from unmask.schemas.breaker import AbstainReason, Advice, BreakerAnswer, BreakerState, Step, advance

_OK, _ERROR = "succeeded", "failed"


def _step(state: object, outcome: str = _OK, *, measure: int | None = None, signal: str = "tree") -> Step:
    return Step(outcome, signal, f"sha256-{state}", measure=measure, delegation_id="d-1")


def _replay(
    steps: Iterable[Step], breaker: BreakerState | None = None, seen_to_move: tuple[str, ...] = ()
) -> tuple[BreakerState, list[Advice]]:
    state, advices = breaker or BreakerState(), []
    for step in steps:
        state, advice = advance(state, step, seen_to_move)
        advices.append(advice)
    return state, advices


def _answers(advices: Iterable[Advice]) -> list[BreakerAnswer]:
    return [advice.answer for advice in advices]


def test_of_54_successful_calls_without_change_the_ninth_trips_where_the_signal_is_known_to_move() -> None:
    state, advices = _replay([_step("same")] * 54, seen_to_move=("tree",))
    # The first of them shows the state that the eight after it leave as it is.
    assert _answers(advices) == [BreakerAnswer.CONTINUE] * 8 + [BreakerAnswer.TRIPPED] * 46
    assert (state.calls, state.trips, state.first_trip_call, state.false_trips) == (54, 1, 9, 0)
    assert (state.unchanged, state.longest_unchanged) == (53, 53)


def test_54_successful_calls_without_change_trip_after_two_that_changed_something() -> None:
    state, advices = _replay([_step(1), _step(2), *[_step(2)] * 54])
    assert advices[0].doubt is AbstainReason.NEVER_SEEN_TO_MOVE
    assert _answers(advices).index(BreakerAnswer.TRIPPED) + 1 == state.first_trip_call == 10
    assert state.tripped


def test_with_a_reading_before_the_first_call_the_eighth_call_trips() -> None:
    before = Step(_OK, "tree", "sha256-same", delegation_id="d-1", reading=True)
    state, advices = _replay([before, *[_step("same")] * 54], seen_to_move=("tree",))
    assert state.first_trip_call == 8
    assert state.calls == 54
    assert advices[-1] == Advice(BreakerAnswer.TRIPPED, None, 54, 8)


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_a_signal_that_is_constant_by_construction_never_trips_not_in_round_three_and_not_in_round_300(
    limit: int,
) -> None:
    state, advices = _replay([_step("constant")] * 300, BreakerState(limit=limit))
    assert set(_answers(advices)) == {BreakerAnswer.ABSTAIN}
    assert {advice.doubt for advice in advices} == {AbstainReason.NEVER_SEEN_TO_MOVE}
    assert state.doubts == ((AbstainReason.NEVER_SEEN_TO_MOVE, 300),)
    assert state.trips == 0
    # What was counted is told all the same: a fact, and no verdict.
    assert state.longest_unchanged == 299


def test_a_repair_that_converges_from_five_failures_to_two_does_not_trip() -> None:
    failing = [5, 5, 4, 4, 4, 3, 3, 2, 2]
    state, advices = _replay([_step(f"failing-{n}", measure=n) for n in failing], seen_to_move=("tree",))
    assert set(_answers(advices)) == {BreakerAnswer.CONTINUE}
    assert state.trips == 0


def test_a_repair_that_converges_is_not_held_against_a_digest_of_names() -> None:
    """The names of the failing suites stay the same while their failures become fewer: the digest must not decide."""
    failing = [5, 4, 3, 2]
    state, advices = _replay(
        [_step("suites-a-b", measure=n) for n in failing], BreakerState(limit=3), seen_to_move=("tree",)
    )
    assert BreakerAnswer.TRIPPED not in _answers(advices)
    assert [advice.doubt for advice in advices] == [None, *[AbstainReason.INDISTINCT_SIGNAL] * 3]
    assert state.indistinct == ("tree",)
    assert state.moved == ()


def test_a_stuck_replay_trips_though_every_call_shows_another_state_than_the_last_one() -> None:
    """It goes through three old states again and again."""
    state, advices = _replay([_step(n % 3) for n in range(60)])
    assert _answers(advices).index(BreakerAnswer.TRIPPED) + 1 == state.first_trip_call == 11
    assert state.trips == 1


def test_a_stuck_replay_trips_whatever_fails_in_between() -> None:
    """Half of the calls fail: the error rate decides neither way."""
    steps = [_step(n % 2, _ERROR if n % 4 > 1 else _OK) for n in range(60)]
    state, _ = _replay(steps)
    assert state.tripped
    assert state.unchanged == 28


def test_a_host_that_only_fails_never_trips_the_progress_breaker() -> None:
    state, _ = _replay([_step(n % 2, _ERROR) for n in range(60)])
    assert state.trips == state.unchanged == 0


@pytest.mark.parametrize("cut", [0, 1, 5, 9, 10, 40])
def test_a_breaker_that_went_through_json_in_the_middle_answers_the_same(cut: int) -> None:
    steps = [_step(n % 7, measure=n % 7) for n in range(30)] + [_step(n) for n in range(20, 30)]
    whole, advices = _replay(steps)
    first, before = _replay(steps[:cut])
    stored = json.loads(json.dumps(first.to_json()))
    second, after = _replay(steps[cut:], BreakerState.from_json(stored))
    assert before + after == advices
    assert second == whole
