"""Alerts as values, with what happened in one sentence."""

from typing import Any

from unmask.schemas.codes import AlertKind
from unmask.schemas.instants import from_micros, iso
from unmask.streams.web.page.decoded import decoded
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.values import AlertLine

__all__ = ["alert_lines"]

_RUNBOOKS = "docs/operations/alerts.md"


def alert_lines(memory: Memory) -> list[AlertLine]:
    """Those that fire, and of these first what concerns more than one session; then those that are over.

    Each the newest first.
    """
    firing = [_line(decoded("alert", raw)) for _, raw in memory.firing.items()]
    firing.sort(key=lambda line: line.since, reverse=True)
    firing.sort(key=lambda line: line.session_id is not None)
    over = [_line(decoded("alert", raw)) for _, raw in memory.resolved.items()]
    over.sort(key=lambda line: line.until or line.since, reverse=True)
    return firing + over


def _line(record: dict[str, Any]) -> AlertLine:
    kind = AlertKind(record["kind"])
    return AlertLine(
        alert_id=record["alert_id"],
        kind=kind,
        state=record["state"],
        since=from_micros(record["since"]),
        until=None if record["until"] is None else from_micros(record["until"]),
        sentence=_sentence(kind, record),
        runbook=f"{_RUNBOOKS}#{kind.value.lower()}",
        session_id=record["session_id"],
        directive=record["directive"],
        causes=tuple(record["causes"]),
        facts=record["facts"],
    )


def _sentence(kind: AlertKind, record: dict[str, Any]) -> str:
    facts = record["facts"]
    match kind:
        case AlertKind.DEGRADED_SESSION:
            of = f" of {facts['operations']:,}" if "operations" in facts else ""
            degraded = facts.get("degraded_operations")
            if degraded is None:
                return f"Session {record['session_id']} is answered by substitutes; how much is not known yet."
            return f"In session {record['session_id']}, {degraded:,}{of} operations were answered by a substitute."
        case AlertKind.HARD_FAILURE:
            return f"Session {record['session_id']} did not reach its objective, or nobody said that it did."
        case AlertKind.CONTRADICTION:
            return f"The host of session {record['session_id']} claimed less than the stream saw."
        case AlertKind.UNVERIFIABLE_VERDICT:
            return f"A record about session {record['session_id']} on the verdict topic is not to be believed."
        case AlertKind.UPSTREAM_OUTAGE:
            return f"Upstream {record['upstream']} was unreachable for {facts.get('sessions', 0):,} sessions."
        case AlertKind.TELEMETRY_LOSS:
            lost = sum(count for fact, count in facts.items() if fact.startswith(("missing_", "dropped_")))
            what = f"{lost:,} events are missing" if lost else "events are missing or may be"
            return f"In {_window(record)}{_line_of(record)}, {what}."
        case AlertKind.TELEMETRY_ABSENT if "partition" in facts:
            return f"Source partition {facts['partition']} is no longer read, so that nobody counts it."
        case AlertKind.TELEMETRY_ABSENT:
            return "Windows close and no emitter witnesses them. That is not a zero."
        case AlertKind.SILENT_EMITTER:
            return f"Emitter {record['emitter_id']}{_line_of(record)} stopped without closing."
        case AlertKind.FALLBACK_RATE:
            counts = f"{facts.get('fallbacks', 0):,} fallbacks on {facts.get('attempts', 0):,} attempts"
            return f"{counts} of capability {record['capability']}{_line_of(record)} in {_window(record)}."
        case AlertKind.PREFERENCE_DRIFT:
            return f"In session {record['session_id']} an automatic choice outlived what it was made for."
        case AlertKind.EMERGENCY_AS_DEFAULT:
            return f"Session {record['session_id']} used an emergency profile though its primary had not failed."
        case AlertKind.WATCHDOG_DEPENDENT:
            return f"In session {record['session_id']} nothing but the watchdog ends automatic choices."
        case AlertKind.CLEANUP_UNSEEN:
            return f"In session {record['session_id']} an automatic choice vanished without a record."
        case AlertKind.STALLED_DELEGATION:
            calls = f"{facts['unchanged']:,} calls in a row" if "unchanged" in facts else "call after call"
            return f"{_delegation(record)}: {calls} succeeded and changed nothing."
        case AlertKind.BUDGET_EXCEEDED:
            return f"{_delegation(record)} spent more than it was given."
        case AlertKind.DUPLICATE_EFFECT:
            return f"{_delegation(record)}: an effect was committed more than once."
        case AlertKind.IDENTITY_CONFLICT:
            whose = f"session {record['session_id']}" if record["session_id"] else f"emitter {record['emitter_id']}"
            return f"Two lives claim one identity in {whose}."
        case AlertKind.ENFORCEMENT_BLOCKED:
            return f"{_delegation(record)} is refused turn after turn, without an accepted write."
    return "An alert of a kind that this worker does not know; upgrade it."


def _delegation(record: dict[str, Any]) -> str:
    of = f" of session {record['session_id']}" if record["session_id"] else ""
    return f"Delegation {record['delegation_id'] or '–'}{of}"


def _line_of(record: dict[str, Any]) -> str:
    return "" if record["scope"] is None else f" of release line {record['scope']['release_line']}"


def _window(record: dict[str, Any]) -> str:
    if record["window_start"] is None:
        return "a window"
    return f"the window of {record['window_seconds']} s from {iso(record['window_start'])}"
