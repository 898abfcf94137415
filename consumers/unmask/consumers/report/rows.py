"""Which lines a report has: one for each time and group that was asked for, also where nothing is known of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from unmask.consumers.report.cells import ReportRow
from unmask.consumers.report.dimensions import Dimension, Labels, Selection
from unmask.consumers.report.parts import Sum, WindowPart, part_of_records, part_without_counts
from unmask.consumers.report.time_range import RangeError, TimeRange
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import to_micros
from unmask.schemas.models import Window
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import LIFETIME, MICROS, window_end

__all__ = ["MAX_ROWS", "build_rows"]

MAX_ROWS = 500_000
"""The most lines that a report has."""

Fine = frozenset[Dimension]


@dataclass(slots=True)
class _Facts:
    """All records of one window."""

    whole: Window | None = None
    scopes: dict[Scope, Window] = field(default_factory=dict)
    capabilities: dict[Scope, dict[str, Window]] = field(default_factory=lambda: defaultdict(dict))


def build_rows(records: WindowRecords, wanted: TimeRange, selection: Selection, *, now: int) -> list[ReportRow]:
    """The lines of a report, by time and labels: each group that was met in the range has one for each time in it,
    from the first on in which its release line and composition were witnessed; and every time has one.

    A window of which there is no record is ABSENT, never zero, or PENDING where it has not ended at `now`; one whose
    record cannot be read is LOSSY. A line of several windows proves what the worst of them does. Instants in
    microseconds. Tenants are not told apart here. Raises RangeError for too many lines, DimensionError.
    """
    facts = _by_start(records)
    fine = selection.dimensions - {Dimension.TENANT}
    if selection.by_tenant:
        # Lines of tenants have the entry points of their fallbacks, which windows do not have.
        fine -= {Dimension.ENTRY_POINT}
    met = {labels for found in facts.values() for labels in _groups(found, selection, fine)}
    groups = sorted(met, key=Labels.order)
    groups = _without_fallen(groups, fine) or [selection.labels._replace(tenant=None)]
    starts = list(wanted.starts())
    if len(groups) * len(starts) > MAX_ROWS:
        raise RangeError(
            f"that is {len(groups) * len(starts):,} lines, of {len(groups):,} groups; ask for less time, a coarser "
            "granularity, or fewer dimensions"
        )
    unreadable = set(records.unreadable)
    first = _first_seen(facts, groups, selection, fine)
    rows: list[ReportRow] = []
    for start in starts:
        end = start + wanted.seconds * MICROS
        shown = [labels for labels in groups if first.get(labels, start) < end or wanted.seconds == LIFETIME]
        shown = shown or [selection.labels._replace(tenant=None)]
        sums = [Sum() for _ in shown]
        for window in wanted.windows_of(start):
            found = facts.get(window)
            over = wanted.seconds != LIFETIME and window_end(window, wanted.window_seconds) <= now
            for labels, total in zip(shown, sums, strict=True):
                part = _part(found, labels, selection, over=over)
                if window in unreadable:
                    part.spoil()
                total.add(window, part)
        rows.extend(
            total.row(start, wanted.seconds, wanted.window_seconds, labels)
            for labels, total in zip(shown, sums, strict=True)
        )
    return rows


def _by_start(records: WindowRecords) -> dict[int, _Facts]:
    facts: defaultdict[int, _Facts] = defaultdict(_Facts)
    for window in records.windows:
        found = facts[to_micros(window.window_start)]
        if window.scope is None:
            found.whole = window
        elif window.capability is None:
            found.scopes[window.scope] = window
        else:
            found.capabilities[window.scope][window.capability] = window
    return facts


def _first_seen(facts: dict[int, _Facts], groups: list[Labels], selection: Selection, fine: Fine) -> dict[Labels, int]:
    """When each group's release line and composition were first witnessed; not for those that were asked for by name.

    Before, it may not have existed: that nobody witnessed it then says nothing.
    """
    lines = Dimension.RELEASE_LINE in fine and selection.release_line is None
    compositions = Dimension.COMPOSITION in fine and selection.composition is None
    if not (lines or compositions):
        return {}
    scopes: dict[Scope, int] = {}
    for start, found in facts.items():
        for scope in {**found.scopes, **found.capabilities}:
            scopes[scope] = min(start, scopes.get(scope, start))
    seen: dict[Labels, int] = {}
    for labels in groups:
        of = [start for scope, start in scopes.items() if _is_of(scope, labels, selection)]
        if of:
            seen[labels] = min(of)
    return seen


def _groups(found: _Facts, selection: Selection, fine: Fine) -> Iterator[Labels]:
    """Labels of everything that one window counted."""
    for scope in {**found.scopes, **found.capabilities}:
        if not selection.wants(scope):
            continue
        labels = Labels(
            release_line=scope.release_line if Dimension.RELEASE_LINE in fine else selection.release_line,
            composition=scope.composition if Dimension.COMPOSITION in fine else selection.composition,
            capability=selection.capability,
        )
        capabilities = found.capabilities.get(scope, {})
        if Dimension.CAPABILITY in fine and selection.capability is None:
            # A scope that was witnessed and counted nothing still has its line, or it would look unwitnessed.
            yield labels
            for capability, record in capabilities.items():
                yield from _finer(labels._replace(capability=capability), record, fine)
        else:
            yield from _finer(labels, _counted(found, scope, selection.capability), fine)
    if not fine and selection.any_scope and selection.capability is None:
        yield Labels()


def _finer(labels: Labels, record: Window | None, fine: Fine) -> Iterator[Labels]:
    if Dimension.REASON in fine:
        yield from (labels._replace(reason=code) for code in (record.fallbacks_by_reason if record else ()))
    elif Dimension.ENTRY_POINT in fine:
        yield from (labels._replace(entry_point=name) for name in (record.attempts_by_entry_point if record else ()))
    else:
        yield labels


def _without_fallen(groups: list[Labels], fine: Fine) -> list[Labels]:
    """Without the lines of scopes as a whole where the scope has capabilities."""
    if Dimension.CAPABILITY not in fine:
        return groups
    speaking = {labels[:2] for labels in groups if labels.capability is not None}
    return [labels for labels in groups if labels.capability is not None or labels[:2] not in speaking]


def _counted(found: _Facts, scope: Scope, capability: str | None) -> Window | None:
    return found.scopes.get(scope) if capability is None else found.capabilities.get(scope, {}).get(capability)


def _part(found: _Facts | None, labels: Labels, selection: Selection, *, over: bool) -> WindowPart:
    """What one window says of a group."""
    unwitnessed = Evidence.ABSENT if over else Evidence.PENDING
    if found is None:
        return part_without_counts(unwitnessed)
    scopes = [scope for scope in {**found.scopes, **found.capabilities} if _is_of(scope, labels, selection)]
    if labels[:3] == (None, None, None) and found.whole is not None:
        part = part_of_records([found.whole], [found.whole], labels, whole=True)
    elif scopes:
        evidence = [record for scope in scopes if (record := _evidence(found, scope)) is not None]
        counted = [c for scope in scopes if (c := _counted(found, scope, labels.capability)) is not None]
        part = part_of_records(evidence, counted, labels, whole=labels.capability is None)
    else:
        if found.whole is not None:
            # Its record says whether the window is over, whatever else is known.
            pending = found.whole.evidence_state is Evidence.PENDING
            unwitnessed = Evidence.PENDING if pending else Evidence.ABSENT
        return part_without_counts(unwitnessed)
    part.compositions = {
        scope.composition
        for scope in scopes
        if (counted_by := _counted(found, scope, labels.capability)) is not None
        and (counted_by.attempts or counted_by.fallbacks_total)
    }
    return part


def _evidence(found: _Facts, scope: Scope) -> Window | None:
    """A record that has the scope's evidence: its capabilities repeat it."""
    records: Iterable[Window] = found.capabilities.get(scope, {}).values()
    return found.scopes.get(scope) or next(iter(records), None)


def _is_of(scope: Scope, labels: Labels, selection: Selection) -> bool:
    if labels.release_line not in (None, scope.release_line):
        return False
    # A line for what was asked for has the digits that were typed; any other has all of a digest.
    return (labels.composition is None or scope.composition.startswith(labels.composition)) and selection.wants(scope)
