"""TELEMETRY_LOSS of one window."""

from typing import Any

from tests.table_records import BLUE, GREEN, MINUTE, at, cell, closing_mark, flaw, loss

from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.window_alerts import loss_alerts
from unmask.streams.tables.window_table import WindowTable

HOUR = 60 * MINUTE


def alerts(*keyed: tuple[str, dict[str, Any]], now: float = 1) -> list[dict[str, Any]]:
    table = WindowTable(0, TableRules(table_partitions=1))
    for key, record in keyed:
        table.apply(key, record)
    return loss_alerts(table.records((at(0), 60)), now=at(now), horizon=HOUR)


def test_a_lossy_scope_fires_with_its_window_and_the_numbers() -> None:
    (alert,) = alerts(cell("emitters", 1), flaw(loss("route_attempt", 2, buffer_full=3)), closing_mark(1))
    assert (alert["kind"], alert["state"], alert["since"], alert["until"]) == ("TELEMETRY_LOSS", "FIRING", at(0), None)
    assert (alert["window_start"], alert["window_seconds"], alert["causes"]) == (at(0), 60, ["gap"])
    assert alert["facts"] == {"missing_route_attempt": 2, "dropped_route_attempt": 3}
    assert alert["alert_id"] == f"TELEMETRY_LOSS|60|{at(0) // 1_000_000}|r1|{BLUE.composition}"


def test_a_window_that_is_not_closed_says_nothing_yet() -> None:
    assert alerts(cell("emitters", 1), flaw(), closing_mark(0.5)) == []


def test_each_scope_alerts_for_itself() -> None:
    found = alerts(cell("emitters", 1), cell("emitters", 1, scope=GREEN), flaw(), closing_mark(1))
    assert {alert["scope"]["release_line"]: alert["state"] for alert in found} == {"r1": "FIRING", "r2": "RESOLVED"}


def test_unreadable_records_alert_although_no_scope_is_known() -> None:
    unreadable = flaw(scope=None, emitter=None, from_seq=7, to_seq=8, cause="quarantined")
    (alert,) = alerts(unreadable, closing_mark(1))
    assert (alert["state"], alert["scope"], alert["facts"]) == ("FIRING", None, {"quarantined": 1})


def test_a_healed_window_is_resolved_under_the_same_identity() -> None:
    (lossy,) = alerts(cell("emitters", 1), flaw(), closing_mark(1))
    (healed,) = alerts(cell("emitters", 1), closing_mark(1), now=2)
    assert healed["alert_id"] == lossy["alert_id"]
    assert (healed["state"], healed["until"]) == ("RESOLVED", at(2))


def test_a_loss_that_never_heals_is_resolved_after_the_horizon() -> None:
    (alert,) = alerts(cell("emitters", 1), flaw(), closing_mark(1), now=61)
    assert (alert["state"], alert["until"]) == ("RESOLVED", at(1) + HOUR)
