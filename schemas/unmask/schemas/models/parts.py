"""Parts that several records share."""

from unmask.schemas.codes import DropCause, Equivalence, Family
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, Hex, Token
from unmask.schemas.models.fields import Signature as UpstreamSignature
from unmask.schemas.models.record import Record

__all__ = ["Dropped", "FamilyClaim", "MaskedOperation", "Signature"]


class Dropped(Record):
    """Events dropped for one cause."""

    cause: DropCause
    count: Count


class FamilyClaim(Record):
    """What a host itself counted for a session."""

    family: Family
    count: Count


class MaskedOperation(Record):
    """One masked error of a session."""

    operation_id: Token
    occurred_at: Instant
    upstream: Token
    masked_upstream_signature: UpstreamSignature
    fallback_execution_receipt: Token
    equivalence: Equivalence
    primary_shape: Token | None = None
    fallback_shape: Token | None = None


class Signature(Record):
    """Who vouches for a record."""

    key_id: Token
    algorithm: Token
    value: Hex
