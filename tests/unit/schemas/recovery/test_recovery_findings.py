"""Each finding, and what is nearly one."""

from tests.unit.schemas.recovery.told import SECOND, START, Told

DRIFT, EMERGENCY, WATCHDOG, UNSEEN = (
    "PREFERENCE_DRIFT",
    "EMERGENCY_AS_DEFAULT",
    "WATCHDOG_DEPENDENT",
    "CLEANUP_UNSEEN",
)


# -- a later turn inherits it


def test_a_later_turn_that_inherits_a_choice_without_a_fault_of_its_own_is_drift() -> None:
    told = Told().user(1).auto(2, reason_code="timeout").auto(3)
    assert told.findings() == [DRIFT]
    (recovery,) = told.seen().recoveries
    assert (recovery.state, recovery.turn, recovery.findings) == ("open", 2, (DRIFT,))


def test_a_later_turn_with_a_fault_of_its_own_inherits_nothing() -> None:
    assert Told().user(1).auto(2, reason_code="timeout").auto(3, reason_code="timeout").findings(over=True) == []
    # Another selection of that turn says what failed in it.
    told = Told().user(1).auto(2, reason_code="timeout").auto(3, "third", reason_code="timeout").auto(3)
    assert told.findings(over=True) == []


def test_the_same_turn_may_use_it_again_and_again() -> None:
    assert Told().user(1).auto(2, reason_code="timeout").auto(2).auto(2).findings(over=True) == []


def test_a_turn_in_between_with_the_users_profile_does_not_excuse_the_return() -> None:
    assert DRIFT in Told().user(1).auto(2, reason_code="timeout").user(3).auto(4).findings()


def test_the_user_may_choose_what_was_a_substitute() -> None:
    told = Told().user(1).auto(2, reason_code="timeout").user(3, "backup").auto(4).auto(5)
    assert told.findings(over=True) == []
    assert told.seen().user_profile == "backup"


def test_a_default_that_once_stood_in_is_used_again_without_a_user_who_chose_another() -> None:
    told = Told().auto(1, "primary").auto(2, "primary", reason_code="timeout").auto(3, "primary")
    assert told.findings(over=True) == []
    told = Told().auto(1, "primary").user(2).auto(3, "primary", reason_code="timeout").auto(4, "primary")
    assert told.findings() == [DRIFT]


def test_where_the_user_takes_the_choice_back_the_hosts_default_may_be_what_stood_in_before() -> None:
    told = Told().user(1).auto(2, reason_code="timeout").cleared(3, "user", "chosen", "user").auto(4).auto(5)
    assert told.findings(over=True) == []
    assert told.auto(6, "third", reason_code="timeout").auto(7, "third").findings() == [DRIFT]


def test_use_after_the_end_of_a_window_is_drift_and_a_record_without_a_fault_extends_none() -> None:
    end = START + 2 * SECOND
    told = Told().user(1).auto(1, reason_code="timeout", scope="window", expires_at=end)
    for turn in (2, 3):
        # The second one is a second late: its host had looked at the clock before.
        told.auto(turn, scope="window", expires_at=end + 9 * SECOND)
        assert told.findings() == []
    assert told.auto(4, scope="window", expires_at=end + 9 * SECOND).findings() == [DRIFT]


def test_a_fault_of_its_own_states_a_window_of_its_own() -> None:
    end = START + SECOND
    told = Told().user(1).auto(1, reason_code="timeout", scope="window", expires_at=end)
    told.auto(2, reason_code="timeout", scope="window", expires_at=end + 9 * SECOND)
    told.auto(3, scope="window", expires_at=end + 9 * SECOND)
    assert told.findings(over=True) == []


def test_what_was_taken_back_and_comes_again_without_a_fault_is_another_choice_that_drifted() -> None:
    told = Told().user(1).auto(2, reason_code="timeout").cleared(2, "runtime").auto(3)
    first, second = told.seen().recoveries
    assert (first.state, first.findings) == ("cleared", ())
    assert (second.state, second.turn, second.reason_code, second.findings) == ("open", 3, None, (DRIFT,))


# -- written down


def test_an_automatic_choice_that_is_written_down_to_last_is_drift_at_once() -> None:
    assert Told().auto(1, reason_code="timeout", timeline="persisted", scope="session").findings() == [DRIFT]
    # A window without an instant is none.
    assert Told().auto(1, reason_code="timeout", timeline="persisted", scope="window").findings() == [DRIFT]


def test_a_user_may_write_down_anything_and_so_may_the_runtime_for_the_user() -> None:
    told = Told().user(1, timeline="persisted").auto(1, "chosen", "persisted", scope="session")
    assert told.findings(over=True) == []


def test_what_was_written_down_for_a_turn_and_stands_when_the_session_is_over_is_drift() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted")
    assert told.findings() == []
    assert told.findings(over=True) == [DRIFT]
    assert told.states(over=True) == ["open"]


def test_what_is_taken_back_only_after_a_later_turn_has_run_on_top_of_it_is_drift() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3).cleared(3, "runtime")
    assert told.findings(over=True) == [DRIFT]
    (recovery,) = told.seen().recoveries
    assert (recovery.state, recovery.cleared_by) == ("cleared", "runtime")


def test_a_clearing_that_names_the_turn_itself_was_in_time_although_another_hosts_clock_says_otherwise() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3).cleared(2, "runtime")
    assert told.findings(over=True) == []


def test_writing_it_down_again_in_a_later_turn_without_a_fault_is_drift() -> None:
    told = Told().user(1).auto(2, reason_code="timeout").auto(3, timeline="persisted").cleared(3, "runtime")
    assert told.findings(over=True) == [DRIFT]


# -- emergencies


def test_an_emergency_profile_in_a_turn_without_a_fault_is_a_default() -> None:
    assert Told().user(1).auto(2, "spare", emergency=True).findings(over=True) == [EMERGENCY]
    # Also within a window: the primary of this turn was not even tried.
    end = START + 99 * SECOND
    told = Told().user(1).auto(2, "spare", emergency=True, reason_code="timeout", scope="window", expires_at=end)
    assert told.findings() == []
    told.auto(3, "spare", emergency=True, scope="window", expires_at=end)
    assert told.findings() == [EMERGENCY]


def test_an_emergency_profile_whose_turn_had_a_fault_is_what_it_is_for() -> None:
    told = Told().user(1).auto(2, "spare", emergency=True, reason_code="timeout")
    told.auto(3, "second", reason_code="timeout").auto(3, "spare", emergency=True)
    assert told.findings(over=True) == []


def test_an_emergency_profile_that_is_written_down_is_a_default_whatever_failed() -> None:
    told = Told().user(1).auto(2, "spare", "persisted", emergency=True, reason_code="timeout")
    assert told.cleared(2, "runtime", "spare").findings(over=True) == [EMERGENCY]


def test_an_emergency_profile_that_is_inherited_is_both() -> None:
    told = Told().user(1).auto(2, "spare", emergency=True, reason_code="timeout").auto(3, "spare", emergency=True)
    assert told.findings() == [DRIFT, EMERGENCY]


def test_a_user_may_choose_an_emergency_profile() -> None:
    told = Told().user(1, "spare", emergency=True).user(2, "spare", "persisted", emergency=True)
    assert told.auto(3, "spare", emergency=True).findings(over=True) == []


# -- the watchdog


def test_drifts_that_only_the_watchdog_ends_depend_on_it() -> None:
    told = Told().user(1)
    for turn in (2, 6):
        told.auto(turn, reason_code="timeout", timeline="persisted").user(turn + 1).cleared(turn + 2, "watchdog")
    assert told.findings(over=True) == [DRIFT, WATCHDOG]
    assert {recovery.cleared_by for recovery in told.seen().recoveries} == {"watchdog"}


def test_one_drift_that_the_runtime_or_the_user_ended_shows_that_others_can() -> None:
    for by in ("runtime", "user"):
        told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3).cleared(4, "watchdog")
        told.auto(5, reason_code="timeout", timeline="persisted").user(6).cleared(6, by)
        assert told.findings(over=True) == [DRIFT]
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3).cleared(4, "watchdog")
    told.auto(5, reason_code="timeout", timeline="persisted", scope="session").user(6, "another")
    assert told.findings(over=True) == [DRIFT]


def test_a_watchdog_that_takes_something_back_in_its_own_turn_ended_no_drift() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").cleared(2, "watchdog").user(3)
    assert told.findings(over=True) == []


def test_what_a_watchdog_finds_after_the_end_was_left_behind_though_nobody_told_that_it_was_written_down() -> None:
    told = Told().user(1).auto(2, reason_code="timeout").user(3).cleared(4, "watchdog")
    assert told.findings(over=True) == [DRIFT, WATCHDOG]
    # It may not know the turn.
    told = Told().user(1).auto(2, reason_code="timeout").user(3).cleared(0, "watchdog")
    assert told.findings(over=True) == [DRIFT, WATCHDOG]
    # The runtime tidies up for safety's sake, whether there is something or not.
    told = Told().user(1).auto(2, reason_code="timeout").user(3).cleared(4, "runtime")
    assert (told.findings(over=True), told.states()) == ([], ["expired"])


def test_a_choice_for_the_session_that_only_the_watchdog_ever_told_of_was_left_behind() -> None:
    told = Told().user(1).cleared(2, "watchdog")
    assert told.findings(over=True) == []
    told.selections[-1]["scope"] = "session"
    assert told.findings(over=True) == [DRIFT, WATCHDOG]
    assert told.states() == ["cleared"]


def test_a_watchdog_that_ends_a_window_after_its_end_ended_a_drift() -> None:
    end = START + 2 * SECOND
    told = Told().user(1).auto(1, reason_code="timeout", timeline="persisted", scope="window", expires_at=end)
    assert told.cleared(1, "watchdog").findings(over=True) == []
    told.selections[-1]["occurred_at"] = end + SECOND + 1
    assert told.findings(over=True) == [DRIFT, WATCHDOG]


# -- the cleanup that nobody saw


def test_a_turn_that_goes_back_although_nobody_cleared_what_was_written_down_had_an_unseen_cleanup() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3)
    (recovery,) = told.seen(over=True).recoveries
    assert (recovery.state, recovery.ended_turn, recovery.cleared_by) == ("vanished", 3, None)
    assert told.findings(over=True) == [UNSEEN]


def test_a_drift_that_was_never_written_down_and_stops_had_one_too() -> None:
    told = Told().user(1).auto(2, reason_code="timeout").auto(3).user(4)
    assert told.findings() == [DRIFT, UNSEEN]


def test_a_clearing_that_comes_later_after_all_is_better_evidence() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3).cleared(5, "runtime")
    assert told.states() == ["cleared"]
    assert UNSEEN not in told.findings()


def test_the_same_turn_may_go_back_and_clear_afterwards() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(2)
    assert told.states() == ["open"]
    assert told.cleared(2, "runtime").findings(over=True) == []


def test_a_window_that_is_left_early_for_the_users_profile_is_on_record_where_it_was_never_written_down() -> None:
    end = START + 99 * SECOND
    told = Told().user(1).auto(1, reason_code="timeout", scope="window", expires_at=end).user(2)
    assert told.states(over=True) == ["superseded"]
    assert told.findings(over=True) == []
    told = Told().user(1).auto(1, reason_code="timeout", timeline="persisted", scope="window", expires_at=end).user(2)
    assert told.findings(over=True) == [UNSEEN]


# -- what may be missing


def test_nothing_is_concluded_from_what_may_be_missing() -> None:
    def drifts() -> list[Told]:
        return [
            Told().user(1).auto(2, reason_code="timeout").auto(3),
            Told().user(1).auto(2, "spare", emergency=True),
            Told().user(1).auto(2, reason_code="timeout", timeline="persisted"),
            Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3),
        ]

    for told in drifts():
        assert told.findings(over=True) != []
        assert told.findings(over=True, unknown_through=told.now) == []
        assert told.findings(over=True, unknown_through=START) == told.findings(over=True)


def test_what_was_seen_is_said_whatever_is_missing() -> None:
    told = Told().auto(1, reason_code="timeout", timeline="persisted", scope="session")
    assert told.findings(unknown_through=told.now) == [DRIFT]
    told = Told().user(1).auto(2, reason_code="timeout").cleared(4, "watchdog")
    assert told.findings(unknown_through=told.now) == [DRIFT]
