"""Alerts for tests, as the tables publish them, with explicit instants."""

from typing import Any

from unmask.consumers.alerts.change import Change, Place
from unmask.consumers.topic_reader import Row
from unmask.schemas.codec import encode
from unmask.schemas.codes import AlertKind
from unmask.schemas.models import Alert, from_avro
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = ["FIRING", "RESOLVED", "SCOPE", "SINCE", "alert", "alert_of_kind", "alert_record", "change", "row"]

FIRING, RESOLVED = "FIRING", "RESOLVED"
SCOPE = Scope("line-1", "contract-1", "backend-1", "redaction-1", "switchboard-1")
SINCE = 1_767_268_800 * MICROS
"""2026-01-01T12:00:00Z."""


def alert_record(upstream: str = "prices", state: str = FIRING, revision: int = 1, **changes: Any) -> dict[str, Any]:
    """The record of an UPSTREAM_OUTAGE."""
    since = changes.get("since", SINCE)
    record = {
        "alert_id": f"UPSTREAM_OUTAGE|{upstream}",
        "kind": "UPSTREAM_OUTAGE",
        "state": state,
        "since": since,
        "until": since + 60 * MICROS if state == RESOLVED else None,
        "scope": None,
        "session_id": None,
        "emitter_id": None,
        "upstream": upstream,
        "capability": None,
        "window_start": SINCE,
        "window_seconds": 60,
        "directive": None,
        "causes": [],
        "facts": {"sessions": 3, "masked_errors": 7},
        "revision": revision,
    }
    return {**record, **changes}


_OF_KIND: dict[AlertKind, dict[str, Any]] = {
    **{
        kind: {
            "alert_id": f"{kind}|s-1", "session_id": "s-1", "scope": SCOPE._asdict(),
            "directive": "PROBE_UPSTREAM_BEFORE_ACTION", "causes": ["PHANTOM_STABILITY"],
            "facts": {"operations": 20, "degraded_operations": 5, "masked_errors": 5, "fallbacks": 5},
        }
        for kind in (AlertKind.DEGRADED_SESSION, AlertKind.HARD_FAILURE, AlertKind.CONTRADICTION)
    },
    AlertKind.UPSTREAM_OUTAGE: {"alert_id": "UPSTREAM_OUTAGE|prices", "upstream": "prices"},
    AlertKind.TELEMETRY_LOSS: {
        "alert_id": f"TELEMETRY_LOSS|60|{SINCE // MICROS}|line-1|{SCOPE.composition}", "scope": SCOPE._asdict(),
        "window_start": SINCE, "window_seconds": 60, "causes": ["gap"], "facts": {"missing_route_attempt": 12},
    },
    AlertKind.TELEMETRY_ABSENT: {"alert_id": "TELEMETRY_ABSENT|*", "causes": ["no_witness"], "facts": {}},
    AlertKind.SILENT_EMITTER: {
        "alert_id": "SILENT_EMITTER|e-1", "emitter_id": "e-1", "scope": SCOPE._asdict(), "causes": ["silent"],
        "facts": {},
    },
    AlertKind.FALLBACK_RATE: {
        "alert_id": f"FALLBACK_RATE|line-1|{SCOPE.composition}|search", "scope": SCOPE._asdict(),
        "capability": "search", "window_start": SINCE, "window_seconds": 60, "facts": {"attempts": 100, "fallbacks": 9},
    },
    AlertKind.UNVERIFIABLE_VERDICT: {
        "alert_id": "UNVERIFIABLE_VERDICT|s-1", "session_id": "s-1", "causes": ["unverifiable"], "facts": {},
    },
    **{
        kind: {"alert_id": f"{kind}|s-1", "session_id": "s-1", "scope": SCOPE._asdict(), "facts": {}}
        for kind in (
            AlertKind.PREFERENCE_DRIFT, AlertKind.EMERGENCY_AS_DEFAULT, AlertKind.WATCHDOG_DEPENDENT,
            AlertKind.CLEANUP_UNSEEN, AlertKind.IDENTITY_CONFLICT,
        )
    },
    **{
        kind: {
            "alert_id": f"{kind}|s-1|d-1", "session_id": "s-1", "delegation_id": "d-1", "scope": SCOPE._asdict(),
            "facts": {"calls": 54, "unchanged": 54, "budget_calls": 40, "tokens": 9, "blocked_turns": 107},
        }
        for kind in (
            AlertKind.STALLED_DELEGATION, AlertKind.BUDGET_EXCEEDED, AlertKind.DUPLICATE_EFFECT,
            AlertKind.ENFORCEMENT_BLOCKED,
        )
    },
    AlertKind.UNKNOWN_ALERT: {"alert_id": "LATER_KIND|a|b|c", "facts": {}},
}  # fmt: skip


def alert_of_kind(kind: AlertKind, state: str = FIRING, **changes: Any) -> Alert:
    """A typical alert of a kind."""
    plain = {"upstream": None, "window_start": None, "window_seconds": None}
    return from_avro(Alert, alert_record(state=state, **{**plain, "kind": kind.value, **_OF_KIND[kind], **changes}))


def alert(upstream: str = "prices", state: str = FIRING, revision: int = 1, **changes: Any) -> Alert:
    """The same as a model."""
    return from_avro(Alert, alert_record(upstream, state, revision, **changes))


def change(upstream: str, state: str = FIRING, revision: int = 1, *, offset: int, partition: int = 0) -> Change:
    """A change that stands at an offset."""
    return Change(alert(upstream, state, revision), Place(partition, offset))


def row(offset: int, record: dict[str, Any] | None, partition: int = 0) -> Row:
    """A row of the alerts topic; None is a tombstone."""
    value = None if record is None else encode("alert", record)
    return Row(partition, offset, b"key" if record is None else record["alert_id"].encode(), value, 0)
