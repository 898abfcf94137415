"""The comparison: every number that Unmask published of this run with what the journals say must be there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from demo.expected import NOTHING, Bounds, Cell, ExpectedSession, expected_counts, expected_sessions
from demo.journal import HostJournal, Kind
from demo.plan import WINDOW_S
from unmask.schemas.codes import AdmissionAnswer, Evidence, Finding, FlawCause, Measure, VerdictKind
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Verdict, Window
from unmask.schemas.windowing import window_start

__all__ = [
    "ANSWERS",
    "Comparison",
    "Mismatch",
    "attempts_journalled",
    "check_answers",
    "check_verdicts",
    "check_windows",
]

ANSWERS: Mapping[VerdictKind, AdmissionAnswer] = {
    VerdictKind.CLEAN_SUCCESS: AdmissionAnswer.ADMITTED,
    VerdictKind.DEGRADED_SUCCESS: AdmissionAnswer.RECONCILE_FIRST,
    VerdictKind.HARD_FAILURE: AdmissionAnswer.HALTED,
}
"""What the gate must say to a successor that wants to act."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that is published and must be otherwise."""

    about: str
    what: str
    expected: str
    published: str


@dataclass(slots=True)
class Comparison:
    """How many values were compared, and which differ."""

    compared: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    def value(self, about: str, what: str, expected: object, published: object) -> None:
        """Compares two values."""
        self.verdict(about, what, str(expected), str(published), holds=expected == published)

    def verdict(self, about: str, what: str, expected: str, published: str, *, holds: bool) -> None:
        """Takes the outcome of a comparison."""
        self.compared += 1
        if not holds:
            self.mismatches.append(Mismatch(about, what, expected, published))


def check_windows(
    comparison: Comparison, journals: Sequence[HostJournal], windows: Iterable[Window], seconds: int, upstream: str,
    killed_at: int,
) -> None:  # fmt: skip
    """Compares all records of one window size. `killed_at` is in microseconds.

    A closed window in which a host was killed must be LOSSY, may lack what that host recorded, and nothing else; every
    other closed window must be COMPLETE and exact. Windows of more than the demo's length, which are PENDING at its
    end, hold at least what the living hosts did.
    """
    expected = expected_counts(journals, seconds, upstream)
    published = {
        (to_micros(window.window_start), window.scope is not None, window.capability): window for window in windows
    }
    capabilities = sorted({cell.capability for cell in expected if cell.measure is Measure.ROUTE_ATTEMPT})
    starts = {cell.start for cell in expected} | {start for start, _, _ in published}
    for start in sorted(starts):
        about = _named(start, seconds)
        whole = published.get((start, True, None))
        if whole is None:
            if any(cell.start == start for cell in expected):
                comparison.verdict(about, "record", "one", "none", holds=False)
            continue
        hit = seconds == 0 or start == window_start(killed_at, seconds)
        state = whole.evidence_state
        if not (seconds != WINDOW_S and state is Evidence.PENDING):
            comparison.value(about, "evidence", Evidence.LOSSY if hit else Evidence.COMPLETE, state)
            silent = any(FlawCause.SILENT in entry.causes for entry in whole.evidence)
            comparison.value(about, "a silent emitter is named", hit, silent)
        lossy = hit or state is Evidence.PENDING
        _compare_whole(comparison, about, whole, _of_window(expected, start), lossy)
        for capability in capabilities:
            record = published.get((start, True, capability))
            _compare_capability(comparison, about, record, capability, _of_window(expected, start), lossy)


def check_verdicts(
    comparison: Comparison, journals: Sequence[HostJournal], verdicts: Mapping[str, Verdict]
) -> dict[str, ExpectedSession]:
    """Compares every session's verdict, and that no other is there. Returns what was expected."""
    expected = expected_sessions(journals)
    for session_id in sorted(set(verdicts) - set(expected)):
        comparison.verdict(session_id, "verdict", "none: no host had such a session", "one", holds=False)
    for session_id, session in expected.items():
        verdict = verdicts.get(session_id)
        if verdict is None:
            comparison.verdict(session_id, "verdict", session.verdict, "none", holds=False)
            continue
        _compare_verdict(comparison, session, verdict)
    kinds = {session.verdict for session in expected.values()}
    for kind in VerdictKind:
        comparison.verdict("the journals", "sessions", f"one that ends {kind}", "none", holds=kind in kinds)
    return expected


def check_answers(
    comparison: Comparison, expected: Mapping[str, ExpectedSession], answers: Mapping[str, str], unknown: str,
    reconciled: str, after: str,
) -> None:  # fmt: skip
    """Compares what the gate answered for each session, for one that never was, and after a directive was done."""
    for session_id, session in expected.items():
        comparison.value(session_id, "the gate's answer", ANSWERS[session.verdict], answers.get(session_id))
    comparison.value(unknown, "the gate's answer", AdmissionAnswer.NO_VERDICT, answers.get(unknown))
    comparison.value(reconciled, "the gate's answer after reconciling", AdmissionAnswer.ADMITTED, after)


def attempts_journalled(journals: Sequence[HostJournal], start: int) -> int:
    """How many attempts the hosts began in the demo's window that starts at `start`, microseconds."""
    attempts = (entry for journal in journals for entry in journal.of(Kind.ATTEMPT))
    return sum(window_start(entry.began, WINDOW_S) == start for entry in attempts)


def _compare_verdict(comparison: Comparison, session: ExpectedSession, verdict: Verdict) -> None:
    about = session.session_id
    comparison.value(about, "verdict", session.verdict, verdict.verdict)
    comparison.value(about, "directive", session.directive, verdict.directive)
    comparison.value(about, "abandoned", session.killed, Finding.ABANDONED in verdict.findings)
    comparison.value(about, "contradictions", (), verdict.contradictions)
    if session.killed:
        # Nobody tore it down, so that only what reached the stream is known of it.
        for what, most, said in (
            ("operations", session.operations, verdict.operations),
            ("degraded operations", session.degraded, verdict.degraded_operations),
        ):
            comparison.verdict(about, what, f"at most {most}", str(said), holds=said <= most)
        return
    comparison.value(about, "evidence", Evidence.COMPLETE, verdict.evidence)
    comparison.value(about, "operations", session.operations, verdict.operations)
    comparison.value(about, "degraded operations", session.degraded, verdict.degraded_operations)
    comparison.value(about, "ratio", session.ratio, verdict.degraded_operation_ratio)
    comparison.value(about, "above threshold", session.ratio > verdict.threshold, verdict.above_threshold)


def _compare_whole(
    comparison: Comparison, about: str, whole: Window, expected: Mapping[Cell, Bounds], lossy: bool
) -> None:
    _compare(comparison, f"{about} masked errors", whole.masked_errors_by_class, expected, Measure.MASKED_ERROR, lossy)
    _compare(comparison, f"{about} teardowns", whole.teardowns_by_outcome, expected, Measure.SESSION_TEARDOWN, lossy)
    _compare(comparison, f"{about} hosts", {NOTHING: whole.emitters}, expected, Measure.EMITTERS, lossy)
    for what, measure, total in (
        ("attempts", Measure.ROUTE_ATTEMPT, whole.attempts),
        ("fallbacks", Measure.KERNEL_FALLBACK, whole.fallbacks_total),
        ("masked errors", Measure.MASKED_ERROR, whole.masked_errors),
    ):
        bounds = _sum(bounds for cell, bounds in expected.items() if cell.measure is measure)
        comparison.verdict(about, what, bounds.words(lossy=lossy), str(total), holds=bounds.allow(total, lossy=lossy))


def _compare_capability(
    comparison: Comparison, about: str, record: Window | None, capability: str, expected: Mapping[Cell, Bounds],
    lossy: bool,
) -> None:  # fmt: skip
    mine = {cell: bounds for cell, bounds in expected.items() if cell.capability == capability}
    attempts = {} if record is None else record.attempts_by_entry_point
    fallbacks = {} if record is None else record.fallbacks_by_reason
    _compare(comparison, f"{about} {capability} attempts", attempts, mine, Measure.ROUTE_ATTEMPT, lossy)
    _compare(comparison, f"{about} {capability} fallbacks", fallbacks, mine, Measure.KERNEL_FALLBACK, lossy)
    if record is not None:
        comparison.value(f"{about} {capability}", "attempts in all", sum(attempts.values()), record.attempts)
        comparison.value(f"{about} {capability}", "fallbacks in all", sum(fallbacks.values()), record.fallbacks_total)


def _compare(
    comparison: Comparison, about: str, counts: Mapping[str, int], expected: Mapping[Cell, Bounds], measure: Measure,
    lossy: bool,
) -> None:  # fmt: skip
    bounds = {cell.code: found for cell, found in expected.items() if cell.measure is measure}
    for code in sorted(set(bounds) | set(counts)):
        allowed, published = bounds.get(code, Bounds()), counts.get(code, 0)
        comparison.verdict(
            about, code, allowed.words(lossy=lossy), str(published), holds=allowed.allow(published, lossy=lossy)
        )


def _of_window(expected: Mapping[Cell, Bounds], start: int) -> dict[Cell, Bounds]:
    return {cell: bounds for cell, bounds in expected.items() if cell.start == start}


def _sum(several: Iterable[Bounds]) -> Bounds:
    total = Bounds()
    for bounds in several:
        total.low += bounds.low
        total.high += bounds.high
        total.killed_low += bounds.killed_low
        total.killed_high += bounds.killed_high
    return total


def _named(start: int, seconds: int) -> str:
    return f"{iso(start)[11:19]} {seconds} s" if seconds else "whole run"
