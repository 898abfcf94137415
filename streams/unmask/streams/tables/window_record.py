"""Window records: one window's counts and evidence for one label set, as they stand on the windows topic."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.codes import Measure
from unmask.schemas.scope import Scope
from unmask.streams.tables.cells import Label

__all__ = ["Counts", "count_cells", "window_record"]

_ATTEMPT, _FALLBACK = Measure.ROUTE_ATTEMPT.value, Measure.KERNEL_FALLBACK.value
_MASKED, _TEARDOWN = Measure.MASKED_ERROR.value, Measure.SESSION_TEARDOWN.value
_EMITTERS, _LATE = Measure.EMITTERS.value, Measure.LATE.value
_SKEWED, _DUPLICATES = Measure.SKEWED.value, Measure.DUPLICATES.value


@dataclass(slots=True)
class Counts:
    """Sums over cells."""

    attempts: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    teardowns: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    """Measures without a code: emitters, late, skewed, duplicates."""

    def add(self, label: Label, count: int) -> None:
        """Adds a cell."""
        measure = label.measure
        if measure == _ATTEMPT:
            self.attempts[label.code] += count
        elif measure == _FALLBACK:
            self.fallbacks[label.code] += count
        elif measure == _MASKED:
            self.masked[label.code] += count
        elif measure == _TEARDOWN:
            self.teardowns[label.code] += count
        else:
            self.plain[measure] += count

    def update(self, other: "Counts") -> None:
        """Adds another sum."""
        self.attempts.update(other.attempts)
        self.fallbacks.update(other.fallbacks)
        self.masked.update(other.masked)
        self.teardowns.update(other.teardowns)
        self.plain.update(other.plain)

    @property
    def emitters(self) -> int:
        """Witnesses."""
        return self.plain[_EMITTERS]


def count_cells(cells: Iterable[tuple[Label, int]]) -> dict[Scope, dict[str | None, Counts]]:
    """Sums by scope and capability; capability None is the scope as a whole.

    Only attempts and fallbacks belong to a capability.
    """
    scopes: dict[Scope, dict[str | None, Counts]] = {}
    for label, count in cells:
        by_capability = scopes.setdefault(label.scope, {None: Counts()})
        by_capability[None].add(label, count)
        if count and label.measure in (_ATTEMPT, _FALLBACK):
            by_capability.setdefault(label.capability, Counts()).add(label, count)
    return scopes


def window_record(
    start: int,
    seconds: int,
    scope: Scope | None,
    capability: str | None,
    counts: Counts,
    *,
    emitters: int,
    quarantined: int,
    evidence: list[dict[str, Any]],
) -> dict[str, Any]:
    """The record, all but its revision."""
    return {
        "window_start": start,
        "window_seconds": seconds,
        "scope": None if scope is None else scope._asdict(),
        "capability": capability,
        "attempts": counts.attempts.total(),
        "attempts_by_entry_point": dict(counts.attempts),
        "fallbacks_total": counts.fallbacks.total(),
        "fallbacks_by_reason": dict(counts.fallbacks),
        "masked_errors": counts.masked.total(),
        "masked_errors_by_class": dict(counts.masked),
        "teardowns_by_outcome": dict(counts.teardowns),
        "emitters": emitters,
        "late": counts.plain[_LATE],
        "skewed": counts.plain[_SKEWED],
        "duplicates": counts.plain[_DUPLICATES],
        "quarantined": quarantined,
        "evidence": evidence,
    }
