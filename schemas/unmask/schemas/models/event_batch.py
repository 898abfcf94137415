"""What an emitter sends: one batch, the only record that hosts write."""

from typing import Literal, Self

from pydantic import model_validator

from unmask.schemas.codes import Equivalence, Family, ReasonCode, SessionOutcome
from unmask.schemas.instants import Instant
from unmask.schemas.models.delegations import DelegationEffect, DelegationProgress
from unmask.schemas.models.fields import (
    Count,
    Flag,
    RunId,
    ScopeField,
    SequenceNumber,
    Signature,
    Token,
)
from unmask.schemas.models.parts import Dropped, FamilyClaim
from unmask.schemas.models.record import Record
from unmask.schemas.models.selections import RouteSelection

__all__ = [
    "AttemptGroup",
    "Emitter",
    "EventBatch",
    "FamilyAccount",
    "KernelFallback",
    "MaskedError",
    "SessionOpening",
    "SessionTeardown",
]


class Emitter(Record):
    """One life of the SDK inside a host."""

    emitter_id: Token
    started_at: Instant
    scope: ScopeField
    heartbeat_ms: SequenceNumber
    sdk: Token


class FamilyAccount(Record):
    """Cumulative through its batch: recorded is what was cut into batches 1 to this one, plus what was dropped."""

    family: Family
    recorded: Count
    dropped: tuple[Dropped, ...]


class AttemptGroup(Record):
    """Attempts of one capability and entry point, as columns."""

    capability: Token
    entry_point: Token
    occurred_at: tuple[Instant, ...]
    run_id: tuple[RunId, ...]

    @model_validator(mode="after")
    def _columns_match(self) -> Self:
        if self.run_id and len(self.run_id) != len(self.occurred_at):
            raise ValueError("run_id must be empty or as long as occurred_at")
        return self


class KernelFallback(Record):
    """The legacy route answered where the kernel route was expected."""

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


class MaskedError(Record):
    """An upstream's failure that was hidden from the caller by a substitute."""

    session_id: Token
    operation_id: Token
    occurred_at: Instant
    upstream: Token
    masked_upstream_signature: Signature
    fallback_execution_receipt: Token
    equivalence: Equivalence
    primary_shape: Token | None = None
    fallback_shape: Token | None = None


class SessionOpening(Record):
    """A session began on this emitter since the previous batch."""

    session_id: Token
    occurred_at: Instant
    predecessor_session_id: Token | None = None


class SessionTeardown(Record):
    """A session ended; what its host claims."""

    session_id: Token
    occurred_at: Instant
    outcome: SessionOutcome
    operations: Count
    degraded_operations: Count
    claims: tuple[FamilyClaim, ...]


class EventBatch(Record):
    """What an emitter recorded since its previous batch. Empty: a heartbeat."""

    emitter: Emitter
    batch_seq: SequenceNumber
    sent_at: Instant
    closing: Flag
    accounts: tuple[FamilyAccount, ...]
    route_attempts: tuple[AttemptGroup, ...]
    kernel_fallbacks: tuple[KernelFallback, ...]
    masked_errors: tuple[MaskedError, ...]
    session_openings: tuple[SessionOpening, ...]
    session_teardowns: tuple[SessionTeardown, ...]
    route_selections: tuple[RouteSelection, ...] = ()
    delegation_progress: tuple[DelegationProgress, ...] = ()
    delegation_effects: tuple[DelegationEffect, ...] = ()
    witnesses: tuple[Family, ...] = ()

    @property
    def heartbeat(self) -> bool:
        """Whether it carries no event; it still accounts for its interval."""
        return not (
            self.route_attempts
            or self.kernel_fallbacks
            or self.masked_errors
            or self.session_openings
            or self.session_teardowns
            or self.route_selections
            or self.delegation_progress
            or self.delegation_effects
        )

    def events(self, family: Family) -> int:
        """How many events of a family the batch carries."""
        match family:
            case Family.ROUTE_ATTEMPT:
                return sum(len(group.occurred_at) for group in self.route_attempts)
            case Family.KERNEL_FALLBACK:
                return len(self.kernel_fallbacks)
            case Family.MASKED_ERROR:
                return len(self.masked_errors)
            case Family.SESSION_TEARDOWN:
                return len(self.session_teardowns)
            case Family.ROUTE_SELECTION:
                return len(self.route_selections)
            case Family.DELEGATION_PROGRESS:
                return len(self.delegation_progress)
            case Family.DELEGATION_EFFECT:
                return len(self.delegation_effects)
            case _:
                return 0
