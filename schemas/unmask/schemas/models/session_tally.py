"""What one source partition knows of a session."""

from unmask.schemas.codes import Evidence, SessionOutcome
from unmask.schemas.instants import Instant
from unmask.schemas.models.delegations import DelegationTally
from unmask.schemas.models.fields import Count, PartitionNumber, ScopeField, Token
from unmask.schemas.models.parts import FamilyClaim, MaskedOperation
from unmask.schemas.models.record import Record
from unmask.schemas.models.selections import Selection

__all__ = ["SessionTally", "Teardown"]


class Teardown(Record):
    """A teardown, as claimed."""

    emitter_id: Token
    occurred_at: Instant
    outcome: SessionOutcome
    operations: Count
    degraded_operations: Count
    claims: tuple[FamilyClaim, ...]


class SessionTally(Record):
    """An absolute snapshot of a session, true for the prefix of the partition that ends before `offset`."""

    session_id: Token
    partition: PartitionNumber
    offset: Count
    scope: ScopeField
    emitters: tuple[Token, ...]
    opened_at: Instant | None = None
    last_seen_at: Instant
    predecessor_session_id: Token | None = None
    fallbacks: Count
    masked_errors: Count
    degraded_operations: tuple[Token, ...]
    degraded_operations_total: Count
    masked: tuple[MaskedOperation, ...]
    unreachable: Count
    exhausted: Count
    not_equivalent: Count
    shape_drifts: Count
    teardowns: tuple[Teardown, ...]
    evidence: Evidence
    abandoned_at: Instant | None = None
    selections: tuple[Selection, ...] = ()
    selections_total: Count | None = None
    delegations: tuple[DelegationTally, ...] = ()
    identity_conflicts: tuple[Token, ...] = ()
