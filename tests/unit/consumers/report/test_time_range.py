"""Granularities, and instants in UTC alone."""

import pytest

from unmask.consumers.report import RangeError, parse_range
from unmask.schemas.instants import iso
from unmask.schemas.windowing import MICROS

NOW = 1_767_268_800 * MICROS + 1_500_000
"""2026-01-01T12:00:01.5Z."""


@pytest.mark.parametrize(
    ("since", "seconds", "windows"),
    [("1h", 60, 60), ("6h", 60, 60), ("7h", 3_600, 3_600), ("14d", 3_600, 3_600), ("28d", 86_400, 3_600)],
)
def test_without_a_granularity_it_suits_the_range(since: str, seconds: int, windows: int) -> None:
    wanted = parse_range(since, "now", None, NOW)
    assert (wanted.seconds, wanted.window_seconds) == (seconds, windows)


def test_days_begin_at_midnight_utc_and_have_24_hours_each() -> None:
    wanted = parse_range("36h", "now", "1d", NOW)
    starts = list(wanted.starts())
    assert [iso(start) for start in starts] == ["2025-12-31T00:00:00Z", "2026-01-01T00:00:00Z"]
    assert [len(list(wanted.windows_of(start))) for start in starts] == [24, 24]
    assert iso(wanted.read_until) == "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    "instant", ["2026-01-01T11:00:00Z", "2026-01-01T11:00:00+00:00", "2026-01-01T11:00:00.5Z", "20260101T110000Z"]
)
def test_instants_are_iso_8601_in_utc(instant: str) -> None:
    assert parse_range(instant, "now", 60, NOW).since == 1_767_265_200 * MICROS


@pytest.mark.parametrize(
    ("instant", "why"),
    [
        ("2026-01-01T11:00:00", "no time zone"),
        ("2026-01-01", "no time zone"),
        ("2026-01-01T12:00:00+01:00", "another zone than UTC"),
        ("2026-01-01T11:00:00-00:30", "another zone than UTC"),
        ("yesterday", "is no time"),
    ],
)
def test_what_is_not_in_utc_is_refused(instant: str, why: str) -> None:
    with pytest.raises(RangeError, match=why):
        parse_range(instant, "now", None, NOW)


def test_a_granularity_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(RangeError, match="1m, 1h, 1d"):
        parse_range("1h", "now", "1w", NOW)
