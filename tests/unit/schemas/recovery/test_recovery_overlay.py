"""The timelines over one another, the user's profile, and the order of a set."""

from tests.unit.schemas.recovery.told import SECOND, START, Told

from unmask.schemas.codes import Finding
from unmask.schemas.history import latest
from unmask.schemas.recovery import overlay


def test_each_moment_says_what_is_in_force_after_it() -> None:
    told = Told().user(1, timeline="persisted").user(1).auto(2, reason_code="timeout")
    told.auto(2, timeline="persisted").cleared(2, "runtime").user(3)
    told.selections.reverse()
    seen = told.seen()
    assert [(each.live, each.persisted, each.persisted_source, each.recovery) for each in seen.moments] == [
        (None, "chosen", "user", None),
        ("chosen", "chosen", "user", None),
        ("backup", "chosen", "user", 0),
        ("backup", "backup", "auto", 0),
        (None, None, None, 0),
        ("chosen", None, None, None),
    ]
    assert [each.selection.occurred_at for each in seen.moments] == [START + n * SECOND for n in range(6)]


def test_the_users_profile_is_what_was_chosen_last_for_the_session() -> None:
    told = Told().user(1, "one").auto(1, reason_code="timeout").user(2, "two", "persisted")
    told.user(3, "three", scope="turn").user(3, "four", scope="window", expires_at=START + 99 * SECOND)
    told.auto(4, "five", "persisted", scope="session", reason_code="timeout")
    assert told.seen().user_profile == "two"


def test_only_the_user_takes_back_what_the_user_chose() -> None:
    told = Told().user(1, "one", "persisted")
    assert told.cleared(2, "watchdog", "one", "user").seen().user_profile == "one"
    assert told.cleared(3, "user", "another", "user").seen().user_profile == "one"
    assert told.cleared(4, "user", "one", "user").seen().user_profile is None


def test_several_emitters_tell_of_one_session() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3).cleared(4, "watchdog")
    for number, selection in enumerate(told.selections):
        selection["emitter_id"] = f"e{number % 2}"
    assert told.findings() == ["PREFERENCE_DRIFT", "WATCHDOG_DEPENDENT"]


def test_at_one_instant_of_a_turn_what_is_taken_back_comes_last() -> None:
    told = Told().auto(2, reason_code="timeout").auto(2, timeline="persisted").cleared(2, "runtime")
    for selection in told.selections:
        selection["occurred_at"] = START
    told.selections.reverse()
    assert told.states() == ["cleared"]


def test_an_event_of_a_batch_is_taken_as_it_is() -> None:
    told = Told().auto(2, reason_code="timeout")
    (selection,) = told.selections
    del selection["emitter_id"], selection["cleared_by"], selection["expires_at"]
    assert len(overlay([{**selection, "session_id": "s"}]).recoveries) == 1


def test_a_recovery_is_what_a_verdict_holds() -> None:
    told = Told().user(1).auto(2, reason_code="timeout", timeline="persisted").user(3).cleared(4, "watchdog")
    (recovery,) = told.seen().recoveries
    record = recovery.as_record()
    (field,) = (field for field in latest("verdict").source["fields"] if field["name"] == "recoveries")
    assert list(record) == [inner["name"] for inner in field["type"]["items"]["fields"]]
    assert record["findings"] == [Finding.PREFERENCE_DRIFT]
    assert {type(value) for value in record.values()} <= {str, int, bool, list, type(None)}
