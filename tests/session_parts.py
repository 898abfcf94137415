"""Selections and delegations as they stand in a session's snapshot, for tests, with explicit instants."""

from typing import Any

from tests.table_records import at

__all__ = ["commit", "delegation", "refusal", "selection"]


def selection(
    profile: str, turn: int, *, source: str = "auto", scope: str = "turn", timeline: str = "live",
    emitter: str = "e1", minute: float | None = None, cleared_by: str | None = None, reason_code: str | None = None,
    emergency: bool = False, expires: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A selection; turn n is made in minute n / 10 unless another is given."""
    return {
        "emitter_id": emitter,
        "occurred_at": at(turn / 10 if minute is None else minute),
        "turn": turn,
        "profile": profile,
        "source": source,
        "scope": scope,
        "timeline": timeline,
        "cleared_by": cleared_by,
        "reason_code": reason_code,
        "emergency": emergency,
        "expires_at": None if expires is None else at(expires),
    }


def commit(effect: str, token: int = 1, receipt: str | None = "r1") -> dict[str, Any]:
    """A commit of an effect."""
    return {"effect_key": effect, "fencing_token": token, "receipt": receipt}


def refusal(enforcer: str, count: int, appealed: int = 0, vindicated: int = 0) -> dict[str, Any]:
    """Refusals of one enforcer."""
    return {"enforcer": enforcer, "count": count, "appealed": appealed, "vindicated": vindicated}


def delegation(delegation_id: str = "d1", **parts: Any) -> dict[str, Any]:
    """What a partition knows of a delegation: ten calls that all changed something, but for what is given."""
    tally: dict[str, Any] = {
        "delegation_id": delegation_id,
        "invocations": [{"invocation_id": "i1", "emitter_id": "e1"}],
        "invocations_total": 1,
        "calls": 10,
        "succeeded": 10,
        "failed": 0,
        "refused": 0,
        "tokens": 100,
        "highest_attempt": 1,
        "budget_calls": None,
        "budget_tokens": None,
        "budget_attempts": None,
        "unchanged": 0,
        "longest_unchanged": 0,
        "tripped": False,
        "trips": 0,
        "false_trips": 0,
        "first_trip_call": None,
        "doubts": [],
        "granted": 0,
        "committed": 0,
        "released": 0,
        "commits": [],
        "repeated_commits": 0,
        "refusals": [],
        "blocked_turns": 0,
        "longest_blocked": 0,
        "identity_conflicts": 0,
        "last_step_at": at(4),
    }
    unknown = parts.keys() - tally.keys()
    assert not unknown, unknown
    return tally | parts
