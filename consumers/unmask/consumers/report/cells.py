"""One line of a window report: counts that are never without what they prove."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unmask.schemas.codes import Evidence, Family
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Window
from unmask.schemas.windowing import LIFETIME, MICROS

__all__ = ["COUNTED_FAMILIES", "Labels", "ReportRow", "row_of", "row_without_counts"]

COUNTED_FAMILIES = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)

NO_ATTEMPTS = "NO_ATTEMPTS"
"""Why there is no rate although everything is known: nothing was attempted."""


class Labels(NamedTuple):
    """What a line is about; None stands for all."""

    release_line: str | None = None
    composition: str | None = None
    capability: str | None = None


_ALL = Labels()


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A window of one scope and capability, or what is said where no record of it exists.

    Counts are None where nothing was witnessed, or where they are not kept for a capability: not zero, and not to be
    added up as if they were.
    """

    window_start: int
    window_seconds: int
    state: Evidence
    """The worst of its families' states."""
    labels: Labels = _ALL
    states: dict[str, str] = field(default_factory=dict)
    """State by family."""
    attempts: int | None = None
    fallbacks: int | None = None
    rate: float | None = None
    """Fallbacks per attempt, only where both are COMPLETE and there were attempts."""
    rate_state: str = str(Evidence.ABSENT)
    """COMPLETE where there is a rate; else why there is none."""
    fallbacks_by_reason: dict[str, int] = field(default_factory=dict)
    masked_errors: int | None = None
    masked_errors_by_class: dict[str, int] = field(default_factory=dict)
    teardowns_by_outcome: dict[str, int] = field(default_factory=dict)
    emitters: int | None = None
    late: int | None = None
    skewed: int | None = None
    duplicates: int | None = None
    quarantined: int | None = None
    causes: tuple[str, ...] = ()
    missing: int | None = None
    dropped: dict[str, int] = field(default_factory=dict)

    @property
    def window_end(self) -> int | None:
        """Microseconds; None for the lifetime window."""
        return None if self.window_seconds == LIFETIME else self.window_start + self.window_seconds * MICROS

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "window_start": iso(self.window_start),
            "window_end": None if self.window_end is None else iso(self.window_end),
            "window_seconds": self.window_seconds,
            "release_line": self.labels.release_line,
            "composition": self.labels.composition,
            "capability": self.labels.capability,
            "state": str(self.state),
            "states": self.states,
            "attempts": self.attempts,
            "fallbacks": self.fallbacks,
            "rate": self.rate,
            "rate_state": self.rate_state,
            "fallbacks_by_reason": self.fallbacks_by_reason,
            "masked_errors": self.masked_errors,
            "masked_errors_by_class": self.masked_errors_by_class,
            "teardowns_by_outcome": self.teardowns_by_outcome,
            "emitters": self.emitters,
            "late": self.late,
            "skewed": self.skewed,
            "duplicates": self.duplicates,
            "quarantined": self.quarantined,
            "causes": list(self.causes),
            "missing": self.missing,
            "dropped": self.dropped,
        }


def row_of(window: Window, *, capability: str | None = None) -> ReportRow:
    """The line of a window record.

    With `capability`, the line of a capability that a witnessed scope did not count at all: the scope's evidence with
    zeros, which are real ones as far as that evidence goes.
    """
    counted = capability is None
    # Only attempts and fallbacks are counted by capability; of the rest a capability's record knows nothing.
    whole = counted and window.capability is None
    state = window.evidence_state
    if state is Evidence.ABSENT:
        return row_without_counts(
            to_micros(window.window_start), window.window_seconds, state, _labels(window, capability)
        )
    return ReportRow(
        window_start=to_micros(window.window_start),
        window_seconds=window.window_seconds,
        state=state,
        labels=_labels(window, capability),
        states={str(family): str(window.evidence_of(family)) for family in COUNTED_FAMILIES},
        attempts=window.attempts if counted else 0,
        fallbacks=window.fallbacks_total if counted else 0,
        rate=window.fallback_rate if counted else None,
        rate_state=_rate_state(window, window.attempts if counted else 0),
        fallbacks_by_reason=dict(window.fallbacks_by_reason) if counted else {},
        masked_errors=window.masked_errors if whole else None,
        masked_errors_by_class=dict(window.masked_errors_by_class) if whole else {},
        teardowns_by_outcome=dict(window.teardowns_by_outcome) if whole else {},
        emitters=window.emitters,
        late=window.late if whole else None,
        skewed=window.skewed if whole else None,
        duplicates=window.duplicates if whole else None,
        quarantined=window.quarantined,
        causes=tuple(dict.fromkeys(str(cause) for entry in window.evidence for cause in entry.causes)),
        missing=sum(entry.missing for entry in window.evidence),
        dropped={str(cause): count for cause, count in window.dropped.items()},
    )


def row_without_counts(
    start: int, seconds: int, state: Evidence, labels: Labels, causes: tuple[str, ...] = ()
) -> ReportRow:
    """The line of a window of which nothing was counted, and the state that says why."""
    return ReportRow(
        window_start=start,
        window_seconds=seconds,
        state=state,
        labels=labels,
        states={str(family): str(state) for family in COUNTED_FAMILIES},
        rate_state=str(state),
        causes=causes,
    )


def _labels(window: Window, capability: str | None) -> Labels:
    scope = window.scope
    named = window.capability if capability is None else capability
    return Labels(capability=named) if scope is None else Labels(scope.release_line, scope.composition, named)


_WORST_FIRST = (Evidence.PENDING, Evidence.LOSSY, Evidence.ABSENT, Evidence.COMPLETE)


def _rate_state(window: Window, attempts: int) -> str:
    states = {window.evidence_of(Family.ROUTE_ATTEMPT), window.evidence_of(Family.KERNEL_FALLBACK)}
    worst = next(state for state in _WORST_FIRST if state in states)
    return NO_ATTEMPTS if worst is Evidence.COMPLETE and attempts == 0 else str(worst)
