"""Window records: one window's counts and evidence for one label set, as they stand on the windows topic."""

from collections.abc import Iterable
from typing import Any

from unmask.schemas.codes import Enforcer, Measure
from unmask.schemas.scope import Scope
from unmask.streams.tables.cells import Label

__all__ = ["Counts", "count_cells", "window_record"]

_ATTEMPT, _FALLBACK = Measure.ROUTE_ATTEMPT.value, Measure.KERNEL_FALLBACK.value
_MASKED, _TEARDOWN = Measure.MASKED_ERROR.value, Measure.SESSION_TEARDOWN.value
_EMITTERS, _LATE = Measure.EMITTERS.value, Measure.LATE.value
_BY_CAPABILITY = (_ATTEMPT, _FALLBACK)
_SKEWED, _DUPLICATES = Measure.SKEWED.value, Measure.DUPLICATES.value
_SELECTION, _WITNESSES = Measure.ROUTE_SELECTION.value, Measure.WITNESSES.value
_NOTHING, _NOBODY_KNOWN = "-", Enforcer.UNKNOWN_ENFORCER.value
_PROGRESS, _EFFECT = Measure.DELEGATION_PROGRESS.value, Measure.DELEGATION_EFFECT.value


class Counts:
    """Sums over cells, by code; those of measures without a code, as emitters and late, by measure."""

    __slots__ = ("attempts", "calls", "effects", "fallbacks", "masked", "plain", "selections", "teardowns", "witnesses")

    def __init__(self) -> None:
        # Made for every label of a window whenever it is published, so that these are plain dictionaries.
        self.attempts: dict[str, int] = {}
        self.fallbacks: dict[str, int] = {}
        self.masked: dict[str, int] = {}
        self.teardowns: dict[str, int] = {}
        self.plain: dict[str, int] = {}
        self.selections: dict[str, int] = {}
        self.calls: dict[str, int] = {}
        self.effects: dict[str, int] = {}
        self.witnesses: dict[str, int] = {}

    def add(self, measure: str, capability: str, code: str, count: int) -> None:
        """Adds what cells of one measure, capability and code count together."""
        if measure == _ATTEMPT:
            sums = self.attempts
        elif measure == _FALLBACK:
            sums = self.fallbacks
        elif measure == _MASKED:
            sums = self.masked
        elif measure == _TEARDOWN:
            sums = self.teardowns
        elif measure == _SELECTION:
            sums, code = self.selections, f"{capability}.{code}"
        elif measure == _PROGRESS:
            sums = self.calls
        elif measure == _EFFECT:
            # A code of its own, since the label for nothing begins no token.
            sums, code = self.effects, f"{_NOBODY_KNOWN if capability == _NOTHING else capability}.{code}"
        elif measure == _WITNESSES:
            sums, code = self.witnesses, capability
        else:
            sums, code = self.plain, measure
        sums[code] = sums.get(code, 0) + count

    def update(self, other: "Counts") -> None:
        """Adds another sum."""
        for name in Counts.__slots__:
            sums = getattr(self, name)
            for code, count in getattr(other, name).items():
                sums[code] = sums.get(code, 0) + count

    @property
    def emitters(self) -> int:
        """Witnesses."""
        return self.plain.get(_EMITTERS, 0)


def count_cells(cells: Iterable[tuple[Label, int]]) -> dict[Scope, dict[str | None, Counts]]:
    """Sums by scope and capability; capability None is the scope as a whole.

    Only attempts and fallbacks belong to a capability.
    """
    scopes: dict[Scope, dict[str | None, Counts]] = {}
    for label, count in cells:
        scope, measure, capability, code = label
        by_capability = scopes.get(scope)
        if by_capability is None:
            by_capability = scopes[scope] = {None: Counts()}
        by_capability[None].add(measure, capability, code, count)
        if count and measure in _BY_CAPABILITY:
            part = by_capability.get(capability)
            if part is None:
                part = by_capability[capability] = Counts()
            part.add(measure, capability, code, count)
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
        "attempts": sum(counts.attempts.values()),
        "attempts_by_entry_point": dict(counts.attempts),
        "fallbacks_total": sum(counts.fallbacks.values()),
        "fallbacks_by_reason": dict(counts.fallbacks),
        "masked_errors": sum(counts.masked.values()),
        "masked_errors_by_class": dict(counts.masked),
        "teardowns_by_outcome": dict(counts.teardowns),
        "emitters": emitters,
        "late": counts.plain.get(_LATE, 0),
        "skewed": counts.plain.get(_SKEWED, 0),
        "duplicates": counts.plain.get(_DUPLICATES, 0),
        "quarantined": quarantined,
        "evidence": evidence,
        "selections": dict(counts.selections),
        "delegation_calls": dict(counts.calls),
        "delegation_effects": dict(counts.effects),
    }
