"""Questions to the effects ledger, and what it decided."""

from unmask.schemas.codes import EffectAnswer, EffectReason, EffectRequestKind
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, PartitionNumber, SequenceNumber, Token
from unmask.schemas.models.record import Record

__all__ = ["EffectDecision", "EffectRequest"]


class EffectRequest(Record):
    """A question about one effect, which tenant, failure, strategy, its version and the budget key name together."""

    request_id: Token
    kind: EffectRequestKind
    tenant: Token
    failure: Token
    strategy: Token
    strategy_version: Token
    budget_key: Token
    holder: Token
    asked_at: Instant
    fingerprint: Token | None = None
    lease_ms: SequenceNumber | None = None
    budget_limit: SequenceNumber | None = None
    fencing_token: SequenceNumber | None = None
    receipt: Token | None = None


class EffectDecision(Record):
    """What was decided about one request, at its place in the log."""

    request_id: Token
    kind: EffectRequestKind
    answer: EffectAnswer
    reason: EffectReason | None = None
    tenant: Token
    failure: Token
    strategy: Token
    strategy_version: Token
    budget_key: Token
    holder: Token
    partition: PartitionNumber
    offset: Count
    decided_at: Instant
    attempts: Count
    unsettled: Count
    fencing_token: SequenceNumber | None = None
    lease_until: Instant | None = None
    receipt: Token | None = None
    committed_at: Instant | None = None
    late_receipt: Token | None = None
    fingerprint: Token | None = None
    budget_used: Count | None = None
    budget_limit: SequenceNumber | None = None
