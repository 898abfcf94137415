"""Alert records and their identities. The same condition has the same id on every worker and after every restart."""

from typing import Any

from unmask.schemas.codes import AlertKind, AlertState
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = ["FIRING", "RESOLVED", "alert", "alert_id", "resolved", "unverifiable_alert", "window_alert_id"]

FIRING = AlertState.FIRING.value
RESOLVED = AlertState.RESOLVED.value
_MAX_CAUSES = 32


def alert_id(kind: AlertKind, *parts: str) -> str:
    """The identity of a condition: its kind and what it is about, divided by `|`."""
    return "|".join((kind.value, *parts))


def window_alert_id(kind: AlertKind, start: int, seconds: int, scope: Scope | None) -> str:
    """The identity of a condition of one window and scope."""
    about = ("*", "*") if scope is None else (scope.release_line, scope.composition)
    return alert_id(kind, str(seconds), str(start // MICROS), *about)


def alert(
    identity: str,
    kind: AlertKind,
    *,
    since: int,
    until: int | None = None,
    scope: Scope | dict[str, Any] | None = None,
    session_id: str | None = None,
    emitter_id: str | None = None,
    upstream: str | None = None,
    capability: str | None = None,
    window: tuple[int, int] | None = None,
    directive: str | None = None,
    causes: list[str] | None = None,
    facts: dict[str, int] | None = None,
    delegation_id: str | None = None,
) -> dict[str, Any]:
    """An alert's record, all but its revision: firing, or resolved where `until` says since when it no longer holds."""
    return {
        "alert_id": identity,
        "kind": kind.value,
        "state": FIRING if until is None else RESOLVED,
        "since": since,
        "until": until,
        "scope": scope._asdict() if isinstance(scope, Scope) else scope,
        "session_id": session_id,
        "emitter_id": emitter_id,
        "upstream": upstream,
        "capability": capability,
        "window_start": None if window is None else window[0],
        "window_seconds": None if window is None else window[1],
        "directive": directive,
        "causes": (causes or [])[:_MAX_CAUSES],
        "facts": facts or {},
        "delegation_id": delegation_id,
    }


def unverifiable_alert(session_id: str, cause: str, since: int) -> dict[str, Any]:
    """A record on the verdict topic, under the session's key, cannot be believed; `cause` is a code."""
    kind = AlertKind.UNVERIFIABLE_VERDICT
    return alert(alert_id(kind, session_id), kind, since=since, session_id=session_id, causes=[cause])


def resolved(firing: dict[str, Any], until: int) -> dict[str, Any]:
    """The record that says that a firing alert no longer holds, without a revision."""
    record = {name: value for name, value in firing.items() if name != "revision"}
    return {**record, "state": RESOLVED, "until": max(until, record["since"])}
