"""Fallbacks by tenant. Windows do not know tenants; only fallbacks name theirs, one by one, on unmask.fallbacks.

So a tenant's line has fallbacks alone: no attempts, hence no rate, and what its counts prove is what the window of its
release line and composition proves, since nobody knows whose the events were that were lost. What a window counts and
no record names a tenant for is a line of its own, and so are the fallbacks that came without a tenant.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from unmask.consumers.report.cells import COUNTED_FAMILIES, ReportRow, rate_of
from unmask.consumers.report.dimensions import Dimension, Labels, Selection
from unmask.consumers.report.fallbacks_view import Fallbacks, Told
from unmask.schemas.codes import Evidence
from unmask.schemas.scope import Scope

__all__ = ["NOT_DIVIDED", "UNKNOWN", "TenantlessRefused", "UnknownTenants", "tenant_rows"]

# Parentheses stand in no token, so that no tenant can have such a name.
UNKNOWN = "(unknown)"
"""Fallbacks that came without a tenant, or without an entry point."""
NOT_DIVIDED = "(not divided)"
"""Fallbacks that windows count and of which no record is left, or none is there yet."""


class UnknownTenants(StrEnum):
    """What becomes of fallbacks without a tenant."""

    SEPARATE = "separate"
    """They are a group of their own, `(unknown)`, also beside one chosen tenant."""
    REFUSE = "refuse"
    """There is no report where there are any."""
    MERGE = "merge"
    """They are counted as the chosen tenant's, whose line says so."""


class TenantlessRefused(ValueError):
    """There are fallbacks without a tenant, and the policy is to refuse them."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count:,} fallback(s) in this range have no tenant, and --unknown-tenant refuse wants none; "
            "let hosts pass tenant_id=, or ask with --unknown-tenant separate"
        )


def tenant_rows(
    rows: Sequence[ReportRow], fallbacks: Fallbacks, selection: Selection, policy: UnknownTenants
) -> list[ReportRow]:
    """The lines of `rows` (which are not divided by tenant), divided. Raises TenantlessRefused.

    Every tenant that was met in a group has a line for each of its times.
    """
    by_line, uncounted = _by_line(rows, fallbacks, selection)
    unknown = sum(n for found in by_line.values() for (tenant, _), n in found.items() if tenant == UNKNOWN)
    if policy is UnknownTenants.REFUSE and unknown:
        raise TenantlessRefused(unknown)
    met: defaultdict[Labels, set[tuple[str, str | None]]] = defaultdict(set)
    for (_, labels), found in by_line.items():
        met[labels] |= found.keys()
    divided: list[ReportRow] = []
    for row in [*rows, *uncounted]:
        found = by_line.get((row.window_start, row.labels), Counter())
        divided += _lines(row, found, met[row.labels], selection, policy)
    undivided = {row.labels for row in divided if row.labels.tenant == NOT_DIVIDED and (row.fallbacks or row.notes)}
    kept = [row for row in divided if row.labels.tenant != NOT_DIVIDED or row.labels in undivided]
    return sorted(kept, key=lambda row: (row.window_start, row.labels.order()))


_Found = Counter[tuple[str, str | None]]
"""Fallbacks by tenant and entry point."""


def _by_line(
    rows: Sequence[ReportRow], fallbacks: Fallbacks, selection: Selection
) -> tuple[dict[tuple[int, Labels], _Found], list[ReportRow]]:
    """Fallbacks by line; and lines for those of which no window tells yet."""
    fine = selection.dimensions
    lines: defaultdict[tuple[int, Labels], _Found] = defaultdict(Counter)
    groups = {row.labels for row in rows}
    places = {(row.window_start, row.labels) for row in rows}
    known: dict[tuple[Scope, str, str], Labels | None] = {}
    uncounted: dict[tuple[int, Labels], ReportRow] = {}
    for told, count in fallbacks.counts.items():
        if not selection.wants(told.scope) or selection.capability not in (None, told.capability):
            continue
        kind = (told.scope, told.capability, told.reason)
        if kind not in known:
            known[kind] = _group_of(told, groups)
        labels = known[kind] or Labels(
            told.scope.release_line, told.scope.composition, told.capability, told.reason
        )  # fmt: skip
        if (told.start, labels) not in places:
            seconds = rows[0].window_seconds if rows else 0
            pending = dict.fromkeys(map(str, COUNTED_FAMILIES), str(Evidence.PENDING))
            uncounted[told.start, labels] = ReportRow(told.start, seconds, Evidence.PENDING, labels, pending)
        entry = (told.entry_point or UNKNOWN) if Dimension.ENTRY_POINT in fine else None
        lines[told.start, labels][told.tenant or UNKNOWN, entry] += count
    return dict(lines), list(uncounted.values())


def _group_of(told: Told, groups: set[Labels]) -> Labels | None:
    """The group of lines that a fallback belongs to, at most one; None where no window tells of it."""
    scope = told.scope
    for labels in groups:
        if (
            labels.release_line in (None, scope.release_line)
            and (labels.composition is None or scope.composition.startswith(labels.composition))
            and labels.capability in (None, told.capability)
            and labels.reason in (None, told.reason)
        ):
            return labels
    return None


def _lines(
    row: ReportRow, found: _Found, met: set[tuple[str, str | None]], selection: Selection, policy: UnknownTenants
) -> list[ReportRow]:
    chosen = selection.tenant
    tenants = {tenant for tenant in met if chosen is None or tenant[0] in (chosen, UNKNOWN)}
    if chosen is not None and not any(tenant == chosen for tenant, _ in tenants):
        tenants.add((chosen, None))
    merged = policy is UnknownTenants.MERGE and chosen is not None
    counts: _Found = Counter()
    for tenant, entry in tenants:
        name = f"{chosen} + {UNKNOWN}" if merged else tenant
        counts[name, entry] += found[tenant, entry]
    lines = [_line(row, tenant, entry, count) for (tenant, entry), count in sorted(counts.items(), key=_by_name)]
    left = (row.fallbacks or 0) - found.total()
    note = (f"{-left} more on record than windows count",) if left < 0 else ()
    return [*lines, _line(row, NOT_DIVIDED, None, max(0, left), note)]


def _by_name(item: tuple[tuple[str, str | None], int]) -> tuple[str, str]:
    (tenant, entry), _ = item
    return tenant, entry or ""


def _line(row: ReportRow, tenant: str, entry_point: str | None, count: int, notes: tuple[str, ...] = ()) -> ReportRow:
    # Where nobody witnessed anything a zero is none; what was met is told all the same.
    fallbacks = None if row.fallbacks is None and not count else count
    rate, rate_state = rate_of(row.states, None, fallbacks, row.compositions)
    reason = row.labels.reason
    return replace(
        row,
        labels=row.labels._replace(tenant=tenant, entry_point=entry_point),
        attempts=None,
        fallbacks=fallbacks,
        rate=rate,
        rate_state=rate_state,
        attempts_by_entry_point={},
        fallbacks_by_reason={reason: count} if reason is not None and count else {},
        masked_errors=None,
        masked_errors_by_class={},
        teardowns_by_outcome={},
        selections=None,
        selections_by_timeline={},
        delegation_calls=None,
        delegation_calls_by_outcome={},
        delegation_effects=None,
        delegation_effects_by_step={},
        late=None,
        skewed=None,
        duplicates=None,
        notes=(*row.notes, *notes),
    )
