"""What the ledger has counted since ever, per cell with the offset it is good for; and the same of the log. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unmask.consumers.report.hosts.emitter import FAMILIES
from unmask.consumers.topic_reader import Row
from unmask.schemas.codes import Measure
from unmask.schemas.errors import DecodeError
from unmask.schemas.scope import Scope
from unmask.schemas.signatures import classify_signature
from unmask.schemas.windowing import LIFETIME
from unmask.schemas.wire import decode_any

__all__ = ["CellId", "LedgerCells", "LogCells", "Placed", "cells_of"]

_LATE, _SKEWED, _DUPLICATES = str(Measure.LATE), str(Measure.SKEWED), str(Measure.DUPLICATES)


class CellId(NamedTuple):
    """A cell of all time."""

    partition: int
    scope: Scope
    measure: str
    capability: str
    code: str


class Placed(NamedTuple):
    """A count and the offset below which it is true."""

    total: int
    offset: int


@dataclass(slots=True)
class LedgerCells:
    """The newest snapshot of each cell of all time, how far each partition has been read, and what came late."""

    known: dict[CellId, Placed] = field(default_factory=dict)
    marks: dict[int, int] = field(default_factory=dict)
    """Offset below which everything was published, by partition."""
    _late: dict[bytes, tuple[Scope, int, int]] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Takes a record of the tallies topic in."""
        key = row.key or b""
        if row.value is None or not key.startswith((b"c|", b"m|")):
            return
        parts = key.split(b"|")
        if key.startswith(b"c|") and parts[2] != b"0" and parts[6:7] != [_LATE.encode()]:
            return
        try:
            name, said = decode_any(("tally", "evidence_mark"), row.value)
        except DecodeError:
            return
        if name == "evidence_mark":
            self.marks[said["partition"]] = max(said["offset"], self.marks.get(said["partition"], 0))
            return
        scope = Scope(**said["scope"])
        if said["window_seconds"] != LIFETIME:
            self._late[key] = (scope, said["window_seconds"], said["count"])
            return
        cell = CellId(said["partition"], scope, said["measure"], said["capability"], said["code"])
        before = self.known.get(cell)
        if before is None or before.offset <= said["offset"]:
            self.known[cell] = Placed(said["count"], said["offset"])

    def limit(self, cell: CellId) -> int:
        """Below which offset of its partition the cell's count is true."""
        placed = self.known.get(cell)
        return max(self.marks.get(cell.partition, 0), 0 if placed is None else placed.offset)

    def totals(self) -> Counter[tuple[Scope, str]]:
        """Counts by scope and measure."""
        found: Counter[tuple[Scope, str]] = Counter()
        for cell, placed in self.known.items():
            found[cell.scope, cell.measure] += placed.total
        return found

    def remarks(self, scope: Scope) -> dict[str, int]:
        """Late, skewed and duplicates of a scope. Late ones of the smallest windows, as far as they are kept."""
        totals = self.totals()
        sizes = {size for of, size, _ in self._late.values() if of == scope}
        late = sum(n for of, size, n in self._late.values() if of == scope and size == min(sizes))
        return {"late": late, "skewed": totals[scope, _SKEWED], "duplicates": totals[scope, _DUPLICATES]}


@dataclass(slots=True)
class LogCells:
    """The same counts from the log: what lies below each cell's limit, and what behind it."""

    ledger: LedgerCells
    below: Counter[tuple[Scope, str]] = field(default_factory=Counter)
    waiting: Counter[tuple[Scope, str]] = field(default_factory=Counter)
    partitions: defaultdict[Scope, set[int]] = field(default_factory=lambda: defaultdict(set))
    _limits: dict[CellId, int] = field(default_factory=dict)

    def take(self, partition: int, offset: int, scope: Scope, batch: dict[str, Any]) -> None:
        """Counts a batch that was not there before."""
        self.partitions[scope].add(partition)
        for measure, capability, code, count in cells_of(batch):
            cell = CellId(partition, scope, measure, capability, code)
            limit = self._limits.get(cell)
            if limit is None:
                limit = self._limits[cell] = self.ledger.limit(cell)
            (self.below if offset < limit else self.waiting)[scope, measure] += count


def cells_of(batch: dict[str, Any]) -> Iterator[tuple[str, str, str, int]]:
    """Measure, capability, code and count of everything that a batch is counted into."""
    attempt, fallback, masked, teardown, selection, progress, effect = FAMILIES
    for group in batch["route_attempts"]:
        yield attempt, group["capability"], group["entry_point"], len(group["occurred_at"])
    for event in batch["kernel_fallbacks"]:
        yield fallback, event["capability"], event["reason_code"], 1
    for event in batch["masked_errors"]:
        yield masked, event["upstream"], str(classify_signature(event["masked_upstream_signature"])), 1
    for event in batch["session_teardowns"]:
        yield teardown, "-", event["outcome"], 1
    for event in batch["route_selections"]:
        yield selection, event["source"], event["timeline"], 1
    for event in batch["delegation_progress"]:
        yield progress, "-", event["outcome"], 1
    for event in batch["delegation_effects"]:
        yield effect, event["enforcer"] or "-", event["step"], 1
