"""An alert, firing or resolved."""

from unmask.schemas.codes import AlertKind, AlertState, Directive
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import AlertId, Count, Number, ScopeField, Token, WindowSeconds
from unmask.schemas.models.record import Record

__all__ = ["Alert"]


class Alert(Record):
    """An alert; the same condition has the same `alert_id` across restarts."""

    alert_id: AlertId
    kind: AlertKind
    state: AlertState
    since: Instant
    until: Instant | None = None
    scope: ScopeField | None = None
    session_id: Token | None = None
    emitter_id: Token | None = None
    upstream: Token | None = None
    capability: Token | None = None
    window_start: Instant | None = None
    window_seconds: WindowSeconds | None = None
    directive: Directive | None = None
    causes: tuple[Token, ...]
    facts: dict[Token, Number]
    revision: Count
    delegation_id: Token | None = None
