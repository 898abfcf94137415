"""The breaker against any history: its counts add up, JSON in the middle changes nothing, and a plain model agrees."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.schemas.breaker import BreakerAnswer, BreakerState, Step, advance
from unmask.schemas.codes import CallOutcome

_few = st.integers(0, 4)
_outcomes = st.sampled_from([CallOutcome.SUCCEEDED, CallOutcome.SUCCEEDED, CallOutcome.FAILED, CallOutcome.REFUSED])
_steps = st.builds(
    Step,
    outcome=_outcomes.map(str),
    signal=st.sampled_from(["tree", "tree", "tests", None]),
    state_digest=st.none() | _few.map(lambda n: f"s-{n}"),
    conditions=st.none() | _few.map(lambda n: f"c-{n % 2}"),
    subject=st.sampled_from([None, None, None, "d-1", "d-2"]),
    measure=st.none() | st.just(1),
    delegation_id=st.just("d-1"),
    reading=st.booleans(),
)
_breakers = st.builds(BreakerState, limit=st.integers(1, 4), memory=st.integers(1, 6))
_knowledge = st.sampled_from([frozenset[str](), frozenset({"tree"}), frozenset({"tree", "tests"})])


@given(_breakers, st.lists(_steps | st.builds(Step, outcome=st.just("succeeded"), signal=st.just("tree"),
       state_digest=st.just("s-0"), measure=st.integers(0, 1)), max_size=60), _knowledge)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_counts_add_up_and_json_in_the_middle_changes_nothing(
    state: BreakerState, steps: list[Step], knowledge: frozenset[str]
) -> None:
    stored = state
    for step in steps:
        before = state
        state, advice = advance(state, step, knowledge)
        stored, again = advance(BreakerState.from_json(json.loads(json.dumps(stored.to_json()))), step, knowledge)
        assert (stored, again) == (state, advice)
        assert state.trips - state.false_trips - state.withdrawn == int(state.tripped)
        assert (advice.answer is BreakerAnswer.TRIPPED) == state.tripped
        assert (advice.doubt is not None) == (advice.answer is BreakerAnswer.ABSTAIN)
        assert state.unchanged <= state.longest_unchanged <= state.calls
        assert state.calls - before.calls == int(step.done)
        assert sum(count for _, count in state.doubts) <= len(steps)
        assert len(state.states.known) <= state.memory


@given(st.lists(st.integers(0, 5), max_size=80), st.lists(st.booleans(), min_size=80, max_size=80), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_a_plain_model_of_one_sound_signal_agrees(states: list[int], fails: list[bool], limit: int) -> None:
    breaker = BreakerState(limit=limit)
    seen: set[int] = set()
    run = trips = false = 0
    tripped = False
    for now, failed in zip(states, fails, strict=False):
        outcome = "failed" if failed else "succeeded"
        breaker, advice = advance(breaker, Step(outcome, "tree", f"s-{now}"), ("tree",))
        if now not in seen:
            run, false, tripped = 0, false + tripped, False
            seen.add(now)
        elif not failed:
            run += 1
            if run >= limit and not tripped:
                tripped, trips = True, trips + 1
        assert (advice.answer is BreakerAnswer.TRIPPED, advice.unchanged) == (tripped, run)
    assert (breaker.trips, breaker.false_trips) == (trips, false)


@given(st.lists(_outcomes, max_size=60), st.integers(1, 4), st.none() | st.just("c-1"))
@settings(max_examples=50, deadline=None)
def test_a_constant_signal_never_trips(outcomes: list[CallOutcome], limit: int, conditions: str | None) -> None:
    state = BreakerState(limit=limit)
    for outcome in outcomes:
        state, advice = advance(state, Step(str(outcome), "tree", "constant", conditions))
        assert advice.answer is BreakerAnswer.ABSTAIN
    assert state.trips == 0


@given(st.lists(st.text("ab0-", min_size=1, max_size=64), max_size=200), st.integers(0, 2**62))
@settings(max_examples=25, deadline=None)
def test_its_json_stays_small_whatever_it_is_told(names: list[str], measure: int) -> None:
    state = BreakerState()
    for n, name in enumerate(names * 2):
        state, _ = advance(
            state, Step("succeeded", name, f"{name}{n}"[-64:], name, measure=measure + n), frozenset(names)
        )
        state, _ = advance(
            state, Step("refused", name, f"{name}{n}"[-64:], f"{n}", measure=measure + n), frozenset(names)
        )
    assert len(json.dumps(state.to_json())) < 8_000
