"""Alerts to what is found of a session's recoveries and delegations, also while it still runs."""

from typing import Any, NamedTuple

from unmask.schemas.codes import AlertKind, FlawCause
from unmask.streams.tables.alerts import alert, alert_id
from unmask.streams.tables.condition import Condition
from unmask.streams.tables.delegation_conditions import delegation_conditions
from unmask.streams.tables.recovery_conditions import recovery_conditions
from unmask.streams.verdict import SessionView
from unmask.streams.verdict.recoveries import are_all_told, recovered

__all__ = ["FINDING_KINDS", "FindingAlerts", "finding_alerts"]

FINDING_KINDS = (
    AlertKind.PREFERENCE_DRIFT,
    AlertKind.EMERGENCY_AS_DEFAULT,
    AlertKind.WATCHDOG_DEPENDENT,
    AlertKind.CLEANUP_UNSEEN,
    AlertKind.STALLED_DELEGATION,
    AlertKind.BUDGET_EXCEEDED,
    AlertKind.DUPLICATE_EFFECT,
    AlertKind.IDENTITY_CONFLICT,
    AlertKind.ENFORCEMENT_BLOCKED,
)


class FindingAlerts(NamedTuple):
    """Without revisions."""

    current: list[dict[str, Any]]
    """Firing, or resolved; of what never fired nothing need be said."""
    past: list[dict[str, Any]]
    """Resolved, of conditions that did hold: somebody must hear of them, however short they were."""


def finding_alerts(
    view: SessionView, verdict: dict[str, Any] | None, *, blocked_turns: int, discharged_at: int | None
) -> FindingAlerts:
    """All of a session, one for each kind and, where it is about one, delegation.

    `discharged_at` is when its directive was carried out, or an operator let a successor pass, for this very verdict
    with these findings; from then on nothing of it fires.
    """
    if not (view.selections or view.delegations or view.identity_conflicts):
        return FindingAlerts([], [])
    conditions = [
        *_recoveries(view, None if verdict is None else int(verdict["ended_at"])),
        *_identity(view),
        *(found for known in view.delegations for found in delegation_conditions(known, blocked_turns)),
    ]
    told = FindingAlerts([], [])
    for condition in conditions:
        over = told.past if condition.held and condition.until is not None else told.current
        over.append(_alert(view, condition, discharged_at if condition.until is None else condition.until))
    return told


def _recoveries(view: SessionView, ended_at: int | None) -> list[Condition]:
    """Whoever knows less fires nothing on it, and resolves nothing either: a host that dies ends no drift."""
    certain = recovery_conditions(recovered(view, ended_at, certain=True), view.last_seen_at)
    if are_all_told(view):
        return certain
    seen = recovery_conditions(recovered(view, ended_at, certain=False), view.last_seen_at)
    return [one for one, other in zip(seen, certain, strict=True) if one.until is None or other.until is not None]


def _identity(view: SessionView) -> list[Condition]:
    emitters = view.identity_conflicts
    if not emitters:
        return []
    return [
        Condition(
            AlertKind.IDENTITY_CONFLICT,
            since=view.last_seen_at,
            until=None,
            held=True,
            causes=[FlawCause.IDENTITY.value],
            facts={"emitters": len(emitters)},
            emitter_id=emitters[0],
        )
    ]


def _alert(view: SessionView, condition: Condition, until: int | None) -> dict[str, Any]:
    about = () if condition.delegation_id is None else (condition.delegation_id,)
    return alert(
        alert_id(condition.kind, view.session_id, *about),
        condition.kind,
        since=condition.since,
        until=None if until is None else max(until, condition.since),
        scope=view.scope,
        session_id=view.session_id,
        emitter_id=condition.emitter_id,
        causes=condition.causes,
        facts=condition.facts,
        delegation_id=condition.delegation_id,
    )
