"""One fallback, for all other tools."""

from typing import Literal

from unmask.schemas.codes import ReasonCode
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, ScopeField, SequenceNumber, Token
from unmask.schemas.models.record import Record

__all__ = ["Fallback"]


class Fallback(Record):
    """Published once per fallback, in the transaction that counts it.

    `emitter_id`, `batch_seq` and `index` identify the event.
    """

    emitter_id: Token
    batch_seq: SequenceNumber
    index: Count
    scope: ScopeField
    event_type: Literal["kernel_fallback.v1"] = "kernel_fallback.v1"
    occurred_at: Instant
    capability: Token
    reason_code: ReasonCode
    route_expected: Literal["kernel"] = "kernel"
    runtime_route: Literal["legacy"] = "legacy"
    entry_point: Token | None = None
    run_id: Token | None = None
    tenant_id: Token | None = None
    conversation_id: Token | None = None
    session_id: Token | None = None
    operation_id: Token | None = None
