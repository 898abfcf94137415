"""Alerts about automatic choices that stay, and about delegations, in words: what happened, and what to do."""

from unmask.schemas.models import Alert

__all__ = [
    "appeal_or_stop",
    "begin_with_the_primary",
    "blocked",
    "budget",
    "conflict",
    "drifted",
    "duplicated",
    "emergency",
    "end_it_in_code",
    "end_the_drift",
    "find_the_spender",
    "put_right",
    "record_the_cleanup",
    "stalled",
    "start_anew",
    "stop_or_change",
    "unseen",
    "watched",
]


def drifted(alert: Alert) -> str:
    """PREFERENCE_DRIFT."""
    return f"In session {alert.session_id} an automatic choice outlived the turn or window that it was made for."


def emergency(alert: Alert) -> str:
    """EMERGENCY_AS_DEFAULT."""
    return f"Session {alert.session_id} used an emergency profile in a turn in which its primary had not failed."


def watched(alert: Alert) -> str:
    """WATCHDOG_DEPENDENT."""
    return f"In session {alert.session_id} nothing but the watchdog took automatic choices back that had outlived."


def unseen(alert: Alert) -> str:
    """CLEANUP_UNSEEN."""
    return f"In session {alert.session_id} an automatic choice is no longer in force, and no record says who ended it."


def _subject(alert: Alert) -> str:
    of = "" if alert.session_id is None else f" of session {alert.session_id}"
    return f"a delegation{of}" if alert.delegation_id is None else f"delegation {alert.delegation_id}{of}"


def _opening(alert: Alert) -> str:
    subject = _subject(alert)
    return subject[0].upper() + subject[1:]


def stalled(alert: Alert) -> str:
    """STALLED_DELEGATION."""
    unchanged = alert.facts.get("unchanged")
    calls = "calls" if unchanged is None else f"{unchanged:,} calls in a row"
    return f"{_opening(alert)} made {calls} that succeeded and changed nothing."


def budget(alert: Alert) -> str:
    """BUDGET_EXCEEDED."""
    spent = []
    for name, limit in (("calls", "budget_calls"), ("tokens", "budget_tokens"), ("highest_attempt", "budget_attempts")):
        used, given = alert.facts.get(name), alert.facts.get(limit)
        if used is not None and given is not None and used > given:
            what = "attempts" if name == "highest_attempt" else name
            spent.append(f"{used:,} {what} of {given:,}")
    told = f" ({', '.join(spent)})" if spent else ""
    return f"{_opening(alert)} spent more than it was given{told}."


def duplicated(alert: Alert) -> str:
    """DUPLICATE_EFFECT."""
    return f"An effect of {_subject(alert)} was committed more than once."


def conflict(alert: Alert) -> str:
    """IDENTITY_CONFLICT."""
    whose = _subject(alert) if alert.delegation_id is not None else f"session {alert.session_id}"
    if alert.emitter_id is not None:
        whose = f"emitter {alert.emitter_id}" if alert.session_id is None else f"emitter {alert.emitter_id}, in {whose}"
    return f"Two lives claim one identity, or one name stood for two contents: {whose}."


def blocked(alert: Alert) -> str:
    """ENFORCEMENT_BLOCKED."""
    turns = next((alert.facts[name] for name in ("blocked_turns", "longest_blocked") if name in alert.facts), None)
    long = "many turns" if turns is None else f"{turns:,} turns"
    return f"{_opening(alert)} was refused for {long} without one accepted write."


def end_the_drift(alert: Alert) -> str:
    """PREFERENCE_DRIFT."""
    return f"Take the choice back, and have the host expire such choices with their turn. {_timeline(alert)}"


def begin_with_the_primary(alert: Alert) -> str:
    """EMERGENCY_AS_DEFAULT."""
    return f"Have the host begin each turn with its primary: an emergency profile follows a fault. {_timeline(alert)}"


def end_it_in_code(alert: Alert) -> str:
    """WATCHDOG_DEPENDENT."""
    return f"Repair the code that makes such choices, so that it ends them itself. {_timeline(alert)}"


def record_the_cleanup(alert: Alert) -> str:
    """CLEANUP_UNSEEN."""
    return f"Find out what clears state without recording it, and have it record that. {_timeline(alert)}"


def stop_or_change(alert: Alert) -> str:
    """STALLED_DELEGATION."""
    return (
        "Stop it, or change what it tries: nothing here stops it. If it made progress, its signal does not show it. "
        f"{_delegation(alert)}"
    )


def find_the_spender(alert: Alert) -> str:
    """BUDGET_EXCEEDED."""
    return (
        f"Find out which invocation spent it: a budget holds over all of them, resumed ones too. {_delegation(alert)}"
    )


def put_right(alert: Alert) -> str:
    """DUPLICATE_EFFECT."""
    return (
        "Put right by hand what was done twice, and have the host claim every effect before it makes it. "
        f"{_delegation(alert)}"
    )


def start_anew(_: Alert) -> str:
    """IDENTITY_CONFLICT."""
    return (
        "Take no count of it for whole. Find the host that was copied while it ran, or that gives its processes one "
        "identity, and start each with its own."
    )


def appeal_or_stop(alert: Alert) -> str:
    """ENFORCEMENT_BLOCKED."""
    return (
        "If it was right, appeal and say so (`unmask enforcement` counts it); if it was not, stop it. "
        f"{_delegation(alert)}"
    )


def _timeline(alert: Alert) -> str:
    return f"`unmask timeline {alert.session_id}` shows which choice, why it was made, and whether it still holds."


def _delegation(alert: Alert) -> str:
    whose = f"--session {alert.session_id}" if alert.delegation_id is None else alert.delegation_id
    return f"`unmask delegations {whose}` shows its calls, budgets and effects."
