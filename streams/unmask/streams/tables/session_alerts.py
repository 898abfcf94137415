"""Alerts that one session gives rise to, also while it still runs."""

from typing import Any

from unmask.schemas.codes import AlertKind, Directive, Finding, VerdictKind
from unmask.streams.tables.alerts import alert, alert_id
from unmask.streams.verdict import SessionView

__all__ = ["SESSION_KINDS", "session_alerts"]

SESSION_KINDS = (AlertKind.DEGRADED_SESSION, AlertKind.HARD_FAILURE, AlertKind.CONTRADICTION)

_DEGRADED, _FAILED = VerdictKind.DEGRADED_SUCCESS.value, VerdictKind.HARD_FAILURE.value
_LOSSY = Finding.LOSSY_EVIDENCE.value


def session_alerts(
    view: SessionView, verdict: dict[str, Any] | None, *, discharged_at: int | None
) -> list[dict[str, Any]]:
    """DEGRADED_SESSION, HARD_FAILURE and CONTRADICTION of a session, each firing or resolved.

    Before its teardown a session fires once an operation of it was degraded, since the ratio is not known yet.
    `discharged_at` is when its directive was carried out, or an operator let a successor pass; from then on nothing
    of it fires.
    """
    return [
        _alert(view, verdict, AlertKind.DEGRADED_SESSION, _degraded(view, verdict), discharged_at),
        _alert(view, verdict, AlertKind.HARD_FAILURE, _failed(verdict), discharged_at),
        _alert(view, verdict, AlertKind.CONTRADICTION, _contradicted(verdict), discharged_at),
    ]


def _degraded(view: SessionView, verdict: dict[str, Any] | None) -> bool:
    seen = view.degraded_operations > 0 or view.masked_errors > 0
    if verdict is None:
        return seen
    if verdict["verdict"] == _FAILED:
        return bool(verdict["above_threshold"])
    return bool(verdict["verdict"] == _DEGRADED)


def _failed(verdict: dict[str, Any] | None) -> bool:
    return verdict is not None and verdict["verdict"] == _FAILED


def _contradicted(verdict: dict[str, Any] | None) -> bool:
    return verdict is not None and bool(verdict["contradictions"])


def _alert(
    view: SessionView, verdict: dict[str, Any] | None, kind: AlertKind, holds: bool, discharged_at: int | None
) -> dict[str, Any]:
    since = _since(view, verdict, kind)
    until = None if holds else view.last_seen_at
    if holds and discharged_at is not None:
        until = discharged_at
    return alert(
        alert_id(kind, view.session_id),
        kind,
        since=since,
        until=until,
        scope=view.scope,
        session_id=view.session_id,
        directive=Directive.NONE.value if verdict is None else verdict["directive"],
        causes=_causes(verdict, kind),
        facts=_facts(view, verdict),
    )


def _since(view: SessionView, verdict: dict[str, Any] | None, kind: AlertKind) -> int:
    if kind is AlertKind.DEGRADED_SESSION and view.masked:
        return int(view.masked[0]["occurred_at"])
    return view.last_seen_at if verdict is None else int(verdict["ended_at"])


def _causes(verdict: dict[str, Any] | None, kind: AlertKind) -> list[str]:
    if verdict is None:
        return []
    return list(verdict["contradictions"] if kind is AlertKind.CONTRADICTION else verdict["findings"])


def _facts(view: SessionView, verdict: dict[str, Any] | None) -> dict[str, int]:
    facts = {
        "degraded_operations": view.degraded_operations,
        "masked_errors": view.masked_errors,
        "fallbacks": view.fallbacks,
    }
    if verdict is not None:
        facts["operations"] = verdict["operations"]
        facts["degraded_operations"] = verdict["degraded_operations"]
        facts["above_threshold"] = int(verdict["above_threshold"])
    return facts
