"""A cell of one source partition."""

from unmask.schemas.codes import Measure
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import (
    CellLabel,
    Count,
    PartitionNumber,
    ScopeField,
    SequenceNumber,
    Token,
    WindowSeconds,
)
from unmask.schemas.models.record import Record

__all__ = ["Correction", "Tally"]


class Correction(Record):
    """The batch that brought events for a window whose cells were already removed."""

    emitter_id: Token
    batch_seq: SequenceNumber


class Tally(Record):
    """An absolute count, true for the prefix of the partition that ends before `offset`."""

    partition: PartitionNumber
    offset: Count
    window_start: Instant
    window_seconds: WindowSeconds
    scope: ScopeField
    measure: Measure
    capability: CellLabel
    code: CellLabel
    count: Count
    sessions: tuple[Token, ...]
    correction: Correction | None = None
