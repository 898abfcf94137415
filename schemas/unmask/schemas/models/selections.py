"""Selections of a session, as hosts tell them, as partitions know them, and what became of automatic ones."""

from unmask.schemas.codes import (
    ClearedBy,
    Finding,
    ReasonCode,
    RecoveryState,
    SelectionScope,
    SelectionSource,
    SelectionTimeline,
)
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, Flag, Token
from unmask.schemas.models.record import Record

__all__ = ["Recovery", "RouteSelection", "Selection"]


class RouteSelection(Record):
    """A profile was chosen, persisted or cleared for a session."""

    session_id: Token
    occurred_at: Instant
    turn: Count
    profile: Token
    source: SelectionSource
    scope: SelectionScope
    timeline: SelectionTimeline
    cleared_by: ClearedBy | None = None
    reason_code: ReasonCode | None = None
    emergency: Flag
    expires_at: Instant | None = None


class Selection(Record):
    """A selection of the session, with the emitter that told of it."""

    emitter_id: Token
    occurred_at: Instant
    turn: Count
    profile: Token
    source: SelectionSource
    scope: SelectionScope
    timeline: SelectionTimeline
    cleared_by: ClearedBy | None = None
    reason_code: ReasonCode | None = None
    emergency: Flag
    expires_at: Instant | None = None


class Recovery(Record):
    """An automatic choice and what became of it."""

    profile: Token
    scope: SelectionScope
    emergency: Flag
    began_at: Instant
    turn: Count
    reason_code: ReasonCode | None = None
    persisted_at: Instant | None = None
    state: RecoveryState
    ended_at: Instant | None = None
    cleared_by: ClearedBy | None = None
    findings: tuple[Finding, ...]
