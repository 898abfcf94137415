"""What a batch says of its emitter's books, and what two batches together prove about the stretch between them.

`recorded` and `dropped` are cumulative; what is shipped is the difference. Between two batches of one emitter with
nothing known in between, what had been recorded when the later one began must be what was recorded through the earlier
one, or events are lost there: missing, if they were shipped, or dropped by the host. What is dropped only later, after
it was cut into a batch, moves from shipped to dropped in a later account, and is lost where that batch is missing.
"""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from unmask.consumers.verify.strict import ALWAYS_TOLD, FAMILIES, Batch
from unmask.schemas.codes import Family, FlawCause

__all__ = ["SESSION_FAMILIES", "Book", "Loss", "Stretch", "books_of", "compare_books"]

SESSION_FAMILIES = frozenset(ALWAYS_TOLD) - {Family.ROUTE_ATTEMPT.value}
"""Families of which any session may lack events; of the others only one in which the emitter told of such."""

Books = Mapping[str, tuple[int, Mapping[str, int]]]
"""Per family: recorded, and dropped by cause."""


@dataclass(frozen=True, slots=True)
class Book:
    """The books at one cut, since the emitter began."""

    cut: int
    families: Books = field(default_factory=dict)
    ahead: bool = False
    """Whether the host's clock was ahead of the broker's by too much, so that the cut is the broker's time instead."""

    def recorded(self, family: str) -> int:
        """All events that the host recorded, dropped ones included."""
        entry = self.families.get(family)
        return 0 if entry is None else entry[0]

    def dropped(self, family: str) -> Mapping[str, int]:
        """Dropped, by cause."""
        entry = self.families.get(family)
        return {} if entry is None else entry[1]


class Loss(NamedTuple):
    """What a stretch lacks of one family. `missing` below 0: more was received than had been recorded."""

    missing: int
    dropped: dict[str, int]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Between two batches of an emitter, by their numbers and cuts: what is lost there."""

    after: int
    before: int
    cut_after: int
    cut_before: int
    losses: dict[str, Loss]

    @property
    def cause(self) -> FlawCause:
        """One cause for the whole stretch: what is missing weighs more than what the host says that it dropped."""
        if self.before > self.after + 1 and any(loss.missing > 0 for loss in self.losses.values()):
            return FlawCause.GAP
        return FlawCause.DROPPED if any(loss.dropped for loss in self.losses.values()) else FlawCause.MISCOUNT

    def concerns(self, told: Set[str]) -> bool:
        """Whether events may be lost of a session in which the emitter told of these families."""
        return not SESSION_FAMILIES.isdisjoint(self.losses) or not told.isdisjoint(self.losses)


def books_of(batch: Batch, cut: int, *, ahead: bool) -> tuple[Book, Book]:
    """The books when the batch began and when it was cut."""
    held = {
        Family.ROUTE_ATTEMPT.value: sum(len(group["occurred_at"]) for group in batch["route_attempts"]),
        Family.KERNEL_FALLBACK.value: len(batch["kernel_fallbacks"]),
        Family.MASKED_ERROR.value: len(batch["masked_errors"]),
        Family.SESSION_TEARDOWN.value: len(batch["session_teardowns"]),
        Family.ROUTE_SELECTION.value: len(batch["route_selections"]),
        Family.DELEGATION_PROGRESS.value: len(batch["delegation_progress"]),
        Family.DELEGATION_EFFECT.value: len(batch["delegation_effects"]),
    }
    end: dict[str, tuple[int, Mapping[str, int]]] = {}
    for account in batch["accounts"]:
        if account["family"] in held:
            dropped: Counter[str] = Counter()
            for entry in account["dropped"]:
                dropped[entry["cause"]] += entry["count"]
            end[account["family"]] = (account["recorded"], +dropped)
    begin = dict(end)
    for family, events in held.items():
        if events:
            recorded, lost = end.get(family, (0, {}))
            begin[family] = (recorded - events, lost)
    return Book(cut, begin, ahead), Book(cut, end, ahead)


def compare_books(after: int, earlier: Book, before: int, later: Book) -> Stretch | None:
    """What is lost between batch `after`, through its end, and batch `before`, at its beginning; None for nothing."""
    losses: dict[str, Loss] = {}
    if earlier.families != later.families:
        for family in FAMILIES:
            lost = later.recorded(family) - earlier.recorded(family)
            if lost:
                known, now = earlier.dropped(family), later.dropped(family)
                dropped = {c: n for c in {**known, **now} if (n := now.get(c, 0) - known.get(c, 0))}
                losses[family] = Loss(lost - sum(dropped.values()), dropped)
    return Stretch(after, before, earlier.cut, later.cut, losses) if losses else None
