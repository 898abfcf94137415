"""The policy: how long, how busy and how freshly tested is enough, and who said so."""

from dataclasses import dataclass

from unmask.schemas.windowing import MICROS

__all__ = ["DAY", "HOUR", "WINDOW_SECONDS", "Policy", "PolicyError"]

WINDOW_SECONDS = 3600
"""Eligibility is decided over hourly windows."""
HOUR = WINDOW_SECONDS * MICROS
DAY = 24 * HOUR


class PolicyError(ValueError):
    """A policy that asks for nothing, or for what cannot be; the text says what would do."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What eligibility takes. Raises PolicyError where a value cannot be."""

    days: int = 28
    """Length of the healthy span without a fallback."""
    attempts: int = 10_000
    """Attempts of the capability that the span must hold."""
    parity_max_age: int = 7 * DAY
    """How old the newest run of a suite may be; microseconds."""
    suites: tuple[str, ...] = ()
    """Suites that must be green; empty for all that are published and speak of the capability."""
    set_by: str | None = None
    """Who set it, as they said themselves."""
    source: str = "the defaults"
    """Where its values are from."""

    def __post_init__(self) -> None:
        if not 1 <= self.days <= 180:
            raise PolicyError("days is a whole number from 1 to 180")
        if self.attempts < 1:
            raise PolicyError("attempts is at least 1: nothing follows from what was never tried")
        if not 0 < self.parity_max_age <= 400 * DAY:
            raise PolicyError("a parity run may be at most 400 days old")
        if self.set_by is not None and not (self.set_by.isprintable() and 0 < len(self.set_by) <= 100):
            raise PolicyError("who set the policy is a name of at most 100 printable characters")

    @property
    def span(self) -> int:
        """The span's length in microseconds."""
        return self.days * DAY

    def weaker_in(self) -> tuple[str, ...]:
        """In what it asks for less than the default."""
        usual = Policy()
        less = {
            "days": self.days < usual.days,
            "attempts": self.attempts < usual.attempts,
            "parity_max_age": self.parity_max_age > usual.parity_max_age,
        }
        return tuple(name for name, weaker in less.items() if weaker)
