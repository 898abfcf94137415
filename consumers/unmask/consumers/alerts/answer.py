"""What a receiver's answer to a request means: taken, not taken for now, or never to be taken as it is."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Accepted", "Answer", "Failed", "Refused", "asked_for", "read_status"]

_LATER = {408, 429}
_LONGEST_ASKED_FOR = 300.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """The receiver took the request."""

    status: int


@dataclass(frozen=True, slots=True)
class Failed:
    """It did not, and may later: no connection, no answer in time, 408, 429, any 5xx."""

    why: str
    """A status or the name of a failure; never what the receiver wrote."""
    asked_for: float | None = None
    """Seconds that the receiver wants to be left alone for."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It never will, as the request or the address is: any other status."""

    status: int


Answer = Accepted | Failed | Refused


def read_status(status: int, retry_after: str | None, now: datetime) -> Answer:
    """The meaning of an answer's status."""
    if 200 <= status < 300:
        return Accepted(status)
    if status in _LATER or status >= 500:
        return Failed(f"HTTP {status}", asked_for(retry_after, now))
    return Refused(status)


def asked_for(retry_after: str | None, now: datetime) -> float | None:
    """The seconds of a Retry-After header, at most five minutes; None where there is none that can be read."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:9])
    else:
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = ((at if at.tzinfo is not None else at.replace(tzinfo=UTC)) - now).total_seconds()
    return min(max(0.0, seconds), _LONGEST_ASKED_FOR)
