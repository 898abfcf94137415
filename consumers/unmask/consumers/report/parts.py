"""What one window says of one group, and the sum of what several windows say. Pure; counts that are not kept stay None.

A sum proves what the worst of its windows proves. In one window, scopes are put together as the tables do it: PENDING
and LOSSY spread, ABSENT is what nobody at all has witnessed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.report.cells import COUNTED_FAMILIES, LATER_FAMILIES, ReportRow, rate_of, spans_of
from unmask.consumers.report.dimensions import Labels
from unmask.schemas.codes import Evidence, Family, FlawCause
from unmask.schemas.models import Window

__all__ = ["Sum", "WindowPart", "part_of_records", "part_without_counts"]

_OVER_TIME = (Evidence.PENDING, Evidence.LOSSY, Evidence.ABSENT, Evidence.COMPLETE)
_OVER_SCOPES = (Evidence.PENDING, Evidence.LOSSY, Evidence.COMPLETE, Evidence.ABSENT)
_FAMILIES = tuple(str(family) for family in COUNTED_FAMILIES)


@dataclass(slots=True)
class WindowPart:
    """One window of one group."""

    states: dict[str, Evidence]
    causes: list[str] = field(default_factory=list)
    attempts: int | None = None
    fallbacks: int | None = None
    attempts_by_entry_point: dict[str, int] = field(default_factory=dict)
    fallbacks_by_reason: dict[str, int] = field(default_factory=dict)
    masked_errors: int | None = None
    masked_errors_by_class: dict[str, int] = field(default_factory=dict)
    teardowns_by_outcome: dict[str, int] = field(default_factory=dict)
    selections: int | None = None
    selections_by_timeline: dict[str, int] = field(default_factory=dict)
    delegation_calls: int | None = None
    delegation_calls_by_outcome: dict[str, int] = field(default_factory=dict)
    delegation_effects: int | None = None
    delegation_effects_by_step: dict[str, int] = field(default_factory=dict)
    emitters: int | None = None
    late: int | None = None
    skewed: int | None = None
    duplicates: int | None = None
    quarantined: int | None = None
    missing: int | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    compositions: set[str] = field(default_factory=set)

    @property
    def state(self) -> Evidence:
        """The worst of its families' states."""
        return _worst(self.states.values(), _OVER_TIME)

    @property
    def witnessed(self) -> bool:
        """Whether anything was counted, be it zero."""
        return self.emitters is not None

    def spoil(self) -> None:
        """A record of it cannot be read: nothing is known to be whole, unless it is still to come."""
        for family, state in self.states.items():
            self.states[family] = _worst((state, Evidence.LOSSY), _OVER_TIME)
        self.causes.append(str(FlawCause.QUARANTINED))


def part_without_counts(state: Evidence) -> WindowPart:
    """A window of which nothing was counted, and the state that says why."""
    return WindowPart(dict.fromkeys(_FAMILIES, state))


def part_of_records(evidence: list[Window], counted: list[Window], labels: Labels, *, whole: bool) -> WindowPart:
    """What the records of one window say of a group.

    `evidence` are the records of its scopes, at least one; `counted` those that are added up, which may be none: then
    the counts are zeros, real ones as far as the evidence goes. `whole` says that they are no capability's, so that all
    measures are theirs; a reason is of fallbacks alone, an entry point of attempts alone.
    """
    states = {
        str(family): _worst((record.evidence_of(family) for record in evidence), _OVER_SCOPES)
        for family in COUNTED_FAMILIES
    }
    part = WindowPart(states)
    if all(state is Evidence.ABSENT for state in states.values()):
        return part
    part.emitters = sum(record.emitters for record in evidence)
    unreadable = sum(record.quarantined for record in evidence)
    # Whose events an unreadable record had is not known: only a window as a whole can say that there were none.
    part.quarantined = unreadable if unreadable or any(record.scope is None for record in evidence) else None
    part.missing = sum(entry.missing for record in evidence for entry in record.evidence)
    for record in evidence:
        part.causes.extend(str(cause) for entry in record.evidence for cause in entry.causes)
        _add_codes(part.dropped, {str(cause): count for cause, count in record.dropped.items()})
    if labels.entry_point is None:
        _add_fallbacks(part, counted, labels.reason)
    if labels.reason is None:
        _add_attempts(part, counted, labels.entry_point)
    if whole and labels.reason is None and labels.entry_point is None:
        _add_rest(part, counted)
        _add_later(part, evidence, counted)
    return part


def _add_fallbacks(part: WindowPart, counted: list[Window], reason: str | None) -> None:
    part.fallbacks = 0
    for record in counted:
        if reason is None:
            part.fallbacks += record.fallbacks_total
            _add_codes(part.fallbacks_by_reason, record.fallbacks_by_reason)
        else:
            part.fallbacks += record.fallbacks_by_reason.get(reason, 0)
    if reason is not None and part.fallbacks:
        part.fallbacks_by_reason[reason] = part.fallbacks


def _add_attempts(part: WindowPart, counted: list[Window], entry_point: str | None) -> None:
    part.attempts = 0
    for record in counted:
        if entry_point is None:
            part.attempts += record.attempts
            _add_codes(part.attempts_by_entry_point, record.attempts_by_entry_point)
        else:
            part.attempts += record.attempts_by_entry_point.get(entry_point, 0)
    if entry_point is not None and part.attempts:
        part.attempts_by_entry_point[entry_point] = part.attempts


def _add_rest(part: WindowPart, counted: list[Window]) -> None:
    part.masked_errors = sum(record.masked_errors for record in counted)
    part.late = sum(record.late for record in counted)
    part.skewed = sum(record.skewed for record in counted)
    part.duplicates = sum(record.duplicates for record in counted)
    for record in counted:
        _add_codes(part.masked_errors_by_class, record.masked_errors_by_class)
        _add_codes(part.teardowns_by_outcome, record.teardowns_by_outcome)


def _add_later(part: WindowPart, evidence: list[Window], counted: list[Window]) -> None:
    """Families of which only some emitters tell: nothing where none of these did."""
    for family in LATER_FAMILIES:
        state = _worst((record.evidence_of(family) for record in evidence), _OVER_SCOPES)
        if state is Evidence.ABSENT:
            continue
        part.states[str(family)] = state
        total, codes, field_of_window = _LATER[str(family)]
        for record in counted:
            _add_codes(getattr(part, codes), getattr(record, field_of_window))
        setattr(part, total, sum(getattr(part, codes).values()))


_LATER = {
    str(Family.ROUTE_SELECTION): ("selections", "selections_by_timeline", "selections"),
    str(Family.DELEGATION_PROGRESS): ("delegation_calls", "delegation_calls_by_outcome", "delegation_calls"),
    str(Family.DELEGATION_EFFECT): ("delegation_effects", "delegation_effects_by_step", "delegation_effects"),
}
"""By family: the part's total and counts by code, and the window's field that holds them."""


def _add_codes(into: dict[str, int], counts: Mapping[str, int]) -> None:
    # A Counter does the same, at many times the price of most windows' one or two codes.
    for code, count in counts.items():
        into[code] = into.get(code, 0) + count


_PLAIN = (
    "attempts", "fallbacks", "masked_errors", "late", "skewed", "duplicates", "quarantined", "missing", "selections",
    "delegation_calls", "delegation_effects",
)  # fmt: skip
_MAPS = (
    "attempts_by_entry_point", "fallbacks_by_reason", "masked_errors_by_class", "teardowns_by_outcome", "dropped",
    "selections_by_timeline", "delegation_calls_by_outcome", "delegation_effects_by_step",
)  # fmt: skip


class Sum:
    """Adds up the windows of one line of one group."""

    __slots__ = (
        "_absent", "_causes", "_compositions", "_counts", "_emitters", "_maps", "_states", "_told", "_windows",
    )  # fmt: skip

    def __init__(self) -> None:
        self._counts: dict[str, int | None] = dict.fromkeys(_PLAIN)
        self._maps: dict[str, dict[str, int]] = {name: {} for name in _MAPS}
        self._states: dict[str, set[Evidence]] = {family: set() for family in _FAMILIES}
        self._told: dict[str, int] = {}
        """In how many windows somebody told of a family of which only some emitters tell."""
        self._windows: dict[str, int] = {}
        self._causes: dict[str, None] = {}
        self._compositions: set[str] = set()
        self._emitters: int | None = None
        self._absent: list[int] = []

    def add(self, start: int, part: WindowPart) -> None:
        """Adds the window that begins at `start`; windows come in order."""
        for name in _PLAIN:
            count = getattr(part, name)
            if count is not None:
                self._counts[name] = (self._counts[name] or 0) + count
        for name in _MAPS:
            counts = getattr(part, name)
            if counts:
                _add_codes(self._maps[name], counts)
        for family, state in part.states.items():
            self._states.setdefault(family, set()).add(state)
            if family in _LATER:
                self._told[family] = self._told.get(family, 0) + 1
        state_of_all = part.state
        name_of_all = str(state_of_all)
        self._windows[name_of_all] = self._windows.get(name_of_all, 0) + 1
        self._causes.update(dict.fromkeys(part.causes))
        self._compositions |= part.compositions
        if part.emitters is not None:
            self._emitters = max(self._emitters or 0, part.emitters)
        if state_of_all is Evidence.ABSENT:
            self._absent.append(start)

    def row(self, start: int, seconds: int, window_seconds: int, labels: Labels) -> ReportRow:
        """The line."""
        worst = {family: _worst(found, _OVER_TIME) for family, found in self._states.items()}
        state = _worst(worst.values(), _OVER_TIME)
        for family, told in self._told.items():
            # Windows in which nobody told of it weigh as all windows without a witness do, but on this family alone.
            if told < sum(self._windows.values()):
                worst[family] = _worst((worst[family], Evidence.ABSENT), _OVER_TIME)
        states = {family: str(state) for family, state in worst.items()}
        counts = self._counts
        rate, rate_state = rate_of(states, counts["attempts"], counts["fallbacks"], len(self._compositions))
        several = seconds != window_seconds
        fields: dict[str, Any] = {**counts, **{name: _plain(found) for name, found in self._maps.items()}}
        return ReportRow(
            window_start=start,
            window_seconds=seconds,
            state=state,
            labels=labels,
            states=states,
            rate=rate,
            rate_state=rate_state,
            emitters=self._emitters,
            causes=tuple(self._causes),
            compositions=len(self._compositions),
            windows=dict(sorted(self._windows.items())),
            absent=spans_of(self._absent, window_seconds) if several else (),
            **fields,
        )


def _plain(counts: dict[str, int]) -> dict[str, int]:
    return {code: count for code, count in sorted(counts.items()) if count}


def _worst(states: Iterable[Evidence], order: tuple[Evidence, ...]) -> Evidence:
    found = set(states)
    if len(found) == 1:
        return found.pop()
    return next((state for state in order if state in found), Evidence.ABSENT)
