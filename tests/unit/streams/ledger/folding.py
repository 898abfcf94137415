"""A partition folded step by step: batches go in with a broker time, counts and flaws are looked at."""

from collections import Counter
from typing import Any
from zlib import crc32

from unmask.schemas.scope import Scope
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.flaws import flaw_records
from unmask.streams.ledger.fold import fold_batch
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import FlawRecord, PartitionState, Touched

__all__ = ["Folded"]

FlawName = tuple[int, int, str]
"""Window start, window seconds, cause."""


class Folded:
    """A state, and everything that it told to publish so far."""

    def __init__(self, rules: FoldRules | None = None) -> None:
        self.rules = rules or FoldRules()
        self.state = PartitionState(0)
        self.told: list[Touched] = []
        self._flaws: dict[tuple[Any, ...], FlawRecord] = {}

    def batch(self, batch: dict[str, Any], arrival: int | None = None) -> int:
        """Folds a batch; without a broker time it arrives when it was sent."""
        at = batch["sent_at"] if arrival is None else arrival
        digest = crc32(repr(batch).encode())
        n = fold_batch(self.state, self.rules, self.state.next_offset, at, {"digest": digest, **batch})
        self.take()
        return n

    def through(self, read_through: int) -> None:
        """Everything up to a broker time has been read."""
        advance(self.state, self.rules, read_through)
        self.take()

    def take(self) -> Touched:
        """Empties what is to be published, as a commit does."""
        touched = self.state.take_touched()
        for flaw in flaw_records(touched, self.rules):
            key = (flaw.start, flaw.seconds, flaw.scope, flaw.emitter_id, flaw.from_seq, flaw.to_seq, flaw.cause)
            if flaw.losses is None:
                self._flaws.pop(key, None)
            else:
                self._flaws[key] = flaw
        self.told.append(touched)
        return touched

    @property
    def flaws(self) -> list[FlawRecord]:
        """All flaws that stand."""
        return list(self._flaws.values())

    def flawed(self, seconds: int = 60) -> set[FlawName]:
        """Windows of a size that are flawed, with the cause."""
        return {(flaw.start, flaw.seconds, flaw.cause) for flaw in self.flaws if flaw.seconds == seconds}

    def flawed_starts(self, seconds: int = 60) -> set[int]:
        """Starts of the flawed windows of a size."""
        return {flaw.start for flaw in self.flaws if flaw.seconds == seconds}

    def counts(self, measure: str, seconds: int = 0, scope: Scope | None = None) -> Counter[int]:
        """Counts of a measure by window start: cells and corrections."""
        counts: Counter[int] = Counter()
        for (start, size, of, what, _, _), cell in self.state.cells.items():
            if (size, what) == (seconds, measure) and scope in (None, of):
                counts[start] += cell.count
        for touched in self.told:
            for ((start, size, of, what, _, _), _), n in touched.corrections.items():
                if (size, what) == (seconds, measure) and scope in (None, of):
                    counts[start] += n
        return counts

    def series(self, measure: str, seconds: int = 0) -> Counter[tuple[str, str]]:
        """Counts of a measure by capability and code, in the windows of a size."""
        counts: Counter[tuple[str, str]] = Counter()
        for (_, size, _, what, capability, code), cell in self.state.cells.items():
            if (size, what) == (seconds, measure):
                counts[capability, code] += cell.count
        return counts

    def total(self, measure: str) -> int:
        """Count of all time."""
        return self.counts(measure)[0]
