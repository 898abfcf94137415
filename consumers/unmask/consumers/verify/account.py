"""What a batch says of its emitter's books, and what two batches together prove about the stretch between them.

`shipped` is recorded minus dropped, cumulative. Between two batches of one emitter with nothing known in between, what
was shipped when the later one began must be what was shipped through the earlier one; the rest is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from unmask.consumers.verify.strict import Batch
from unmask.schemas.codes import Family, FlawCause

__all__ = ["FAMILIES", "SESSION_FAMILIES", "Book", "Loss", "Stretch", "books_of", "compare_books"]

FAMILIES = tuple(family.value for family in Family if family is not Family.UNKNOWN_FAMILY)
SESSION_FAMILIES = frozenset(FAMILIES) - {Family.ROUTE_ATTEMPT.value}
"""Families whose events belong to sessions."""

Books = Mapping[str, tuple[int, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class Book:
    """The books at one cut: per family what was shipped, and what was dropped by cause, since the emitter began."""

    cut: int
    families: Books = field(default_factory=dict)

    def shipped(self, family: str) -> int:
        """Recorded minus dropped."""
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
        if not any(loss.missing for loss in self.losses.values()):
            return FlawCause.DROPPED
        return FlawCause.MISCOUNT if self.before == self.after + 1 else FlawCause.GAP

    @property
    def concerns_sessions(self) -> bool:
        """Whether events of sessions are among what is lost."""
        return not SESSION_FAMILIES.isdisjoint(self.losses)


def books_of(batch: Batch, cut: int) -> tuple[Book, Book]:
    """The books when the batch began and when it was cut."""
    held = {
        Family.ROUTE_ATTEMPT.value: sum(len(group["occurred_at"]) for group in batch["route_attempts"]),
        Family.KERNEL_FALLBACK.value: len(batch["kernel_fallbacks"]),
        Family.MASKED_ERROR.value: len(batch["masked_errors"]),
        Family.SESSION_TEARDOWN.value: len(batch["session_teardowns"]),
    }
    end: dict[str, tuple[int, dict[str, int]]] = {}
    for account in batch["accounts"]:
        if account["family"] in held:
            lost = {entry["cause"]: entry["count"] for entry in account["dropped"] if entry["count"]}
            end[account["family"]] = (account["recorded"] - sum(lost.values()), lost)
    begin = dict(end)
    for family, events in held.items():
        if events:
            shipped, lost = end.get(family, (0, {}))
            begin[family] = (shipped - events, lost)
    return Book(cut, begin), Book(cut, end)


def compare_books(after: int, earlier: Book, before: int, later: Book) -> Stretch | None:
    """What is lost between batch `after`, through its end, and batch `before`, at its beginning; None for nothing."""
    losses: dict[str, Loss] = {}
    if earlier.families != later.families:
        for family in FAMILIES:
            missing = later.shipped(family) - earlier.shipped(family)
            known, now = earlier.dropped(family), later.dropped(family)
            dropped = {cause: n - known.get(cause, 0) for cause, n in now.items() if n != known.get(cause, 0)}
            if missing or dropped:
                losses[family] = Loss(missing, dropped)
    return Stretch(after, before, earlier.cut, later.cut, losses) if losses else None
