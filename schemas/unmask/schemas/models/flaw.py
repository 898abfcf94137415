"""A stretch of a stream that proves nothing."""

from unmask.schemas.codes import Family, FlawCause
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, Number, PartitionNumber, ScopeField, Token, WindowSeconds
from unmask.schemas.models.parts import Dropped
from unmask.schemas.models.record import Record

__all__ = ["Flaw", "Loss"]


class Loss(Record):
    """Events of one family that are missing."""

    family: Family
    missing: Number
    dropped: tuple[Dropped, ...]


class Flaw(Record):
    """A stretch of one emitter's stream, or of a partition, that proves nothing for this window.

    Without a scope it concerns every scope; without losses every family, by an unknown number.
    """

    partition: PartitionNumber
    offset: Count
    window_start: Instant
    window_seconds: WindowSeconds
    scope: ScopeField | None = None
    emitter_id: Token | None = None
    from_seq: Number
    to_seq: Number
    cause: FlawCause
    losses: tuple[Loss, ...]
