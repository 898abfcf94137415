"""Instants are microseconds in UTC; nothing naive and no bare number passes for one."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from unmask.schemas.instants import FROM_MICROS, Instant, NaiveDatetime, from_micros, iso, to_micros

INSTANT: TypeAdapter[datetime] = TypeAdapter(Instant)


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_and_datetimes_are_the_same_instant(instant: datetime) -> None:
    assert from_micros(to_micros(instant)) == instant


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), st.integers(-14, 14))  # noqa: DTZ001
def test_the_zone_of_a_datetime_does_not_change_the_instant(local: datetime, hours: int) -> None:
    zoned = local.replace(tzinfo=timezone(timedelta(hours=hours)))
    assert to_micros(zoned) == to_micros(zoned.astimezone(UTC))


def test_the_repeated_hour_is_two_different_hours() -> None:
    new_york = ZoneInfo("America/New_York")
    first = datetime(2026, 11, 1, 1, 30, tzinfo=new_york)
    assert to_micros(first.replace(fold=1)) - to_micros(first) == 3_600_000_000
    assert INSTANT.validate_python(first.replace(fold=1)) - INSTANT.validate_python(first) == timedelta(hours=1)


def test_a_naive_datetime_is_refused_by_name() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001
    with pytest.raises(NaiveDatetime, match="attach one"):
        to_micros(naive)
    with pytest.raises(ValidationError, match="without a time zone"):
        INSTANT.validate_python(naive)
    with pytest.raises(ValidationError, match="without a time zone"):
        INSTANT.validate_json('"2026-01-01T00:00:00"')


def test_a_field_keeps_utc() -> None:
    kept = INSTANT.validate_json('"2026-01-01T08:00:00+08:00"')
    assert kept == datetime(2026, 1, 1, tzinfo=UTC)
    assert kept.tzinfo is UTC


@pytest.mark.parametrize("number", [0, 1_767_225_600, 1_767_225_600.5, True])
def test_a_bare_number_is_refused_since_its_unit_would_be_a_guess(number: object) -> None:
    with pytest.raises(ValidationError, match="no unit"):
        INSTANT.validate_python(number)


def test_records_hand_in_microseconds() -> None:
    assert INSTANT.validate_python(1_500_000, context={FROM_MICROS: True}) == from_micros(1_500_000)
    with pytest.raises(ValidationError, match="outside the years"):
        INSTANT.validate_python(2**62, context={FROM_MICROS: True})


def test_text_is_iso_with_a_z_and_fractions_only_where_there_are_any() -> None:
    assert iso(0) == "1970-01-01T00:00:00Z"
    assert iso(1_500_000) == "1970-01-01T00:00:01.500000Z"
