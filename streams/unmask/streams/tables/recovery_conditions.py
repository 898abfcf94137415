"""What is wrong with a session's automatic choices, and whether it still is."""

from collections.abc import Sequence

from unmask.schemas.codes import AlertKind, ClearedBy, Finding, RecoveryState
from unmask.schemas.recovery import Overlay, Recovery
from unmask.streams.tables.condition import Condition

__all__ = ["recovery_conditions"]

# These end when the choice does. That something vanished, or that only the watchdog tidies up, is not undone.
_ENDING = (Finding.PREFERENCE_DRIFT, Finding.EMERGENCY_AS_DEFAULT)
_OPEN = RecoveryState.OPEN.value


def recovery_conditions(chosen: Overlay, last_seen_at: int) -> list[Condition]:
    """PREFERENCE_DRIFT, EMERGENCY_AS_DEFAULT, WATCHDOG_DEPENDENT and CLEANUP_UNSEEN of a session."""
    if not chosen.recoveries:
        return []
    return [
        _condition(finding, chosen, last_seen_at)
        for finding in (*_ENDING, Finding.WATCHDOG_DEPENDENT, Finding.CLEANUP_UNSEEN)
    ]


def _condition(finding: Finding, chosen: Overlay, last_seen_at: int) -> Condition:
    concerned = _concerned(finding, chosen)
    standing = [recovery for recovery in concerned if recovery.state == _OPEN]
    held = finding in chosen.findings
    holds = bool(standing) if finding in _ENDING else held
    about = standing if holds and standing else concerned
    ends = [recovery.ended_at for recovery in concerned if recovery.ended_at is not None]
    return Condition(
        kind=AlertKind(finding.value),
        since=min((recovery.began_at for recovery in about), default=last_seen_at),
        until=None if holds else max(ends, default=last_seen_at),
        held=held,
        causes=sorted({recovery.reason_code for recovery in concerned if recovery.reason_code is not None}),
        facts={
            "recoveries": len(concerned),
            "open_recoveries": len(standing),
            "turn": min((recovery.turn for recovery in about), default=0),
        },
    )


def _concerned(finding: Finding, chosen: Overlay) -> Sequence[Recovery]:
    if finding is Finding.WATCHDOG_DEPENDENT:
        return [
            recovery
            for recovery in chosen.recoveries
            if Finding.PREFERENCE_DRIFT in recovery.findings and recovery.cleared_by == ClearedBy.WATCHDOG
        ]
    return [recovery for recovery in chosen.recoveries if finding in recovery.findings]
