"""The life of an automatic choice: happened, why, and how it ended, in one sentence."""

from collections.abc import Mapping
from typing import Any

from unmask.consumers.timeline.document import RecoveryPart
from unmask.schemas.codes import Finding, RecoveryState
from unmask.schemas.instants import iso

__all__ = ["recovery_part"]

_WHO = {"user": "the user", "runtime": "the host", "watchdog": "the watchdog"}
_MEANT_FOR = {"turn": "for its turn", "window": "for a stated time", "session": "for the rest of the session"}


def recovery_part(number: int, recovery: Mapping[str, Any]) -> RecoveryPart:
    """From a recovery as a verdict holds it, with `source` and `ended_turn` where they are known."""
    instants = {name: _iso(recovery[name]) for name in ("persisted_at", "ended_at")}
    return RecoveryPart(
        number=number,
        profile=recovery["profile"],
        source=recovery.get("source"),
        scope=recovery["scope"],
        emergency=recovery["emergency"],
        began_at=iso(recovery["began_at"]),
        turn=recovery["turn"],
        reason_code=recovery["reason_code"],
        persisted_at=instants["persisted_at"],
        state=recovery["state"],
        ended_at=instants["ended_at"],
        ended_turn=recovery.get("ended_turn"),
        cleared_by=recovery["cleared_by"],
        findings=[Finding(finding) for finding in recovery["findings"]],
        words=_life(recovery, instants["ended_at"]),
    )


def _life(recovery: Mapping[str, Any], ended_at: str | None) -> str:
    what = "an emergency profile" if recovery["emergency"] else "a profile"
    why = f"because of {recovery['reason_code']}" if recovery["reason_code"] else "and nobody stated a fault"
    meant = _MEANT_FOR.get(recovery["scope"], "for an unknown time")
    began = f"In turn {recovery['turn']} {what}, {recovery['profile']}, was chosen {meant}, {why}"
    kept = ", and it was written down for later turns" if recovery["persisted_at"] is not None else ""
    return f"{began}{kept}; {_end(recovery, ended_at)}."


def _end(recovery: Mapping[str, Any], ended_at: str | None) -> str:
    turn = recovery.get("ended_turn")
    when = "" if turn is None else f" in turn {turn}"
    at = "" if ended_at is None else f" at {ended_at}"
    match recovery["state"]:
        case RecoveryState.OPEN:
            return "it still holds"
        case RecoveryState.EXPIRED:
            return "it ended with its turn" if ended_at is None else f"its time was over{when}{at}"
        case RecoveryState.CLEARED:
            return f"{_WHO.get(recovery['cleared_by'], 'somebody')} took it back{when}{at}"
        case RecoveryState.SUPERSEDED:
            return f"another choice took its place{when}{at}"
        case RecoveryState.VANISHED:
            return f"it was gone{when}{at}, and no record says who ended it"
    return "what became of it is not known here"


def _iso(instant: int | None) -> str | None:
    return None if instant is None else iso(instant)
