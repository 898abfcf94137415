"""How far a source partition has been read."""

from unmask.schemas.codes import FlawCause
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, PartitionNumber, ScopeField, Token
from unmask.schemas.models.record import Record

__all__ = ["Mark", "ScopeMark", "Unaccounted"]


class ScopeMark(Record):
    """Live emitters of one scope; each has sent a batch cut at or after `accounted_through`."""

    scope: ScopeField
    accounted_through: Instant
    emitters: Count


class Unaccounted(Record):
    """An emitter that is silent or behind."""

    emitter_id: Token
    scope: ScopeField
    cause: FlawCause
    since: Instant


class Mark(Record):
    """How far one source partition has been read. Every cell below its offset was published before it."""

    partition: PartitionNumber
    partitions: PartitionNumber
    offset: Count
    read_through: Instant
    grace_ms: Count
    scopes: tuple[ScopeMark, ...]
    unaccounted: tuple[Unaccounted, ...]
    unaccounted_total: Count
