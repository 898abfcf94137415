"""A recovery: one automatic choice, from what made it necessary to its end."""

from dataclasses import dataclass
from typing import Any

from unmask.schemas.codes import Finding

__all__ = ["Recovery"]


@dataclass(frozen=True, slots=True)
class Recovery:
    """One automatic choice of a session. Codes are their texts; instants are microseconds."""

    profile: str
    source: str
    scope: str
    """For how long it was meant."""
    emergency: bool
    began_at: int
    turn: int
    """The turn in which it began."""
    reason_code: str | None
    """The fault that made it necessary; None where nobody stated one."""
    persisted_at: int | None
    """When it was written down for later turns."""
    state: str
    ended_at: int | None
    """None while it is open, and where it ended with its turn: nobody records the end of a turn."""
    ended_turn: int | None
    cleared_by: str | None
    findings: tuple[Finding, ...]

    def as_record(self) -> dict[str, Any]:
        """As a verdict holds it."""
        return {
            "profile": self.profile,
            "scope": self.scope,
            "emergency": self.emergency,
            "began_at": self.began_at,
            "turn": self.turn,
            "reason_code": self.reason_code,
            "persisted_at": self.persisted_at,
            "state": self.state,
            "ended_at": self.ended_at,
            "cleared_by": self.cleared_by,
            "findings": [finding.value for finding in self.findings],
        }
