"""The guard of a session's selections: what it chooses, what it refuses, what it records."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.producers.selection.recorded_selections import CANDIDATES, EMERGENCY, Recorded

from unmask.producers import InvalidProfiles, NotAPreference, NullSink, Selections
from unmask.producers.published import identifier

HOUR = timedelta(hours=1)


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def test_a_turn_begins_with_the_first_candidate_or_with_what_the_user_chose(
    recorded: Recorded,
) -> None:
    assert recorded.guard().turn(1).profile == "large"
    assert recorded.guard(preference="small").turn(1).profile == "small"
    assert recorded.told() == [
        (1, "large", "auto", "turn", "live"),
        (1, "small", "user", "session", "persisted"),
        (1, "small", "user", "session", "live"),
    ]


def test_a_substitute_is_for_its_turn_and_the_next_one_begins_with_the_users_choice_again(recorded: Recorded) -> None:
    guard = recorded.guard(preference="small")
    turn = guard.turn(1)
    assert turn.recover(TimeoutError()) == "large"
    assert turn.profile == "large"
    assert guard.turn(2).profile == "small"
    assert recorded.told()[2:] == [(1, "large", "auto", "turn", "live"), (2, "small", "user", "session", "live")]
    seen = recorded.seen()
    assert [(each.profile, each.reason_code, each.state) for each in seen.recoveries] == [
        ("large", "timeout", "expired")
    ]
    assert (seen.findings, seen.user_profile) == ((), "small")


def test_every_further_failure_has_the_next_candidate_stand_in_and_emergencies_come_last(recorded: Recorded) -> None:
    turn = recorded.guard(preference="small").turn(1)
    assert [turn.recover(503), turn.recover("rate limited"), turn.recover(503)] == ["large", "other/host", "spare"]
    assert turn.failed == ("small", "large", "other/host")
    assert turn.recover(503) is None
    assert recorded.selections[-1]["emergency"] is True
    assert recorded.seen().findings == ()


def test_a_window_holds_for_later_turns_up_to_its_instant(recorded: Recorded) -> None:
    guard = recorded.guard()
    assert guard.turn(1).recover(429, window=HOUR) == "small"
    assert guard.turn(2).profile == "small"
    recorded.at += HOUR
    assert guard.turn(3).profile == "large"
    (recovery,) = recorded.seen().recoveries
    assert (recovery.scope, recovery.state) == ("window", "expired")
    assert recorded.seen().findings == ()


@pytest.mark.parametrize("window", [timedelta.max, timedelta.min, timedelta(0)])
def test_a_window_that_no_calendar_has_keeps_nobody_from_the_substitute(recorded: Recorded, window: timedelta) -> None:
    guard = recorded.guard(preference="large")
    assert guard.turn(1).recover(503, window=window) == "small"
    assert guard.turn(2).profile == ("small" if window > timedelta(0) else "large")


def test_what_is_for_emergencies_gets_no_window(recorded: Recorded) -> None:
    guard = recorded.guard(candidates=["large"])
    assert guard.turn(1).recover(503, window=HOUR) == "spare"
    assert guard.turn(2).profile == "large"
    assert recorded.seen().findings == ()


def test_a_window_whose_profile_fails_is_cleared_and_the_primary_is_tried_before_anything_for_emergencies(
    recorded: Recorded,
) -> None:
    guard = recorded.guard(candidates=["large", "small"])
    guard.turn(1).recover(503, window=HOUR)
    turn = guard.turn(2)
    assert turn.profile == "small"
    assert turn.recover(503) == "large"
    assert recorded.selections[-2]["cleared_by"] == "runtime"
    assert turn.recover(503) == "spare"
    assert guard.turn(3).profile == "large"
    assert recorded.seen().findings == ()


def test_a_window_is_cleared_by_whoever_knows_that_its_reason_is_over(recorded: Recorded) -> None:
    for by in ("runtime", "user", "watchdog"):
        guard = recorded.guard()
        guard.turn(1).recover(503, window=HOUR)
        assert guard.clear(2, by=by) == "small"
        assert recorded.selections[-1]["cleared_by"] == by
        assert guard.turn(2).profile == "large"
        assert guard.clear(2) is None
    assert recorded.seen().findings == ()


def test_only_a_users_choice_is_written_down(recorded: Recorded) -> None:
    written: list[str | None] = []
    guard = recorded.guard(persist=written.append)
    with pytest.raises(NotAPreference, match="only a user's choice"):
        guard.prefer(1, "small", source="auto")
    with pytest.raises(NotAPreference, match="make it a candidate"):
        guard.prefer(1, "spare")
    with pytest.raises(InvalidProfiles, match="neither a candidate"):
        guard.prefer(1, "nothing of ours")
    assert (written, recorded.selections, guard.preference) == ([], [], None)
    assert guard.prefer(1, "small") == "small"
    assert (written, guard.preference) == (["small"], "small")
    assert recorded.told() == [(1, "small", "user", "session", "persisted")]


def test_what_could_not_be_written_down_is_not_recorded_as_if_it_had_been(recorded: Recorded) -> None:
    def full(_: str | None) -> None:
        raise OSError("no space")

    guard = recorded.guard(persist=full)
    with pytest.raises(OSError, match="no space"):
        guard.prefer(1, "small")
    assert (recorded.selections, guard.preference) == ([], None)


def test_a_users_choice_ends_a_window_and_taking_it_back_leads_to_the_default(recorded: Recorded) -> None:
    written: list[str | None] = []
    guard = recorded.guard(persist=written.append)
    guard.turn(1).recover(503, window=HOUR)
    guard.prefer(2, "other/host")
    assert guard.turn(2).profile == "other/host"
    assert recorded.seen().recoveries[0].state == "superseded"
    guard.forget(3)
    assert guard.turn(3).profile == "large"
    assert written == ["other/host", None]
    assert (recorded.seen().findings, recorded.seen().user_profile) == ((), None)


def test_a_choice_of_the_user_for_one_turn_changes_no_other(recorded: Recorded) -> None:
    guard = recorded.guard(preference="small")
    assert guard.turn(1).choose("spare") == "spare"
    assert guard.turn(2).profile == "small"
    assert (recorded.seen().findings, recorded.seen().user_profile) == ((), "small")


def test_a_preference_is_known_by_the_token_under_which_it_was_published(recorded: Recorded) -> None:
    token = identifier("other/host")
    assert token.startswith("sha256-")
    guard = recorded.guard(preference=token)
    assert guard.turn(1).profile == "other/host"
    assert recorded.seen().user_profile == token


def test_a_preference_that_is_not_offered_is_not_forgotten(recorded: Recorded) -> None:
    for unmet in ("gone", "spare"):
        guard = recorded.guard(preference=unmet)
        assert (guard.unmet_preference, guard.preference) == (unmet, None)
        assert guard.turn(1).profile == "large"
        assert recorded.selections[-1]["reason_code"] == "capability_unsupported"
        seen = recorded.seen()
        assert (seen.user_profile, seen.findings) == (unmet, ())


def test_what_something_automatic_left_written_down_is_not_gone_on_with(recorded: Recorded) -> None:
    written: list[str | None] = []
    guard = recorded.guard(preference="large", persist=written.append)
    assert guard.found(1, "small", source="auto") is None
    assert written == ["large"]
    last = recorded.selections[-1]
    assert (last["timeline"], last["profile"], last["source"]) == ("persisted", "large", "user")
    assert guard.turn(1).profile == "large"
    assert recorded.seen().findings == ("PREFERENCE_DRIFT", "WATCHDOG_DEPENDENT")
    assert guard.found(2, "small", source="user") == "small"
    assert guard.turn(2).profile == "small"
    assert guard.found(2, "gone", source="user") is None


def test_an_operator_who_takes_a_route_away_is_a_policy(recorded: Recorded) -> None:
    recorded.guard().turn(1).recover("rollback")
    assert recorded.selections[-1]["reason_code"] == "policy_refused"


def test_profiles_that_cannot_be_chosen_from_are_refused_at_once() -> None:
    with pytest.raises(InvalidProfiles, match="not as one text"):
        Selections(NullSink(), "s-1", candidates="large")
    with pytest.raises(InvalidProfiles, match="a candidate at least"):
        Recorded().guard(candidates=[])
    with pytest.raises(InvalidProfiles, match="one or the other"):
        Recorded().guard(candidates=["large", "spare"])


def test_where_nothing_is_wired_the_guard_guards_all_the_same() -> None:
    guard = NullSink().selections("s", candidates=CANDIDATES, emergency=EMERGENCY)
    assert isinstance(guard, Selections)
    assert guard.turn(1).recover(503) == "small"
    with pytest.raises(NotAPreference):
        guard.prefer(1, "small", source="auto")


_steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["turn", "turn", "recover", "recover", "window", "prefer", "forget", "clear", "choose", "wait"]
        ),
        st.integers(0, 3),
    ),
    max_size=25,
)


@given(_steps, st.none() | st.sampled_from([*CANDIDATES, *EMERGENCY, "gone"]))
def test_whatever_a_host_does_with_it_nothing_drifts_and_no_emergency_is_a_default(
    steps: list[tuple[str, int]], preference: str | None
) -> None:
    recorded = Recorded()
    guard = recorded.guard(preference=preference)
    number, turn = 1, guard.turn(1)
    wanted = preference
    for step, which in steps:
        profile = (*CANDIDATES, *EMERGENCY)[which]
        match step:
            case "turn":
                number += 1
                turn = guard.turn(number)
                assert turn.profile not in EMERGENCY
            case "recover" | "window":
                window: dict[str, Any] = {"window": HOUR} if step == "window" else {}
                chosen = turn.recover(503, **window)
                assert chosen not in EMERGENCY or guard.primary in turn.failed
            case "prefer":
                if profile not in EMERGENCY:
                    wanted = guard.prefer(number, profile)
            case "forget":
                guard.forget(number)
                wanted = None
            case "clear":
                guard.clear(number)
            case "choose":
                turn.choose(profile)
            case "wait":
                recorded.at += which * HOUR / 2
    seen = recorded.seen()
    assert seen.findings == ()
    assert seen.user_profile == (None if wanted is None else identifier(wanted))
