"""What Alertmanager receives (v2 API): labels that never change for an alert, and annotations in words."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from unmask.consumers.alerts.words import kind_of, what_happened, what_to_do
from unmask.schemas.codes import AlertKind, AlertState
from unmask.schemas.instants import iso, to_micros
from unmask.schemas.models import Alert

__all__ = ["Posted", "labels", "post_body", "posted_alert"]

# What the parts of an alert's identity after its kind are. `*` stands for all, and is no label.
_SCOPE = ("release_line", "composition")
_IDENTITY: dict[AlertKind, tuple[str, ...]] = {
    AlertKind.DEGRADED_SESSION: ("session_id",),
    AlertKind.HARD_FAILURE: ("session_id",),
    AlertKind.CONTRADICTION: ("session_id",),
    AlertKind.UPSTREAM_OUTAGE: ("upstream",),
    AlertKind.TELEMETRY_LOSS: ("window_seconds", "window", *_SCOPE),
    AlertKind.TELEMETRY_ABSENT: ("condition", "source_partition"),
    AlertKind.SILENT_EMITTER: ("emitter_id",),
    AlertKind.FALLBACK_RATE: (*_SCOPE, "capability"),
    AlertKind.UNVERIFIABLE_VERDICT: ("session_id",),
    AlertKind.PREFERENCE_DRIFT: ("session_id",),
    AlertKind.EMERGENCY_AS_DEFAULT: ("session_id",),
    AlertKind.WATCHDOG_DEPENDENT: ("session_id",),
    AlertKind.CLEANUP_UNSEEN: ("session_id",),
    AlertKind.STALLED_DELEGATION: ("session_id", "delegation_id"),
    AlertKind.BUDGET_EXCEEDED: ("session_id", "delegation_id"),
    AlertKind.DUPLICATE_EFFECT: ("session_id", "delegation_id"),
    AlertKind.IDENTITY_CONFLICT: ("session_id", "delegation_id"),
    AlertKind.ENFORCEMENT_BLOCKED: ("session_id", "delegation_id"),
}


@dataclass(frozen=True, slots=True)
class Posted:
    """An alert to be posted, and for how long what is posted holds."""

    alert: Alert
    holds_for: timedelta
    """Where it fires: after this time without another post Alertmanager takes it for resolved."""


def labels(namespace: str, alert: Alert) -> dict[str, str]:
    """Alertmanager's identity of an alert: at most eight labels, which follow from the alert's own identity alone.

    Whatever may be found out later (a session's release line, counts, causes) is an annotation instead.
    """
    names, parts = _IDENTITY.get(alert.kind, ()), alert.alert_id.split("|")[1:]
    about = dict(zip(names, parts, strict=False)) if len(parts) <= len(names) else {}
    kind = kind_of(alert)
    return {
        "alertname": kind.name,
        "severity": kind.severity.value,
        "namespace": namespace,
        "alert_id": alert.alert_id,
        **{name: part for name, part in about.items() if part != "*"},
    }


def posted_alert(namespace: str, posted: Posted, now: datetime) -> dict[str, Any]:
    """One alert as the API takes it."""
    alert = posted.alert
    if alert.state is AlertState.FIRING or alert.until is None:
        ends = now + posted.holds_for
        happened = what_happened(alert)
    else:
        # An end that is yet to come would leave it firing until then.
        ends = min(alert.until, now)
        happened = f"Resolved. {what_happened(alert)}"
    # A host's clock may be ahead; an alert that ends before it begins is refused.
    starts = min(alert.since, ends)
    return {
        "labels": labels(namespace, alert),
        "annotations": _annotations(alert, happened),
        "startsAt": iso(to_micros(starts)),
        "endsAt": iso(to_micros(ends)),
    }


def post_body(namespace: str, posted: Iterable[Posted], now: datetime) -> bytes:
    """The body of a post."""
    return json.dumps([posted_alert(namespace, one, now) for one in posted], allow_nan=False).encode()


def _annotations(alert: Alert, happened: str) -> dict[str, str]:
    about = {
        "summary": happened,
        "action": what_to_do(alert),
        "directive": None if alert.directive is None else alert.directive.value,
        "causes": ", ".join(alert.causes) or None,
        "facts": ", ".join(f"{fact}={count}" for fact, count in sorted(alert.facts.items())) or None,
        "release_line": None if alert.scope is None else alert.scope.release_line,
        "composition": None if alert.scope is None else alert.scope.composition,
    }
    return {name: text for name, text in about.items() if text is not None}
