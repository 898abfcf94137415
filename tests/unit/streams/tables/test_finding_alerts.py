"""Alerts to what is found of recoveries and delegations: when they fire and when they are over."""

from typing import Any

import pytest
from tests.session_parts import delegation, refusal, selection
from tests.table_records import at, session_tally, teardown
from tests.unit.streams.tables.test_partition import NothingKnown

from unmask.schemas.codec import decode, encode
from unmask.streams.tables.finding_alerts import FINDING_KINDS, FindingAlerts, finding_alerts
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.session_table import SessionTable
from unmask.streams.verdict import adjudicate, merge_tallies
from unmask.streams.verdict.delegation_rules import BLOCKED_TURNS

FAULT = selection("safe", 2, reason_code="timeout")
DRIFT = [selection("fast", 1, source="user", scope="session"), FAULT, selection("safe", 3)]


def told(*tallies: dict[str, Any], discharged_at: int | None = None, **accounts: int) -> FindingAlerts:
    known = {int(name[1:]): instant for name, instant in accounts.items()}
    verdict = adjudicate(tallies, threshold=0.05, accounts=known)
    view = merge_tallies(tallies, known)
    return finding_alerts(view, verdict, blocked_turns=BLOCKED_TURNS, discharged_at=discharged_at)


def chosen(*selections: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return session_tally(selections=list(selections), selections_total=len(selections), **parts)


def firing(found: FindingAlerts) -> dict[str, dict[str, Any]]:
    return {alert["alert_id"]: alert for alert in found.current if alert["state"] == "FIRING"}


def over(found: FindingAlerts) -> dict[str, dict[str, Any]]:
    assert all(alert["state"] == "RESOLVED" and alert["until"] >= alert["since"] for alert in found.past)
    return {alert["alert_id"]: alert for alert in found.past}


def test_a_session_with_nothing_new_gives_rise_to_nothing() -> None:
    assert told(session_tally(teardowns=[teardown(3)])) == FindingAlerts([], [])


def test_a_drift_fires_while_the_session_runs_and_is_over_when_it_is_cleared() -> None:
    found = firing(told(chosen(*DRIFT)))["PREFERENCE_DRIFT|s1"]
    assert (found["since"], found["session_id"], found["directive"]) == (at(0.2), "s1", None)
    assert (found["causes"], found["facts"]) == (["timeout"], {"recoveries": 1, "open_recoveries": 1, "turn": 2})
    cleared = selection("safe", 4, timeline="cleared", cleared_by="runtime")
    ended = told(chosen(*DRIFT, cleared))
    assert firing(ended) == {}
    assert over(ended)["PREFERENCE_DRIFT|s1"]["until"] == at(0.4)


def test_a_recovery_that_ends_with_its_turn_fires_nothing() -> None:
    found = told(chosen(*DRIFT[:2]))
    assert (firing(found), over(found)) == ({}, {})


def test_an_emergency_profile_without_a_fault_fires_as_long_as_it_is_used() -> None:
    used = chosen(DRIFT[0], selection("rescue", 2, emergency=True))
    assert "EMERGENCY_AS_DEFAULT|s1" in firing(told(used))
    needed = chosen(DRIFT[0], selection("rescue", 2, emergency=True, reason_code="timeout"))
    assert firing(told(needed)) == {}
    back = told(chosen(*used["selections"], selection("fast", 3, source="user", scope="session")))
    assert (firing(back), "EMERGENCY_AS_DEFAULT|s1" in over(back)) == ({}, True)


def test_only_the_watchdog_ends_the_drifts_until_somebody_else_ends_one() -> None:
    cleared = selection("safe", 4, timeline="cleared", cleared_by="watchdog")
    found = firing(told(chosen(*DRIFT, cleared)))["WATCHDOG_DEPENDENT|s1"]
    assert found["facts"] == {"recoveries": 1, "open_recoveries": 0, "turn": 2}
    second = [
        selection("slow", 5, reason_code="timeout"),
        selection("slow", 6),
        selection("slow", 7, timeline="cleared", cleared_by="runtime"),
    ]
    assert firing(told(chosen(*DRIFT, cleared, *second))) == {}


def test_state_that_vanished_without_a_record_is_not_undone() -> None:
    written = selection("safe", 2, timeline="persisted", reason_code="timeout")
    gone = [DRIFT[0], FAULT, written, selection("safe", 3), selection("fast", 4, source="user", scope="session")]
    assert "CLEANUP_UNSEEN|s1" in firing(told(chosen(*gone)))
    assert "CLEANUP_UNSEEN|s1" in firing(told(chosen(*gone, teardowns=[teardown(9)])))


def test_a_session_on_two_hosts_waits_for_what_the_other_one_may_still_tell() -> None:
    """The other host may have told why turn 3 needed it, and its batch is not here yet."""
    elsewhere = session_tally(partition=1, emitters=["e2"], last_seen_at=at(2))
    assert firing(told(chosen(*DRIFT), elsewhere)) == {}
    assert firing(told(chosen(*DRIFT), elsewhere, p0=at(6), p1=at(4))) == {}
    assert set(firing(told(chosen(*DRIFT), elsewhere, p0=at(6), p1=at(5)))) == {"PREFERENCE_DRIFT|s1"}


def test_a_drift_that_fires_is_not_over_because_its_host_died() -> None:
    """What may be missing could explain it: nothing is fired on it then, and nothing that fires is resolved."""
    silent = told(chosen(*DRIFT, evidence="LOSSY", abandoned_at=at(9)))
    assert "PREFERENCE_DRIFT|s1" not in {alert["alert_id"] for alert in (*silent.current, *silent.past)}
    cleared = selection("safe", 4, timeline="cleared", cleared_by="runtime")
    over_now = told(chosen(*DRIFT, cleared, evidence="LOSSY"))
    assert [a["state"] for a in over_now.current if a["kind"] == "PREFERENCE_DRIFT"] == ["RESOLVED"]


def test_a_stalled_delegation_fires_until_there_is_progress() -> None:
    stuck = delegation(
        tripped=True, trips=1, calls=54, succeeded=54, unchanged=53, longest_unchanged=53, first_trip_call=9
    )
    found = firing(told(session_tally(delegations=[stuck])))["STALLED_DELEGATION|s1|d1"]
    assert (found["delegation_id"], found["since"]) == ("d1", at(4))
    assert found["facts"] == {
        "calls": 54, "unchanged": 53, "longest_unchanged": 53, "trips": 1, "false_trips": 0, "first_trip_call": 9,
    }  # fmt: skip
    moved = delegation(trips=1, false_trips=1, calls=55, succeeded=55, longest_unchanged=53, first_trip_call=9)
    after = told(session_tally(delegations=[moved]))
    # A false trip is no finding: where it never fired, nobody need hear of it.
    assert (firing(after), over(after)) == ({}, {})
    assert "STALLED_DELEGATION|s1|d1" in {alert["alert_id"] for alert in after.current}


def test_a_repair_that_is_blocked_for_107_turns_alerts_as_enforcement_and_early() -> None:
    def blocked(turns: int, committed: int = 0, longest: int | None = None) -> FindingAlerts:
        refusals = [refusal("effects", turns, 2, 1)]
        longest = turns if longest is None else longest
        known = delegation(blocked_turns=turns, longest_blocked=longest, refusals=refusals, committed=committed)
        return told(session_tally(delegations=[known]))

    assert firing(blocked(19)) == {}
    for turns in (20, 107):
        found = firing(blocked(turns))["ENFORCEMENT_BLOCKED|s1|d1"]
        assert found["facts"] == {
            "blocked_turns": turns, "longest_blocked": turns, "refusals": turns, "appealed": 2, "vindicated": 1,
            "commits": 0,
        }  # fmt: skip
        assert found["causes"] == ["effects"]
    written = blocked(0, committed=1, longest=107)
    assert firing(written) == {}
    assert set(over(written)) == {"ENFORCEMENT_BLOCKED|s1|d1"}


def test_what_was_spent_made_twice_or_claimed_by_two_stays_so() -> None:
    known = delegation(
        calls=41, tokens=7, highest_attempt=2, budget_calls=40, budget_tokens=9, committed=2, repeated_commits=1,
        identity_conflicts=1,
    )  # fmt: skip
    found = firing(told(session_tally(delegations=[known], identity_conflicts=["e2", "e1"])))
    assert set(found) == {
        "BUDGET_EXCEEDED|s1|d1", "DUPLICATE_EFFECT|s1|d1", "IDENTITY_CONFLICT|s1|d1", "IDENTITY_CONFLICT|s1",
    }  # fmt: skip
    budget = found["BUDGET_EXCEEDED|s1|d1"]
    assert budget["causes"] == ["calls"]
    assert budget["facts"] == {
        "calls": 41, "tokens": 7, "highest_attempt": 2, "budget_calls": 40, "budget_tokens": 9
    }  # fmt: skip
    assert found["DUPLICATE_EFFECT|s1|d1"]["facts"] == {"commits": 2, "repeated_commits": 1}
    conflict = found["IDENTITY_CONFLICT|s1"]
    assert (conflict["emitter_id"], conflict["facts"]) == ("e1", {"emitters": 2})


def test_each_delegation_has_alerts_of_its_own() -> None:
    stuck = [delegation(name, tripped=True, trips=1) for name in ("d1", "d2")]
    assert set(firing(told(session_tally(delegations=stuck)))) == {
        "STALLED_DELEGATION|s1|d1", "STALLED_DELEGATION|s1|d2",
    }  # fmt: skip


def test_nothing_fires_any_more_once_the_verdict_with_these_findings_was_acted_on() -> None:
    tally = chosen(*DRIFT, teardowns=[teardown(9)], delegations=[delegation(tripped=True, trips=1)])
    assert set(firing(told(tally))) == {"PREFERENCE_DRIFT|s1", "STALLED_DELEGATION|s1|d1"}
    assert firing(told(tally, discharged_at=at(30))) == {}


@pytest.mark.parametrize("kind", FINDING_KINDS)
def test_every_alert_fits_its_schema(kind: str) -> None:
    known = delegation(tripped=True, trips=1, budget_calls=1, repeated_commits=1, longest_blocked=20, blocked_turns=20)
    known["identity_conflicts"] = 1
    found = told(chosen(*DRIFT, delegations=[known]))
    alerts = [alert for alert in (*found.current, *found.past) if alert["kind"] == kind]
    assert alerts
    for alert in alerts:
        assert decode("alert", encode("alert", {**alert, "revision": 1})) == {**alert, "revision": 1}


def test_a_running_session_of_two_hosts_is_looked_at_again_when_they_have_accounted() -> None:
    made = SessionTable(TableRules(table_partitions=1), NothingKnown())
    made.apply("s1|0", chosen(*DRIFT))
    made.apply("s1|1", session_tally(partition=1, emitters=["e2"], last_seen_at=at(2)))
    (judged,) = made.take_judged(lambda _: None)
    assert not [alert for alert in judged.alerts if alert["state"] == "FIRING"]
    made.account({0: at(6), 1: at(6)})
    (judged,) = made.take_judged(lambda _: None)
    assert [alert["kind"] for alert in judged.alerts if alert["state"] == "FIRING"] == ["PREFERENCE_DRIFT"]
    made.account({0: at(7), 1: at(7)})
    assert made.take_judged(lambda _: None) == []
