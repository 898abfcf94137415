"""Windows and counters against the journals: every count, and what it is said to prove."""

from collections.abc import Iterable, Mapping, Sequence

from demo.comparison import Comparison
from demo.expected import NOTHING, Bounds, Cell, expected_counts
from demo.journal import HostJournal, Kind
from demo.plan import WINDOW_S
from demo.workers import Total
from unmask.schemas.codes import Evidence, FlawCause, Measure, ReasonCode
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Window
from unmask.schemas.windowing import LIFETIME, window_start

__all__ = ["attempts_journalled", "check_totals", "check_windows"]

_WHOLE = (("attempts", Measure.ROUTE_ATTEMPT), ("fallbacks", Measure.KERNEL_FALLBACK), ("masked", Measure.MASKED_ERROR))


def check_windows(
    comparison: Comparison, journals: Sequence[HostJournal], windows: Iterable[Window], seconds: int, upstream: str,
    killed_at: int,
) -> None:  # fmt: skip
    """Compares all records of one window size. `killed_at` is in microseconds.

    The window in which a host was killed must be LOSSY and may lack what that host recorded, and nothing else; every
    other window of the demo's size must be COMPLETE and exact. Larger ones are still PENDING at its end, as the
    lifetime window always is: they hold at least what the living hosts did.
    """
    expected = expected_counts(journals, seconds, upstream)
    published = {(to_micros(w.window_start), w.scope is not None, w.capability): w for w in windows}
    capabilities = sorted({cell.capability for cell in expected if cell.measure is Measure.ROUTE_ATTEMPT})
    for start in sorted({cell.start for cell in expected} | {start for start, _, _ in published}):
        mine = {cell: bounds for cell, bounds in expected.items() if cell.start == start}
        about = _named(start, seconds)
        hit = seconds == LIFETIME or start == window_start(killed_at, seconds)
        for scoped in (False, True):
            whole = published.get((start, scoped, None))
            comparison.holds(about, "record", "one", "none", whole is not None)
            if whole is not None:
                _check_evidence(comparison, about, whole, hit)
                _check_whole(comparison, about, whole, mine, lossy=hit)
        for capability in capabilities:
            record = published.get((start, True, capability))
            own = {cell: bounds for cell, bounds in mine.items() if cell.capability == capability}
            _check_capability(comparison, f"{about} {capability}", record, own, lossy=hit)


def check_totals(
    comparison: Comparison, journals: Sequence[HostJournal], totals: Mapping[Total, int], about: str, upstream: str
) -> None:
    """Compares a worker's counters of the whole run; a reason that never occurred must be there as 0."""
    expected = expected_counts(journals, LIFETIME, upstream)
    capabilities = {cell.capability for cell in expected if cell.measure is Measure.ROUTE_ATTEMPT}
    wanted = {Total(name, reason): Bounds() for name in capabilities for reason in (None, *map(str, ReasonCode))}
    for cell, bounds in expected.items():
        if cell.measure is Measure.KERNEL_FALLBACK:
            wanted[Total(cell.capability, cell.code)].add(bounds)
        elif cell.measure is Measure.ROUTE_ATTEMPT:
            wanted[Total(cell.capability, None)].add(bounds)
    for total in sorted(set(wanted) | set(totals), key=str):
        found = totals.get(total)
        allowed = wanted.get(total, Bounds())
        comparison.holds(
            f"{about} {total.capability}", total.reason or "attempts", allowed.words(lossy=True),
            "none" if found is None else str(found), found is not None and allowed.allow(found, lossy=True),
        )  # fmt: skip


def attempts_journalled(journals: Sequence[HostJournal], start: int) -> int:
    """How many attempts the hosts began in the demo's window that starts at `start`, microseconds."""
    attempts = (entry for journal in journals for entry in journal.of(Kind.ATTEMPT))
    return sum(window_start(entry.began, WINDOW_S) == start for entry in attempts)


def _check_evidence(comparison: Comparison, about: str, whole: Window, hit: bool) -> None:
    state = whole.evidence_state
    if whole.window_seconds == WINDOW_S or state is not Evidence.PENDING:
        comparison.equal(about, "evidence", Evidence.LOSSY if hit else Evidence.COMPLETE, state)
        causes = {cause for entry in whole.evidence for cause in entry.causes}
        comparison.equal(about, "causes", {FlawCause.SILENT} if hit else set(), causes)
    # A killed host tells nobody what it had; the others delivered everything.
    comparison.equal(about, "missing", 0, sum(entry.missing for entry in whole.evidence))
    comparison.equal(about, "dropped", {}, whole.dropped)


def _check_whole(
    comparison: Comparison, about: str, whole: Window, expected: Mapping[Cell, Bounds], *, lossy: bool
) -> None:
    _check_counts(comparison, f"{about} masked", whole.masked_errors_by_class, expected, Measure.MASKED_ERROR, lossy)
    _check_counts(
        comparison, f"{about} teardowns", whole.teardowns_by_outcome, expected, Measure.SESSION_TEARDOWN, lossy
    )
    _check_counts(comparison, f"{about} emitters", {NOTHING: whole.emitters}, expected, Measure.EMITTERS, lossy)
    totals = (whole.attempts, whole.fallbacks_total, whole.masked_errors)
    for (what, measure), total in zip(_WHOLE, totals, strict=True):
        _check_sum(comparison, about, what, total, expected, measure, lossy)
    for what, count in (("skewed", whole.skewed), ("duplicates", whole.duplicates), ("quarantined", whole.quarantined)):
        comparison.equal(about, what, 0, count)


def _check_capability(
    comparison: Comparison, about: str, record: Window | None, expected: Mapping[Cell, Bounds], *, lossy: bool
) -> None:
    attempts = {} if record is None else record.attempts_by_entry_point
    fallbacks = {} if record is None else record.fallbacks_by_reason
    _check_counts(comparison, f"{about} attempts", attempts, expected, Measure.ROUTE_ATTEMPT, lossy)
    _check_counts(comparison, f"{about} fallbacks", fallbacks, expected, Measure.KERNEL_FALLBACK, lossy)
    totals = (0, 0) if record is None else (record.attempts, record.fallbacks_total)
    for (what, measure), total in zip(_WHOLE[:2], totals, strict=True):
        _check_sum(comparison, about, what, total, expected, measure, lossy)


def _check_sum(
    comparison: Comparison, about: str, what: str, total: int, expected: Mapping[Cell, Bounds], measure: Measure,
    lossy: bool,
) -> None:  # fmt: skip
    allowed = Bounds()
    for cell, bounds in expected.items():
        if cell.measure is measure:
            allowed.add(bounds)
    comparison.holds(about, what, allowed.words(lossy=lossy), str(total), allowed.allow(total, lossy=lossy))


def _check_counts(
    comparison: Comparison, about: str, counts: Mapping[str, int], expected: Mapping[Cell, Bounds], measure: Measure,
    lossy: bool,
) -> None:  # fmt: skip
    """By code; a code that only one side names counts as 0 on the other."""
    wanted = {cell.code: bounds for cell, bounds in expected.items() if cell.measure is measure}
    for code in sorted(set(wanted) | set(counts)):
        allowed, found = wanted.get(code, Bounds()), counts.get(code, 0)
        comparison.holds(about, code, allowed.words(lossy=lossy), str(found), allowed.allow(found, lossy=lossy))


def _named(start: int, seconds: int) -> str:
    return f"{iso(start)[11:19]} {seconds} s" if seconds else "whole run"
