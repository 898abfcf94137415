"""FALLBACK_RATE over the windows of one capability."""

from typing import Any

import pytest
from tests.table_records import BLUE, GREEN, at, cell, closing_mark, flaw

from unmask.streams.tables.fallback_rate import FallbackRates
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.window_table import WindowTable

RULES = TableRules(table_partitions=1, fallback_rate_threshold=0.05)


def window(attempts: int, fallbacks: int, minute: int = 0, *, lossy: bool = False, **settings: Any) -> list[Any]:
    table = WindowTable(0, RULES)
    table.apply(*cell("emitters", 1, minute=minute, **settings))
    table.apply(*cell("route_attempt", attempts, minute=minute, **settings))
    table.apply(*cell("kernel_fallback", fallbacks, minute=minute, code="timeout", **settings))
    if lossy:
        table.apply(*flaw(minute=minute))
    table.apply(*closing_mark(minute + 1))
    return [{**record, "revision": 1} for record in table.records((at(minute), 60)).values()]


def observed(*windows: list[Any]) -> FallbackRates:
    rates = FallbackRates(RULES)
    for records in windows:
        for record in records:
            rates.observe(record)
    return rates


def states(rates: FallbackRates) -> list[str]:
    return [alert["state"] for _, alert in rates.alerts(frozenset({0}))]


def test_a_hundred_attempts_that_were_all_rescued_fire() -> None:
    """F03: that every caller was served does not cancel it."""
    ((partition, alert),) = observed(window(100, 100)).alerts(frozenset({0}))
    assert (partition, alert["kind"], alert["state"]) == (0, "FALLBACK_RATE", "FIRING")
    assert (alert["capability"], alert["facts"]) == ("search", {"attempts": 100, "fallbacks": 100})


@pytest.mark.parametrize(("fallbacks", "expected"), [(5, "RESOLVED"), (6, "FIRING")])
def test_exactly_the_threshold_does_not_fire(fallbacks: int, expected: str) -> None:
    assert states(observed(window(100, fallbacks))) == [expected]


def test_a_window_that_is_not_complete_does_not_decide() -> None:
    assert states(observed(window(100, 100, lossy=True))) == []
    assert states(observed(window(100, 0), window(100, 100, minute=1, lossy=True))) == ["RESOLVED"]


def test_recovery_resolves_it_and_the_alert_says_when() -> None:
    """F02: later windows have attempts and no fallbacks."""
    rates = observed(window(100, 50), window(100, 50, minute=1), window(100, 0, minute=2))
    ((_, alert),) = rates.alerts(frozenset({0}))
    assert (alert["state"], alert["until"]) == ("RESOLVED", at(2))


def test_the_alert_begins_with_the_first_of_the_windows_that_fire_in_a_row() -> None:
    rates = observed(window(9, 9), window(9, 0, minute=1), window(9, 9, minute=2), window(9, 9, minute=3))
    ((_, alert),) = rates.alerts(frozenset({0}))
    assert (alert["state"], alert["since"]) == ("FIRING", at(2))


def test_no_attempts_and_no_fallbacks_decide_nothing() -> None:
    """Z02: 0/0 has no ratio."""
    rates = observed(window(100, 100), window(0, 0, minute=1))
    assert states(rates) == ["FIRING"]
    assert states(observed(window(0, 0))) == []


def test_a_fallback_without_an_attempt_fires() -> None:
    assert states(observed(window(0, 1))) == ["FIRING"]


def test_scopes_are_rated_apart() -> None:
    rates = observed(window(100, 0, scope=BLUE), window(100, 100, scope=GREEN))
    found = {alert["scope"]["release_line"]: alert["state"] for _, alert in rates.alerts(frozenset({0}))}
    assert found == {"r1": "RESOLVED", "r2": "FIRING"}


def test_only_the_owner_of_the_alert_s_partition_publishes_it() -> None:
    rates = observed(window(100, 100))
    assert rates.alerts(frozenset()) == []


def test_a_rate_that_nobody_confirms_is_forgotten_after_the_horizon() -> None:
    rates = observed(window(100, 100), window(0, 0, minute=62))
    assert rates.alerts(frozenset({0})) == []


def test_a_corrected_window_is_rated_anew_and_an_older_record_of_it_is_not() -> None:
    rates = observed(window(100, 100), [{**r, "revision": 5} for r in window(100, 0)], window(100, 100))
    assert states(rates) == ["RESOLVED"]
