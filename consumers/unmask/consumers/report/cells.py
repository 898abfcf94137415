"""One line of a window report: counts that are never without what they prove."""

from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.report.dimensions import NO_LABELS, Labels
from unmask.schemas.codes import Evidence, Family
from unmask.schemas.instants import iso
from unmask.schemas.windowing import LIFETIME, MICROS

__all__ = [
    "COUNTED_FAMILIES",
    "LATER_FAMILIES",
    "MIXED_COMPOSITIONS",
    "NOT_COUNTED",
    "NO_ATTEMPTS",
    "Labels",
    "ReportRow",
    "Span",
    "rate_of",
    "spans_of",
]

COUNTED_FAMILIES = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)
"""Families of which every emitter tells."""
LATER_FAMILIES = (Family.ROUTE_SELECTION, Family.DELEGATION_PROGRESS, Family.DELEGATION_EFFECT)
"""Families of which only some emitters tell: where none does, a line says nothing of them, which is no zero."""

NO_ATTEMPTS = "NO_ATTEMPTS"
"""Why there is no rate although everything is known: nothing was attempted."""
MIXED_COMPOSITIONS = "MIXED_COMPOSITIONS"
"""Counts of two compositions are added up, which are not comparable."""
NOT_COUNTED = "NOT_COUNTED"
"""Attempts or fallbacks are not counted by what the line is divided by."""

Span = tuple[int, int]
"""First instant and the instant after the last, microseconds."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The windows of one line's time, or what is said where no record of them exists.

    Counts are None where nothing was witnessed, or where they are not kept for what the line is divided by: not zero,
    and not to be added up as if they were.
    """

    window_start: int
    window_seconds: int
    state: Evidence
    """The worst of its families' states."""
    labels: Labels = NO_LABELS
    states: dict[str, str] = field(default_factory=dict)
    """State by family."""
    attempts: int | None = None
    fallbacks: int | None = None
    rate: float | None = None
    """Fallbacks per attempt, only where both are COMPLETE and there were attempts."""
    rate_state: str = str(Evidence.ABSENT)
    """COMPLETE where there is a rate; else why there is none."""
    attempts_by_entry_point: dict[str, int] = field(default_factory=dict)
    fallbacks_by_reason: dict[str, int] = field(default_factory=dict)
    masked_errors: int | None = None
    masked_errors_by_class: dict[str, int] = field(default_factory=dict)
    teardowns_by_outcome: dict[str, int] = field(default_factory=dict)
    selections: int | None = None
    """None where nobody tells of selections; so for calls and effects of delegations."""
    selections_by_timeline: dict[str, int] = field(default_factory=dict)
    """By `source.timeline`."""
    delegation_calls: int | None = None
    delegation_calls_by_outcome: dict[str, int] = field(default_factory=dict)
    delegation_effects: int | None = None
    delegation_effects_by_step: dict[str, int] = field(default_factory=dict)
    """By `enforcer.step`."""
    emitters: int | None = None
    """Witnesses; of several windows, the most that one had."""
    late: int | None = None
    skewed: int | None = None
    duplicates: int | None = None
    quarantined: int | None = None
    causes: tuple[str, ...] = ()
    missing: int | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    compositions: int = 0
    """How many compositions its attempts and fallbacks are of."""
    windows: dict[str, int] = field(default_factory=dict)
    """How many of the windows that were added up are in which state."""
    absent: tuple[Span, ...] = ()
    """When nobody witnessed anything, where several windows are added up."""
    notes: tuple[str, ...] = ()
    """What else has to be known, in words."""

    @property
    def window_end(self) -> int | None:
        """Microseconds; None for the lifetime window."""
        return None if self.window_seconds == LIFETIME else self.window_start + self.window_seconds * MICROS

    @property
    def losses(self) -> dict[str, int]:
        """Events that are lost, by cause: dropped by hosts, and `missing` without a word."""
        lost = dict(sorted(self.dropped.items()))
        return lost | ({"missing": self.missing} if self.missing else {})

    @property
    def silent(self) -> bool:
        """Whether nothing was counted, and nothing has to be said of that."""
        return self.emitters is None and self.fallbacks is None and not self.causes and not self.notes

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "window_start": iso(self.window_start),
            "window_end": None if self.window_end is None else iso(self.window_end),
            "window_seconds": self.window_seconds,
            **self.labels._asdict(),
            "state": str(self.state),
            "states": self.states,
            "attempts": self.attempts,
            "fallbacks_total": self.fallbacks,
            "rate": self.rate,
            "rate_state": self.rate_state,
            "attempts_by_entry_point": self.attempts_by_entry_point,
            "fallbacks_by_reason": self.fallbacks_by_reason,
            "masked_errors": self.masked_errors,
            "masked_errors_by_class": self.masked_errors_by_class,
            "teardowns_by_outcome": self.teardowns_by_outcome,
            "selections": self.selections,
            "selections_by_timeline": self.selections_by_timeline,
            "delegation_calls": self.delegation_calls,
            "delegation_calls_by_outcome": self.delegation_calls_by_outcome,
            "delegation_effects": self.delegation_effects,
            "delegation_effects_by_step": self.delegation_effects_by_step,
            "emitters": self.emitters,
            "late": self.late,
            "skewed": self.skewed,
            "duplicates": self.duplicates,
            "quarantined": self.quarantined,
            "losses": self.losses,
            "causes": list(self.causes),
            "compositions": self.compositions,
            "windows": self.windows,
            "absent": [{"since": iso(first), "until": iso(last)} for first, last in self.absent],
            "notes": list(self.notes),
        }


_WORST_FIRST = (Evidence.PENDING, Evidence.LOSSY, Evidence.ABSENT, Evidence.COMPLETE)


def rate_of(
    states: dict[str, str], attempts: int | None, fallbacks: int | None, compositions: int
) -> tuple[float | None, str]:
    """The rate and its state; a rate only where both families are COMPLETE and there were attempts."""
    needed = {states.get(str(family), Evidence.ABSENT) for family in (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK)}
    worst = next(state for state in _WORST_FIRST if state in needed)
    if worst is not Evidence.COMPLETE:
        return None, str(worst)
    if attempts is None or fallbacks is None:
        return None, NOT_COUNTED
    if compositions > 1:
        return None, MIXED_COMPOSITIONS
    if attempts == 0:
        return None, NO_ATTEMPTS
    return fallbacks / attempts, str(Evidence.COMPLETE)


def spans_of(starts: list[int], seconds: int) -> tuple[Span, ...]:
    """Windows of one size, by their starts in order, with neighbours as one span."""
    spans: list[Span] = []
    for start in starts:
        end = start + seconds * MICROS
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(spans)
