"""A record that could not be read."""

from unmask.schemas.codes import QuarantineReason
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, Digest, Hex, PartitionNumber, Token, TopicName
from unmask.schemas.models.record import Record

__all__ = ["Quarantined"]


class Quarantined(Record):
    """Where a record stands that could not be read, and why. Never its bytes."""

    topic: TopicName
    partition: PartitionNumber
    offset: Count
    broker_time: Instant
    reason: QuarantineReason
    size: Count
    digest: Digest
    fingerprint: Hex | None = None
    key: Token | None = None
