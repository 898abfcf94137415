"""Verdicts, alerts and the gate's answers against the journals."""

from collections.abc import Mapping, Sequence

from demo.comparison import Comparison
from demo.expected import NOTHING, ExpectedSession, expected_sessions, upstream_outage
from demo.journal import HostJournal
from demo.plan import WINDOW_S
from demo.play import Ending
from unmask.schemas.codes import AdmissionAnswer, AlertKind, AlertState, Evidence, Finding, VerdictKind
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Alert, Verdict
from unmask.schemas.windowing import window_start

__all__ = ["ANSWERS", "check_alerts", "check_answers", "check_verdicts"]

ANSWERS: Mapping[VerdictKind, AdmissionAnswer] = {
    VerdictKind.CLEAN_SUCCESS: AdmissionAnswer.ADMITTED,
    VerdictKind.DEGRADED_SUCCESS: AdmissionAnswer.RECONCILE_FIRST,
    VerdictKind.HARD_FAILURE: AdmissionAnswer.HALTED,
}
"""What the gate must say to a successor that wants to act."""
_UNHEARD = ("none", "")


def check_verdicts(comparison: Comparison, journals: Sequence[HostJournal], verdicts: Mapping[str, Verdict]) -> None:
    """Compares every session's verdict, and that there is no other; all kinds of verdicts must occur."""
    expected = expected_sessions(journals)
    comparison.equal("verdicts", "sessions", sorted(expected), sorted(verdicts))
    for session_id, session in expected.items():
        if session_id in verdicts:
            _check_verdict(comparison, session, verdicts[session_id])
    kinds = {session.verdict for session in expected.values()}
    for kind in VerdictKind:
        comparison.holds("journals", "sessions", f"one that ends {kind}", "none", kind in kinds)


def check_alerts(
    comparison: Comparison, journals: Sequence[HostJournal], alerts: Sequence[Alert], upstream: str, killed_at: int
) -> None:
    """Compares what alerts are about, whether they still fire or are over, with what happened."""
    sessions = expected_sessions(journals).values()
    expected: dict[AlertKind, set[str]] = {
        AlertKind.DEGRADED_SESSION: {session.session_id for session in sessions if session.degraded},
        AlertKind.HARD_FAILURE: {s.session_id for s in sessions if s.verdict is VerdictKind.HARD_FAILURE},
        AlertKind.CONTRADICTION: set(),
        AlertKind.UPSTREAM_OUTAGE: {upstream} if upstream_outage(journals) else set(),
        AlertKind.TELEMETRY_LOSS: {iso(window_start(killed_at, WINDOW_S))},
    }
    for kind, about in expected.items():
        said = {_about(alert) for alert in alerts if alert.kind is kind and _fired(alert)}
        comparison.equal("alerts", str(kind), ", ".join(sorted(about)), ", ".join(sorted(said)))
    silent = sum(alert.kind is AlertKind.SILENT_EMITTER for alert in alerts)
    comparison.equal("alerts", f"{AlertKind.SILENT_EMITTER}, how many", sum(j.killed for j in journals), silent)


def check_answers(
    comparison: Comparison, expected: Mapping[str, ExpectedSession], ending: Ending, unknown: str, reconciled: str
) -> None:
    """Compares what the gate answered for each session, for one that never was, and after a directive was done."""
    for session_id, session in expected.items():
        answer, _ = ending.asked.get(session_id, _UNHEARD)
        comparison.equal(session_id, "gate", ANSWERS[session.verdict], answer)
    comparison.equal(unknown, "gate", AdmissionAnswer.NO_VERDICT, ending.asked.get(unknown, _UNHEARD)[0])
    after, _ = ending.reconciled.get(reconciled, _UNHEARD)
    comparison.equal(reconciled, "gate, after reconciling", AdmissionAnswer.ADMITTED, after)


def _check_verdict(comparison: Comparison, session: ExpectedSession, verdict: Verdict) -> None:
    about = session.session_id
    comparison.equal(about, "verdict", session.verdict, verdict.verdict)
    comparison.equal(about, "directive", session.directive, verdict.directive)
    comparison.equal(about, "abandoned", session.killed, Finding.ABANDONED in verdict.findings)
    comparison.equal(about, "contradictions", (), verdict.contradictions)
    if session.killed:
        # Nobody tore it down, so that only what reached the stream is known of it.
        for what, most, said in (
            ("operations", session.operations, verdict.operations),
            ("degraded", session.degraded, verdict.degraded_operations),
        ):
            comparison.holds(about, what, f"at most {most}", str(said), said <= most)
        return
    comparison.equal(about, "evidence", Evidence.COMPLETE, verdict.evidence)
    comparison.equal(about, "operations", session.operations, verdict.operations)
    comparison.equal(about, "degraded", session.degraded, verdict.degraded_operations)
    comparison.equal(about, "ratio", session.ratio, verdict.degraded_operation_ratio)
    comparison.equal(about, "above the threshold", session.ratio > verdict.threshold, verdict.above_threshold)


def _about(alert: Alert) -> str:
    if alert.kind is AlertKind.TELEMETRY_LOSS:
        return "all time" if alert.window_start is None else iso(to_micros(alert.window_start))
    return alert.session_id or alert.upstream or NOTHING


def _fired(alert: Alert) -> bool:
    """Whether it held at some time: a record of what never held is not wrong."""
    return alert.state is AlertState.FIRING or alert.until is None or alert.until > alert.since
