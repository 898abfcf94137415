"""What a ledger tells of itself."""

import time
from dataclasses import dataclass, field

__all__ = ["LedgerStatus", "Progress"]


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """A snapshot of a ledger's condition."""

    ready: bool
    """Joined, states restored, and committing or idle."""
    reason: str
    """Why it is not ready; empty when it is."""
    partitions: tuple[int, ...] = ()
    lag: int = 0
    """Records that stand in the log of these partitions and were not folded yet."""
    records: int = 0
    events: int = 0
    transactions: int = 0
    quarantined: int = 0
    emitters: int = 0
    cells: int = 0
    sessions: int = 0
    error: BaseException | None = None
    """What ended it."""


@dataclass(slots=True)
class Progress:
    """What a ledger counts while it runs, over all of its lives."""

    reason: str = "starting"
    moved_at: float = field(default_factory=time.monotonic)
    """When it last committed, or had nothing to commit; monotonic seconds."""
    failing_since: float | None = None
    """When the first of several lives failed of which none has held since; monotonic seconds."""
    records: int = 0
    events: int = 0
    transactions: int = 0
    quarantined: int = 0

    def began(self) -> None:
        """A life has its partitions. After a failure that proves nothing yet: the next one may be the same."""
        if self.failing_since is None:
            self.reason = ""

    def held(self) -> None:
        """A life has gone on for a while."""
        self.failing_since, self.reason = None, ""

    def failed(self, reason: str, now: float) -> float:
        """A life has ended at `now`, monotonic seconds. Returns for how long nothing has helped."""
        self.reason = reason
        if self.failing_since is None:
            self.failing_since = now
        return now - min(self.moved_at, self.failing_since)
