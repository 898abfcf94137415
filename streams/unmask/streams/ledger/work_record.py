"""A session's work as it goes out in its tally, and as pieces of the ledger's own.

A piece is JSON with fields only where they hold something. What a piece lacks is as in a new object.
"""

from dataclasses import fields
from typing import Any

import orjson

from unmask.schemas.breaker import BreakerState
from unmask.streams.ledger.delegation import Delegation
from unmask.streams.ledger.session_work import SELECTION, SessionWork

__all__ = ["delegation_json", "read_delegation", "read_work", "tally_fields", "work_json"]

_COUNTED = (
    "invocations_total", "calls", "succeeded", "failed", "refused", "tokens", "highest_attempt", "budget_calls",
    "budget_tokens", "budget_attempts",
)  # fmt: skip
_JUDGED = ("unchanged", "longest_unchanged", "tripped", "trips", "false_trips", "first_trip_call")
_EFFECTS = (
    "granted", "committed", "released", "repeated_commits", "blocked_turns", "longest_blocked", "identity_conflicts",
    "last_step_at",
)  # fmt: skip
_WORK = ("selections_total", "selecting", "delegating", "identity_conflicts")
_NEW = Delegation()
_PLAIN = tuple(field.name for field in fields(Delegation) if field.name not in ("breaker", "commits", "blocked"))


def tally_fields(work: SessionWork) -> dict[str, Any]:
    """What a session tally says of it."""
    return {
        "selections": work.selections,
        "selections_total": work.selections_total or None,
        "delegations": [_tally(name, delegation) for name, delegation in work.delegations.items()],
        "identity_conflicts": sorted(work.identity_conflicts),
    }


def _tally(delegation_id: str, delegation: Delegation) -> dict[str, Any]:
    breaker = delegation.breaker
    return {
        "delegation_id": delegation_id,
        "invocations": [
            {"invocation_id": invocation_id, "emitter_id": emitter_id}
            for invocation_id, emitter_id in delegation.invocations.items()
        ],
        **{name: getattr(delegation, name) for name in _COUNTED},
        **{name: getattr(breaker, name) for name in _JUDGED},
        "doubts": [{"doubt": doubt.value, "count": count} for doubt, count in breaker.doubts],
        "commits": [
            {"effect_key": key, "fencing_token": token, "receipt": receipt}
            for key, token, receipt in delegation.commits
        ],
        "refusals": [
            {"enforcer": enforcer, "count": count, "appealed": appealed, "vindicated": vindicated}
            for enforcer, (count, appealed, vindicated) in sorted(delegation.refusals.items())
        ],
        **{name: getattr(delegation, name) for name in _EFFECTS},
    }


def work_json(work: SessionWork) -> bytes:
    """A session's work without its delegations, which have pieces of their own."""
    value: dict[str, Any] = {name: own for name in _WORK if (own := getattr(work, name))}
    if work.selections:
        value["selections"] = [[selection[name] for name in SELECTION] for selection in work.selections]
    return orjson.dumps(value)


def read_work(raw: bytes) -> SessionWork:
    """What work_json() wrote."""
    value = orjson.loads(raw)
    selections = [dict(zip(SELECTION, item, strict=True)) for item in value.pop("selections", ())]
    return SessionWork(selections=selections, **value)


def delegation_json(delegation: Delegation) -> bytes:
    """A delegation."""
    value = {name: own for name in _PLAIN if (own := getattr(delegation, name)) != getattr(_NEW, name)}
    if delegation.breaker != _NEW.breaker:
        value["breaker"] = delegation.breaker.to_json()
    if delegation.commits:
        value["commits"] = delegation.commits
    if delegation.blocked:
        value["blocked"] = list(delegation.blocked.items())
    return orjson.dumps(value)


def read_delegation(raw: bytes) -> Delegation:
    """What delegation_json() wrote."""
    value = orjson.loads(raw)
    breaker = BreakerState.from_json(value.pop("breaker", {}))
    commits = [(key, token, receipt) for key, token, receipt in value.pop("commits", ())]
    blocked = dict(value.pop("blocked", ()))
    return Delegation(**value, breaker=breaker, commits=commits, blocked=blocked)
