"""How automatic choices end."""

from tests.unit.schemas.recovery.told import SECOND, START, Told

from unmask.schemas.recovery import overlay


def test_a_choice_for_a_turn_ends_with_its_turn_and_is_no_drift() -> None:
    told = Told().user(1).auto(1, reason_code="timeout").user(2)
    (recovery,) = told.seen().recoveries
    assert (recovery.state, recovery.turn, recovery.ended_turn, recovery.ended_at) == ("expired", 1, 1, None)
    assert (recovery.reason_code, recovery.began_at, recovery.cleared_by) == ("timeout", START + SECOND, None)
    assert told.findings() == []


def test_a_choice_of_the_newest_turn_is_open_until_the_session_is_over() -> None:
    told = Told().auto(4, reason_code="timeout")
    assert told.states() == ["open"]
    assert told.states(over=True) == ["expired"]
    assert told.findings(over=True) == []


def test_each_turn_with_a_fault_of_its_own_has_a_recovery_of_its_own() -> None:
    told = Told()
    for turn in range(1, 6):
        told.auto(turn, reason_code="timeout")
    assert told.states() == ["expired"] * 4 + ["open"]
    assert told.findings(over=True) == []


def test_what_was_written_down_for_a_turn_and_taken_back_in_it_is_in_order() -> None:
    told = Told().auto(3, reason_code="quota_exhausted").auto(3, timeline="persisted").cleared(3, "runtime").user(4)
    (recovery,) = told.seen(over=True).recoveries
    assert (recovery.state, recovery.cleared_by, recovery.ended_turn) == ("cleared", "runtime", 3)
    assert (recovery.persisted_at, recovery.ended_at) == (START + SECOND, START + 2 * SECOND)
    assert told.findings(over=True) == []


def test_what_is_taken_back_at_the_next_turns_beginning_could_not_be_inherited() -> None:
    told = Told().auto(3, reason_code="timeout").auto(3, timeline="persisted").cleared(4, "runtime").user(4)
    assert told.findings(over=True) == []


def test_a_window_ends_at_its_instant_and_its_use_until_then_is_no_drift() -> None:
    end = START + 3 * SECOND
    told = Told().user(1).auto(1, reason_code="timeout", scope="window", expires_at=end)
    told.auto(2, scope="window", expires_at=end).auto(3, scope="window", expires_at=end)
    assert told.states() == ["open"]
    assert told.states(as_of=end + 1) == ["expired"]
    (recovery,) = told.user(4).seen().recoveries
    assert (recovery.state, recovery.ended_at) == ("expired", end)
    assert told.findings(over=True) == []


def test_what_was_written_down_with_an_instant_ends_by_itself() -> None:
    end = START + SECOND
    told = Told().user(1).auto(1, reason_code="timeout", timeline="persisted", scope="window", expires_at=end)
    assert told.states(over=True) == ["open"]
    assert told.states(as_of=end + 1, over=True) == ["expired"]
    assert told.user(2).states(over=True) == ["expired"]
    assert told.findings(over=True) == []


def test_another_substitute_in_the_same_turn_takes_its_place() -> None:
    told = Told().auto(1, "first", reason_code="timeout").auto(1, "second", reason_code="upstream_error").user(2)
    first, second = told.seen().recoveries
    assert (first.state, first.ended_at) == ("superseded", START + SECOND)
    assert second.state == "expired"
    assert told.findings() == []


def test_a_new_choice_of_the_user_takes_the_place_of_what_was_automatic() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3, "another")
    assert told.states(over=True) == ["superseded"]
    assert told.findings(over=True) == []
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(2, timeline="persisted")
    assert told.states(over=True) == ["superseded"]


def test_a_users_choice_for_one_turn_ends_nothing_that_was_written_down() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3, "other", scope="turn")
    assert told.states() == ["open"]


def test_a_session_has_one_preference_so_that_the_next_one_written_down_replaces_it() -> None:
    told = Told().auto(1, "first", reason_code="timeout", timeline="persisted")
    told.auto(1, "second", reason_code="timeout", timeline="persisted").cleared(1, "runtime", "second")
    assert told.states(over=True) == ["superseded", "cleared"]
    assert told.findings(over=True) == []


def test_a_default_is_no_recovery_however_often_it_is_used() -> None:
    told = Told().auto(1, "primary").auto(1, reason_code="timeout").auto(2, "primary").auto(3, "primary")
    assert [recovery.profile for recovery in told.seen(over=True).recoveries] == ["backup"]
    assert told.findings(over=True) == []


def test_a_fault_that_another_selection_of_the_turn_states_makes_a_recovery() -> None:
    told = Told().user(1).auto(2, "first", reason_code="timeout").auto(2, "second").user(3)
    assert [(each.profile, each.reason_code) for each in told.seen().recoveries] == [
        ("first", "timeout"),
        ("second", None),
    ]
    assert told.findings(over=True) == []


def test_what_a_newer_host_says_is_shown_and_accuses_nobody() -> None:
    told = Told().user(1).auto(2, reason_code="timeout")
    for field, word in (("source", "unknown_source"), ("timeline", "unknown_timeline"), ("scope", "unknown_scope")):
        told.selections.append({**told.selections[-1], "occurred_at": told.now, "turn": 3, field: word})
        told.selections[-1]["reason_code"] = None if field != "scope" else "timeout"
    seen = told.seen(over=True)
    assert len(seen.moments) == 5
    assert seen.findings == ()


def test_nothing_told_is_nothing_found() -> None:
    seen = overlay([], over=True)
    assert (seen.moments, seen.recoveries, seen.findings, seen.user_profile) == ((), (), (), None)
