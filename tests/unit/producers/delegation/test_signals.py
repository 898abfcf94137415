"""Signals on the host: digests of content, calibration, and readings that show that a signal is not stable."""

from itertools import count
from typing import Any

import pytest
from tests.unit.producers.delegation_host import RememberingHost

from unmask.producers import Signal
from unmask.producers.delegation.content import content_digest
from unmask.schemas.breaker import AbstainReason, BreakerAnswer, BreakerState, Step, advance


@pytest.fixture
def host() -> RememberingHost:
    return RememberingHost()


def _replayed(calls: list[dict[str, Any]], delegation_id: str = "d-1") -> BreakerState:
    """What whoever follows the records knows, from nothing else."""
    states: dict[str, BreakerState] = {}
    moving: set[str] = set()
    for call in calls:
        state, _ = advance(states.get(call["delegation_id"], BreakerState()), Step.of(call), moving)
        states[call["delegation_id"]] = state
        moving.update(state.moved)
    return states[delegation_id]


def test_a_digest_is_of_the_content_and_not_of_its_order_or_its_names() -> None:
    one = {"failing": ["a", "b"], "log": "x"}
    assert content_digest(one) == content_digest({"log": "x", "failing": ["a", "b"]})
    assert content_digest(one) != content_digest({"log": "y", "failing": ["a", "b"]})
    assert content_digest(b"bytes") == content_digest(bytearray(b"bytes"))
    assert len({content_digest(item) for item in ("1", 1, 1.0, True, b"1", [1])}) == 6
    assert content_digest(b"x" * 9_000_000) is not None
    assert content_digest(None) is content_digest(object()) is None


def test_a_signal_that_never_moved_abstains_until_it_is_calibrated(host: RememberingHost) -> None:
    with host.delegation(signal="tree") as d:
        for _ in range(20):
            advice = d.call(state="same")
        assert (advice.answer, advice.doubt) == (BreakerAnswer.ABSTAIN, AbstainReason.NEVER_SEEN_TO_MOVE)
        assert not d.calibrate("tree", "healthy", "healthy")
        assert d.calibrate("tree", "healthy", "with a planted fault")
        assert d.call(state="same").answer is BreakerAnswer.TRIPPED
    # From the records alone it is the same: the calibration is on record as a little delegation of its own.
    assert _replayed(host.calls).tripped
    assert [c["conditions"] for c in host.calls if c["delegation_id"] == "calibration.tree"] == ["before", "after"]


def test_a_calibration_holds_in_other_delegations_of_the_host_and_not_for_other_signals(host: RememberingHost) -> None:
    with host.delegation("d-1") as d:
        d.calibrate("tree", 1, 2)
    with host.delegation("d-2", trip_after=2) as d:
        for _ in range(4):
            assert d.call(state="same", signal="tests").answer is BreakerAnswer.ABSTAIN
        for _ in range(3):
            advice = d.call(state="same", signal="tree")
        assert advice.answer is BreakerAnswer.TRIPPED


def test_a_state_that_was_only_shown_in_a_calibration_is_still_progress_when_it_is_reached(
    host: RememberingHost,
) -> None:
    with host.delegation(signal="tree", trip_after=2) as d:
        d.calibrate("tree", "healthy", "broken")
        for _ in range(3):
            d.call(state="broken")
        assert d.advice().answer is BreakerAnswer.TRIPPED
        assert d.call(state="healthy").answer is BreakerAnswer.CONTINUE


def test_a_signal_that_moves_in_one_delegation_may_decide_in_the_next(host: RememberingHost) -> None:
    with host.delegation("d-0") as d:
        d.call(state=1)
        d.call(state=2)
    with host.delegation("d-1") as d:
        for _ in range(9):
            advice = d.call(state=2)
    assert advice.answer is BreakerAnswer.TRIPPED
    assert _replayed(host.calls).tripped


def test_the_state_is_read_by_the_signal_where_the_call_states_none(host: RememberingHost) -> None:
    state = {"value": 0}
    signal = Signal("tree", lambda: dict(state), measure=lambda: state["value"], conditions=lambda: "tools-1")
    with host.delegation(signal=signal, trip_after=2) as d:
        assert d.call().doubt is AbstainReason.NEVER_SEEN_TO_MOVE
        state["value"] = 1
        assert d.call().answer is BreakerAnswer.CONTINUE
        d.call()
        assert d.call().answer is BreakerAnswer.TRIPPED
    assert [call["measure"] for call in host.calls] == [0, 1, 1, 1]
    assert len({call["conditions"] for call in host.calls}) == 1


def test_the_state_before_the_first_call_is_where_a_delegation_begins(host: RememberingHost) -> None:
    with host.delegation(signal=Signal("tree", lambda: "as it was"), trip_after=8) as d:
        d.calibrate("tree", 1, 2)
        for n in range(8):
            advice = d.call()
            assert (advice.answer is BreakerAnswer.TRIPPED) == (n == 7)


def test_a_signal_that_differs_by_itself_is_found_out_before_the_first_call(host: RememberingHost) -> None:
    clock = count()
    with host.delegation(signal=Signal("clock", lambda: next(clock))) as d:
        for _ in range(3):
            advice = d.call()
    assert (advice.answer, advice.doubt) == (BreakerAnswer.ABSTAIN, AbstainReason.UNSTABLE_SIGNAL)
    assert [call["outcome"] for call in host.calls] == ["refused", "refused", "succeeded", "succeeded", "succeeded"]
    assert [call["step"] for call in host.calls] == [1, 2, 3, 4, 5]
    assert _replayed(host.calls).advice.doubt is AbstainReason.UNSTABLE_SIGNAL
    assert d.spent.calls == 3


def test_a_signal_that_cannot_be_read_proves_nothing_and_breaks_nothing(host: RememberingHost) -> None:
    def broken() -> object:
        raise OSError

    with host.delegation(signal=Signal("tree", broken)) as d:
        assert d.call().doubt is AbstainReason.NO_SIGNAL


def test_the_signal_of_another_delegation_decides_nothing(host: RememberingHost) -> None:
    with host.delegation() as d:
        d.calibrate("state", 1, 2)
        for _ in range(20):
            assert d.call(state="same", subject="d-2").doubt is AbstainReason.FOREIGN_SIGNAL


def test_one_digest_for_two_measures_is_named(host: RememberingHost) -> None:
    with host.delegation() as d:
        d.call(state=["suite-a", "suite-b"], measure=5)
        assert d.call(state=["suite-a", "suite-b"], measure=2).doubt is AbstainReason.INDISTINCT_SIGNAL
