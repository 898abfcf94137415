"""Outages of upstreams, seen over sessions."""

from typing import Any

from tests.table_records import at, cell

from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.upstreams import UpstreamTable

RULES = TableRules(table_partitions=1)


def met(*sessions: str, minute: int = 0, **settings: Any) -> tuple[str, dict[str, Any]]:
    return cell(
        "upstream", len(sessions), minute=minute, sessions=sessions,
        **{"capability": "primary", "code": "timeout", **settings},
    )  # fmt: skip


def found(*keyed: tuple[str, dict[str, Any]], closed: float | None = None, rules: TableRules = RULES) -> Any:
    table = UpstreamTable(rules)
    for key, record in keyed:
        table.apply(key, record)
    table.close(None if closed is None else at(closed))
    alerts = table.take_alerts()
    assert len(alerts) <= 1
    return alerts[0] if alerts else None


def test_two_sessions_that_meet_one_unreachable_upstream_in_one_window_are_an_outage() -> None:
    alert = found(met("s1", "s2"))
    assert (alert["kind"], alert["state"], alert["upstream"]) == ("UPSTREAM_OUTAGE", "FIRING", "primary")
    assert alert["alert_id"] == "UPSTREAM_OUTAGE|primary"
    assert alert["facts"] == {"sessions": 2, "masked_errors": 2}


def test_one_session_that_meets_it_again_and_again_is_not() -> None:
    assert found(met("s1"), met("s1", partition=1), met("s1", minute=1)) is None


def test_sessions_are_counted_over_source_partitions() -> None:
    assert found(met("s1", partition=0), met("s2", partition=1))["state"] == "FIRING"


def test_sessions_in_different_windows_are_not_together() -> None:
    assert found(met("s1", minute=0), met("s2", minute=1)) is None


def test_how_many_sessions_it_takes_can_be_set() -> None:
    assert found(met("s1", "s2"), rules=TableRules(table_partitions=1, outage_sessions=3)) is None


def test_an_outage_goes_on_while_the_next_window_is_still_open() -> None:
    assert found(met("s1", "s2"), closed=1.9)["state"] == "FIRING"


def test_an_outage_ends_with_the_first_closed_window_that_has_none() -> None:
    alert = found(met("s1", "s2"), met("s1", minute=1), closed=3)
    assert (alert["state"], alert["since"], alert["until"]) == ("RESOLVED", at(0), at(2))


def test_a_single_session_keeps_an_outage_going() -> None:
    alert = found(met("s1", "s2"), met("s1", minute=1), met("s3", minute=2), closed=3)
    assert (alert["state"], alert["since"]) == ("FIRING", at(0))


def test_a_later_outage_of_the_same_upstream_is_the_one_that_is_told() -> None:
    alert = found(met("s1", "s2"), met("s3", "s4", minute=5), closed=6)
    assert (alert["state"], alert["since"]) == ("FIRING", at(5))


def test_an_upstream_that_answers_again_is_forgotten_after_the_horizon() -> None:
    table = UpstreamTable(RULES)
    table.apply(*met("s1", "s2"))
    table.close(at(3))
    assert [alert["state"] for alert in table.take_alerts()] == ["RESOLVED"]
    table.close(at(62))
    table.take_alerts()
    assert "primary" not in table


def test_a_long_outage_keeps_its_beginning() -> None:
    table = UpstreamTable(RULES)
    for minute in range(130):
        table.apply(*met("s1", "s2", minute=minute))
        table.close(at(minute))
        (alert,) = table.take_alerts()
    assert alert["since"] == at(0)


def test_windows_of_other_sizes_do_not_alert() -> None:
    assert found(met("s1", "s2", seconds=3600)) is None
