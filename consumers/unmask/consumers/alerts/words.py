"""Each kind of alert in words: how bad it is, what happened, and what to do about it.

The sentences are fixed; what varies in them are the tokens and counts of the alert. `docs/alerts.md` says more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from unmask.consumers.alerts import words_of_recovery as recovery
from unmask.schemas.codes import AlertKind, Directive
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Alert

__all__ = ["KINDS", "Kind", "Severity", "kind_of", "what_happened", "what_to_do"]


class Severity(StrEnum):
    """How soon a person should look. Fixed for a kind, so that it can be a label."""

    CRITICAL = "critical"
    """Now: something is wrong or unproven for everybody, or somebody must not go on."""
    WARNING = "warning"
    """Soon: one session, one window, one emitter."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What holds for all alerts of a kind."""

    name: str
    """As Alertmanager's `alertname`."""
    severity: Severity
    happened: Callable[[Alert], str]
    to_do: Callable[[Alert], str]


def kind_of(alert: Alert) -> Kind:
    """What holds for the alert's kind."""
    return KINDS[alert.kind]


def what_happened(alert: Alert) -> str:
    """One sentence that says what the alert is about."""
    return kind_of(alert).happened(alert)


def what_to_do(alert: Alert) -> str:
    """One or two sentences that say what a person should do now."""
    return kind_of(alert).to_do(alert)


_CARRY_OUT = {
    Directive.NONE: "There is no directive yet: let the session end, then ask `unmask gate {session}`.",
    Directive.PROBE_UPSTREAM_BEFORE_ACTION: (
        "Ask the failed upstream whether it answers again before anybody acts on this session's results; "
        "`unmask gate {session}` names it."
    ),
    Directive.RE_FETCH_FROM_PRIMARY: (
        "Replace what a substitute delivered by the primary's own answer before anybody acts on it; "
        "`unmask gate {session}` names the upstream."
    ),
    Directive.HALT_AND_ALERT_DEVELOPER: (
        "Stop whatever continues this session, and find out why it failed; `unmask gate {session}` says what is known."
    ),
}


def _carry_out(alert: Alert) -> str:
    return _CARRY_OUT[alert.directive or Directive.NONE].format(session=alert.session_id)


def _count(alert: Alert, fact: str) -> str:
    return f"{alert.facts[fact]:,}" if fact in alert.facts else "an unknown number of"


def _causes(alert: Alert) -> str:
    return f" ({', '.join(alert.causes)})" if alert.causes else ""


def _where(alert: Alert) -> str:
    return "" if alert.scope is None else f" of release line {alert.scope.release_line}"


def _window(alert: Alert) -> str:
    if alert.window_start is None:
        return "a window"
    return f"the window of {alert.window_seconds} s that began at {iso(to_micros(alert.window_start))}"


def _degraded(alert: Alert) -> str:
    of = f" of {alert.facts['operations']:,}" if "operations" in alert.facts else ""
    degraded = _count(alert, "degraded_operations")
    return f"In session {alert.session_id}, {degraded}{of} operations were answered by a substitute{_causes(alert)}."


def _failed(alert: Alert) -> str:
    return f"Session {alert.session_id} did not reach its objective, or nobody said that it did{_causes(alert)}."


def _contradicted(alert: Alert) -> str:
    return f"The host of session {alert.session_id} claimed less than the stream saw{_causes(alert)}."


def _unverifiable(alert: Alert) -> str:
    return (
        f"A record on the verdict topic about session {alert.session_id} was altered, replayed, or not signed by a "
        f"trusted key{_causes(alert)}."
    )


def _outage(alert: Alert) -> str:
    met, masked = _count(alert, "sessions"), _count(alert, "masked_errors")
    return f"Upstream {alert.upstream} was unreachable for {met} sessions; {masked} errors were hidden from callers."


def _lost(alert: Alert) -> str:
    missing = sum(count for fact, count in alert.facts.items() if fact.startswith(("missing_", "dropped_")))
    known = f"{missing:,} events are missing" if missing else "events are missing or may be"
    return f"In {_window(alert)}{_where(alert)}, {known}{_causes(alert)}."


def _absent(alert: Alert) -> str:
    if "partition" in alert.facts:
        return f"Source partition {alert.facts['partition']} of the events is no longer read, so nobody counts it."
    return "Windows close and no emitter witnesses them: nobody sends telemetry any more."


def _return_of_telemetry(alert: Alert) -> str:
    if "partition" in alert.facts:
        return "Look at the stream workers (/readyz) and their ledger lag; start a worker if none runs."
    return "Check that hosts run and reach Kafka; if they were stopped on purpose, there is nothing to do."


def _silent(alert: Alert) -> str:
    return f"Emitter {alert.emitter_id}{_where(alert)} stopped without closing; what it still held is not known."


def _rate(alert: Alert) -> str:
    counts = f"{_count(alert, 'fallbacks')} fallbacks on {_count(alert, 'attempts')} attempts"
    return f"{counts} of capability {alert.capability}{_where(alert)} in {_window(alert)}."


KINDS: dict[AlertKind, Kind] = {
    AlertKind.DEGRADED_SESSION: Kind("UnmaskDegradedSession", Severity.WARNING, _degraded, _carry_out),
    AlertKind.HARD_FAILURE: Kind("UnmaskHardFailure", Severity.CRITICAL, _failed, _carry_out),
    AlertKind.CONTRADICTION: Kind(
        "UnmaskContradiction",
        Severity.CRITICAL,
        _contradicted,
        lambda alert: (
            "Do not believe this host's own account; find out which of its calls bypass the emitter. "
            + _carry_out(alert)
        ),
    ),
    AlertKind.UPSTREAM_OUTAGE: Kind(
        "UnmaskUpstreamOutage",
        Severity.CRITICAL,
        _outage,
        lambda alert: f"Check upstream {alert.upstream}; hold back work that depends on it until it answers again.",
    ),
    AlertKind.TELEMETRY_LOSS: Kind(
        "UnmaskTelemetryLoss",
        Severity.WARNING,
        _lost,
        lambda _: (
            "Take no rate and no zero from this window. A host that is still alive may deliver what is missing later; "
            "otherwise see its drops and its disk."
        ),
    ),
    AlertKind.TELEMETRY_ABSENT: Kind("UnmaskTelemetryAbsent", Severity.CRITICAL, _absent, _return_of_telemetry),
    AlertKind.SILENT_EMITTER: Kind(
        "UnmaskSilentEmitter",
        Severity.WARNING,
        _silent,
        lambda _: (
            "Find the host: it was killed, hangs, or does not reach Kafka. Its next start sends what its outbox kept."
        ),
    ),
    AlertKind.FALLBACK_RATE: Kind(
        "UnmaskFallbackRate",
        Severity.WARNING,
        _rate,
        lambda alert: (
            f"See `unmask report windows` for the reason codes of {alert.capability}, and repair the kernel route: "
            "callers were served all the same and will not complain."
        ),
    ),
    AlertKind.UNVERIFIABLE_VERDICT: Kind(
        "UnmaskUnverifiableVerdict",
        Severity.CRITICAL,
        _unverifiable,
        lambda alert: (
            f"Let nothing continue session {alert.session_id} until its verdict stands again. Find out who can write "
            "to the verdict topic, and take that right from everybody but the stream workers."
        ),
    ),
    AlertKind.PREFERENCE_DRIFT: Kind(
        "UnmaskPreferenceDrift", Severity.WARNING, recovery.drifted, recovery.end_the_drift
    ),
    AlertKind.EMERGENCY_AS_DEFAULT: Kind(
        "UnmaskEmergencyAsDefault", Severity.WARNING, recovery.emergency, recovery.begin_with_the_primary
    ),
    AlertKind.WATCHDOG_DEPENDENT: Kind(
        "UnmaskWatchdogDependent", Severity.WARNING, recovery.watched, recovery.end_it_in_code
    ),
    AlertKind.CLEANUP_UNSEEN: Kind(
        "UnmaskCleanupUnseen", Severity.WARNING, recovery.unseen, recovery.record_the_cleanup
    ),
    AlertKind.STALLED_DELEGATION: Kind(
        "UnmaskStalledDelegation", Severity.WARNING, recovery.stalled, recovery.stop_or_change
    ),
    AlertKind.BUDGET_EXCEEDED: Kind(
        "UnmaskBudgetExceeded", Severity.WARNING, recovery.budget, recovery.find_the_spender
    ),
    AlertKind.DUPLICATE_EFFECT: Kind(
        "UnmaskDuplicateEffect", Severity.CRITICAL, recovery.duplicated, recovery.put_right
    ),
    AlertKind.IDENTITY_CONFLICT: Kind(
        "UnmaskIdentityConflict", Severity.WARNING, recovery.conflict, recovery.start_anew
    ),
    AlertKind.ENFORCEMENT_BLOCKED: Kind(
        "UnmaskEnforcementBlocked", Severity.WARNING, recovery.blocked, recovery.appeal_or_stop
    ),
    AlertKind.UNKNOWN_ALERT: Kind(
        "UnmaskUnknownAlert",
        Severity.WARNING,
        lambda _: "The stream workers raised an alert of a kind that this watcher does not know.",
        lambda _: "Upgrade the watcher to the workers' version.",
    ),
}
