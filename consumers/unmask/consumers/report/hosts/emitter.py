"""What the log holds of one emitter, beside what the emitter says to have recorded. Pure."""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.codes import Family
from unmask.schemas.scope import Scope

__all__ = ["ALWAYS_TOLD", "FAMILIES", "NOTHING", "Account", "EmitterRecord", "events_of"]

FAMILIES = tuple(str(family) for family in Family if family is not Family.UNKNOWN_FAMILY)
ALWAYS_TOLD = frozenset(FAMILIES[:4])
"""Families of which every emitter tells; of the others only those that say so, and a 0 of these means nothing."""


@dataclass(frozen=True, slots=True)
class Account:
    """What an emitter had recorded of one family when a batch was cut, since its start."""

    recorded: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    """By cause."""

    @property
    def shipped(self) -> int:
        """What was cut into batches and not given up since."""
        return self.recorded - sum(self.dropped.values())


NOTHING = Account()


def events_of(batch: dict[str, Any]) -> dict[str, int]:
    """How many events of each family a batch carries."""
    return {
        str(Family.ROUTE_ATTEMPT): sum(len(group["occurred_at"]) for group in batch["route_attempts"]),
        str(Family.KERNEL_FALLBACK): len(batch["kernel_fallbacks"]),
        str(Family.MASKED_ERROR): len(batch["masked_errors"]),
        str(Family.SESSION_TEARDOWN): len(batch["session_teardowns"]),
        str(Family.ROUTE_SELECTION): len(batch["route_selections"]),
        str(Family.DELEGATION_PROGRESS): len(batch["delegation_progress"]),
        str(Family.DELEGATION_EFFECT): len(batch["delegation_effects"]),
    }


@dataclass(slots=True)
class EmitterRecord:
    """One emitter; instants are microseconds."""

    emitter_id: str
    scope: Scope
    partition: int
    heartbeat: int
    last_arrival: int = 0
    """Broker's time of its newest record."""
    last_cut: int = 0
    """The emitter's own time of its newest account."""
    closed: bool = False
    duplicates: int = 0
    """Batches that were there before."""
    unreadable: int = 0
    """Records under its key that are no batch."""
    received: Counter[str] = field(default_factory=Counter)
    accounts: dict[str, Account] = field(default_factory=dict)
    """Of the newest batch."""
    before: dict[str, int] = field(default_factory=dict)
    """What had been shipped before the first batch that is known."""
    _runs: list[list[int]] = field(default_factory=list)
    """First and last number of each run of batches."""

    def take(self, batch: dict[str, Any], arrival: int) -> bool:
        """Takes a batch in; False where it was known."""
        self.last_arrival = max(self.last_arrival, arrival)
        seq = batch["batch_seq"]
        first, newest = self.first, self.newest
        if not self._add(seq):
            self.duplicates += 1
            return False
        events = events_of(batch)
        self.received.update(events)
        self.closed = self.closed or batch["closing"]
        accounts = {
            account["family"]: Account(account["recorded"], _by_cause(account["dropped"]))
            for account in batch["accounts"]
        }
        if newest is None or seq > newest:
            self.accounts = accounts
            self.heartbeat = batch["emitter"]["heartbeat_ms"] * 1000
            self.last_cut = batch["sent_at"]
        if first is None or seq < first:
            self.before = {
                family: accounts.get(family, NOTHING).shipped - events[family] for family in FAMILIES
            }  # fmt: skip
        return True

    @property
    def first(self) -> int | None:
        """Number of the first batch that is known."""
        return self._runs[0][0] if self._runs else None

    @property
    def newest(self) -> int | None:
        """Number of the newest batch that is known."""
        return self._runs[-1][1] if self._runs else None

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Numbers of batches that are missing between batches that are known, as runs."""
        return [(left[1] + 1, right[0] - 1) for left, right in zip(self._runs, self._runs[1:], strict=False)]

    def silent(self, broker_time: int, factor: int) -> bool:
        """Whether nothing has come for `factor` heartbeats although it has not closed."""
        return not self.closed and self.last_arrival + factor * self.heartbeat < broker_time

    def _add(self, seq: int) -> bool:
        runs = self._runs
        at = bisect_right(runs, seq, key=lambda run: run[0])
        left = runs[at - 1] if at else None
        if left is not None and seq <= left[1]:
            return False
        right = runs[at] if at < len(runs) else None
        joins_left = left is not None and left[1] == seq - 1
        joins_right = right is not None and right[0] == seq + 1
        if joins_left and joins_right:
            assert left is not None
            assert right is not None
            left[1] = right[1]
            del runs[at]
        elif joins_left:
            assert left is not None
            left[1] = seq
        elif joins_right:
            assert right is not None
            right[0] = seq
        else:
            runs.insert(at, [seq, seq])
        return True


def _by_cause(dropped: list[dict[str, Any]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for entry in dropped:
        found[entry["cause"]] += entry["count"]
    return dict(found)
