"""What can be wrong with a history."""

from dataclasses import dataclass
from enum import StrEnum

from unmask.consumers.effects_check.history import Key

__all__ = ["Breach", "Problem"]


class Breach(StrEnum):
    """Which rule is broken."""

    SECOND_COMMIT = "SECOND_COMMIT"
    """A key was committed twice: under two tokens, or with two receipts."""
    LOST_COMMIT = "LOST_COMMIT"
    """A commit that stood is not known any more, or is not where somebody was told it was."""
    LATE_COMMIT = "LATE_COMMIT"
    """A commit was taken though its lease was over, or not the newest."""
    TOKEN_WENT_BACK = "TOKEN_WENT_BACK"
    """A new lease has a token that is not above all earlier ones of its key."""
    LEASE_OVERLAP = "LEASE_OVERLAP"
    """Two leases of one key at a time."""
    GRANT_AFTER_COMMIT = "GRANT_AFTER_COMMIT"
    """An effect that is committed was granted again."""
    OVER_BUDGET = "OVER_BUDGET"
    """More was granted than the budget allows."""
    LEASE_NEVER_ENDED = "LEASE_NEVER_ENDED"
    """A lease did not end within the time that is allowed after its own."""
    MISSING_DECISION = "MISSING_DECISION"
    """A request has none."""
    DECISION_ORDER = "DECISION_ORDER"
    """A decision that is out of order, there twice, or belongs to no request."""
    TENANTS_MIXED = "TENANTS_MIXED"
    """A tenant was told what is another's."""
    WRONG_TIME = "WRONG_TIME"
    """Decided at another time than the broker's of the request."""
    WRONG_FACTS = "WRONG_FACTS"
    """The answer is right, and something that it tells of the key or the budget is not."""
    UNFOUNDED = "UNFOUNDED"
    """An answer for which the history has no ground."""
    UNREADABLE = "UNREADABLE"
    """A decision that cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    breach: Breach
    partition: int
    offset: int | None
    """Of the request; None where none can be named."""
    key: Key | None
    text: str

    def __str__(self) -> str:
        place = f"{self.partition}" if self.offset is None else f"{self.partition}@{self.offset}"
        return f"{self.breach} {place} {self.key or ''}: {self.text}"
