"""What follows of one key, and of one budget, from all that was decided so far."""

from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Budget", "Commit", "Effect", "End", "Lease"]


class End(StrEnum):
    """How a lease ended."""

    COMMITTED = "committed"
    RELEASED = "released"
    OVER = "over"
    """Without a word; a later request found that out."""


@dataclass(slots=True)
class Lease:
    """One lease of a key."""

    token: int
    holder: str
    request_id: str
    granted_at: int
    until: int
    end: End | None = None
    ended_at: int | None = None

    def live(self, now: int) -> bool:
        """Whether it holds."""
        return self.end is None and now < self.until

    def close(self, end: End, at: int) -> None:
        """It ends."""
        self.end, self.ended_at = end, at


@dataclass(frozen=True, slots=True)
class Commit:
    """The one commit of a key."""

    token: int
    receipt: str | None
    at: int | None


@dataclass(slots=True)
class Effect:
    """One key."""

    fingerprint: str | None
    leases: list[Lease] = field(default_factory=list)
    attempts: int = 0
    unsettled: int = 0
    commit: Commit | None = None
    late_receipt: str | None = None
    changed_at: int = 0

    @property
    def newest(self) -> Lease | None:
        """Its newest lease; None where that was before the history begins."""
        return self.leases[-1] if self.leases else None

    def find_over(self, now: int) -> None:
        """A lease whose time is over is found so by whatever asks for the key next."""
        lease = self.newest
        if lease is not None and lease.end is None and now >= lease.until:
            lease.close(End.OVER, now)
            self.unsettled += 1
            self.changed_at = now


@dataclass(slots=True)
class Budget:
    """One budget."""

    used: int
    limit: int | None
    changed_at: int
