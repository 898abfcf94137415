"""A change of an alert, and where it stands on the topic."""

from dataclasses import dataclass
from typing import NamedTuple

from pydantic import ValidationError

from unmask.schemas.errors import DecodeError
from unmask.schemas.models import Alert, from_avro
from unmask.schemas.wire import decode

__all__ = ["Change", "Place", "UnreadableAlert", "read_alert"]


class Place(NamedTuple):
    """A record's place on the alerts topic."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Change:
    """An alert as it became with the record at `place`."""

    alert: Alert
    place: Place


@dataclass(frozen=True, slots=True)
class UnreadableAlert:
    """A record on the alerts topic that is none; where it stands and why, never its bytes."""

    partition: int
    offset: int
    reason: str


def read_alert(value: bytes, place: Place) -> Alert | UnreadableAlert:
    """The alert that a record's value is."""
    try:
        return from_avro(Alert, decode("alert", value))
    except DecodeError as error:
        return UnreadableAlert(*place, str(error.reason))
    except ValidationError:
        return UnreadableAlert(*place, "INVALID_CONTENT")
