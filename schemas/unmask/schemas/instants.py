"""Instants: microseconds since the UTC epoch on the wire, aware datetimes at the edges, nothing naive anywhere."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

__all__ = ["FROM_MICROS", "Instant", "NaiveDatetime", "from_micros", "iso", "to_micros"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class NaiveDatetime(ValueError):
    """A datetime without a zone: it would shift by the host's zone. Attach `datetime.UTC` or another zone."""

    def __init__(self) -> None:
        super().__init__("a datetime without a time zone was given; attach one, for example datetime.UTC")


def to_micros(instant: datetime) -> int:
    """Microseconds since the epoch of an aware datetime. Raises NaiveDatetime."""
    if instant.tzinfo is None or instant.utcoffset() is None:
        raise NaiveDatetime
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware UTC datetime of microseconds since the epoch."""
    return _EPOCH + timedelta(microseconds=micros)


def iso(micros: int) -> str:
    """ISO 8601 in UTC with a `Z`; fractions only where there are any."""
    return from_micros(micros).isoformat().replace("+00:00", "Z")


FROM_MICROS = "micros"
"""Validation context key: set it to true where integers are microseconds since the epoch, as in records."""


def _no_guessed_unit(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, int | float):
        if isinstance(value, int) and not isinstance(value, bool) and info.context and info.context.get(FROM_MICROS):
            return _from_wire(value)
        # pydantic would guess seconds or milliseconds from the number's size.
        raise ValueError("an instant is an aware datetime or ISO 8601 text; a bare number has no unit")
    return value


def _from_wire(micros: int) -> datetime:
    try:
        return from_micros(micros)
    except OverflowError as error:
        raise ValueError("an instant lies outside the years 1 to 9999") from error


def _aware_utc(value: datetime) -> datetime:
    if value.tzinfo is None or value.utcoffset() is None:
        raise NaiveDatetime
    return value.astimezone(UTC)


Instant = Annotated[datetime, BeforeValidator(_no_guessed_unit), AfterValidator(_aware_utc)]
"""A pydantic field type: an aware datetime, kept in UTC. Numbers are refused, since they would say no unit."""
