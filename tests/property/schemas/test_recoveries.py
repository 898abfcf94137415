"""Recoveries hold for any set of selections, in whatever order it comes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from unmask.schemas.codes import Finding, ReasonCode
from unmask.schemas.recovery import Overlay, overlay

_START = 1_767_225_600_000_000
_OURS = {
    Finding.PREFERENCE_DRIFT,
    Finding.EMERGENCY_AS_DEFAULT,
    Finding.WATCHDOG_DEPENDENT,
    Finding.CLEANUP_UNSEEN,
}


def _selections(**fixed: Any) -> st.SearchStrategy[dict[str, Any]]:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "emitter_id": st.sampled_from(["e1", "e2"]),
        "occurred_at": st.integers(0, 20).map(lambda seconds: _START + seconds),
        "turn": st.integers(0, 6),
        "profile": st.sampled_from(["a", "b", "c"]),
        "source": st.sampled_from(["user", "auto", "auto", "unknown_source"]),
        "scope": st.sampled_from(["turn", "turn", "window", "session", "unknown_scope"]),
        "timeline": st.sampled_from(["live", "live", "persisted", "cleared", "unknown_timeline"]),
        "cleared_by": st.sampled_from([None, "user", "runtime", "watchdog", "unknown_actor"]),
        "reason_code": st.none() | st.sampled_from([code.value for code in ReasonCode]),
        "emergency": st.booleans(),
        "expires_at": st.none() | st.integers(0, 20).map(lambda seconds: _START + seconds),
    }
    return st.fixed_dictionaries({**fields, **fixed})


_sessions = st.lists(_selections(), max_size=14)


@given(_sessions, st.data())
def test_any_order_and_any_repeats_say_the_same(selections: list[dict[str, Any]], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(selections + selections[:3]))
    for known in ({}, {"over": True}, {"unknown_through": _START + 9}):
        assert overlay(shuffled, **known) == overlay(selections, **known)


@given(_sessions)
def test_what_is_said_of_recoveries_is_consistent(selections: list[dict[str, Any]]) -> None:
    seen = overlay(selections, over=True)
    assert set(seen.findings) <= _OURS
    of_recoveries = {finding for recovery in seen.recoveries for finding in recovery.findings}
    assert set(seen.findings) - {Finding.WATCHDOG_DEPENDENT} == of_recoveries
    for recovery in seen.recoveries:
        assert recovery.source == "auto"
        assert (recovery.state == "vanished") == (Finding.CLEANUP_UNSEEN in recovery.findings)
        assert recovery.state != "open" or recovery.ended_at is None
        assert recovery.cleared_by is None or recovery.state == "cleared"
        if recovery.state in ("cleared", "superseded", "vanished"):
            assert recovery.ended_at is not None
            assert recovery.ended_at >= recovery.began_at
    begun = [recovery.began_at for recovery in seen.recoveries]
    assert begun == sorted(begun)
    belonging = {moment.recovery for moment in seen.moments} - {None}
    assert belonging == set(range(len(seen.recoveries)))


@given(st.lists(_selections(source=st.just("user")), max_size=14))
def test_what_a_user_chose_is_never_found_fault_with(selections: list[dict[str, Any]]) -> None:
    seen = overlay(selections, over=True)
    assert (seen.recoveries, seen.findings) == ((), ())


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["a", "b"]), st.booleans()), max_size=10))
def test_a_host_that_returns_choices_for_the_turn_of_their_fault_never_drifts(
    chosen: list[tuple[int, str, bool]],
) -> None:
    selections: list[dict[str, Any]] = []
    for turn, profile, failed in sorted(chosen):
        said = {"turn": turn, "scope": "session", "source": "user", "profile": "mine", "timeline": "live"}
        selections.append({**said, "emergency": False, "reason_code": None})
        if failed:
            said |= {"scope": "turn", "source": "auto", "profile": profile}
            selections.append({**said, "emergency": profile == "b", "reason_code": "timeout"})
    for place, selection in enumerate(selections):
        selection["occurred_at"] = _START + place
    assert overlay(selections, over=True).findings == ()


@given(_sessions)
def test_it_does_not_matter_who_tells_and_in_which_year(selections: list[dict[str, Any]]) -> None:
    def moved(seen: Overlay) -> list[Any]:
        return [(each.state, each.turn, each.findings) for each in seen.recoveries] + [seen.user_profile]

    def later(instant: int | None) -> int | None:
        return None if instant is None else instant + 10**15

    others = [
        {**each, "emitter_id": "e9", "occurred_at": later(each["occurred_at"]), "expires_at": later(each["expires_at"])}
        for each in selections
    ]
    assert moved(overlay(others, over=True)) == moved(overlay(selections, over=True))


@given(_sessions, st.integers(0, 20))
def test_less_knowledge_never_finds_more(selections: list[dict[str, Any]], known_from: int) -> None:
    everything = set(overlay(selections, over=True).findings)
    less = set(overlay(selections, over=True, unknown_through=_START + known_from).findings)
    # Of the watchdog alone may be said where only its drifts are known to have begun since.
    assert less - {Finding.WATCHDOG_DEPENDENT} <= everything
