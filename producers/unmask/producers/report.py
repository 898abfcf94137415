"""What an emitter says about itself: counts, the result of closing, health. Diagnostics, readable at any time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from unmask.schemas.codes import DropCause, Family

__all__ = [
    "FAMILIES",
    "FIRST_FAMILIES",
    "FURTHER_FAMILIES",
    "Counts",
    "DeliveryReport",
    "FamilyCount",
    "Health",
    "OutboxHealth",
    "OutboxState",
]

FIRST_FAMILIES = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)
"""The families that every host can tell of."""
FURTHER_FAMILIES = (Family.ROUTE_SELECTION, Family.DELEGATION_PROGRESS, Family.DELEGATION_EFFECT)
"""Those that a host tells of only where it says so: by a first record, or in its settings."""
FAMILIES = (*FIRST_FAMILIES, *FURTHER_FAMILIES)
"""The families that a host sends, in the order of the lanes."""


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """Events of one family; `recorded` is the sum of the other three at every moment."""

    recorded: int = 0
    delivered: int = 0
    """Acknowledged by the broker, by a report for each record."""
    pending: int = 0
    """Not in a batch yet, or in one that is not acknowledged. After close(): on the disk, for the next start."""
    dropped: Mapping[DropCause, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Dropped for any cause."""
        return sum(self.dropped.values())


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one emitter since its start."""

    emitter_id: str
    families: Mapping[Family, FamilyCount]

    def __getitem__(self, family: Family) -> FamilyCount:
        return self.families[family]


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """What became of everything that was recorded, when close() came back."""

    delivered: Mapping[Family, int]
    pending: Mapping[Family, int]
    dropped: Mapping[Family, Mapping[DropCause, int]]
    closed: bool
    """Whether the closing batch was acknowledged, or none was due. If not, the emitter ends as a silent one, until the
    next start on this host sends what is pending."""

    @property
    def complete(self) -> bool:
        """Whether all that was recorded has been delivered, the closing batch included."""
        return self.closed and not any(self.pending.values()) and not any(self.dropped.values())


class OutboxState(StrEnum):
    """What the disk outbox does for this emitter right now."""

    ON = "on"
    """Batches are on the disk before they are sent."""
    FULL = "full"
    """As ON, but at its limit of size: events are dropped as `outbox_full` until the broker has taken some."""
    FAILING = "failing"
    """The disk takes no batch at the moment; new ones are kept in memory, and it is tried again."""
    GONE = "gone"
    """The folder was deleted or replaced: what is not delivered will not outlive this process."""
    UNAVAILABLE = "unavailable"
    """It could not be set up at this emitter's start: the emitter works without one."""


@dataclass(frozen=True, slots=True)
class OutboxHealth:
    """How the disk outbox of this emitter is."""

    state: OutboxState
    problem: str | None = None
    """Name of what went wrong, the system's or SQLite's: ENOSPC, EACCES, EROFS, SQLITE_FULL, SQLITE_CORRUPT, ..."""
    bytes_kept: int = 0
    """Of batches that wait for their acknowledgement."""


@dataclass(frozen=True, slots=True)
class Health:
    """How the way to the broker is. Closed words and numbers only."""

    emitter_id: str
    running: bool
    """Whether the background thread runs; False before the first record of a forked child, and after close()."""
    partition: int | None
    """Where this emitter's batches go; None until the broker has told the topic's partitions."""
    problem: str | None
    """Code of what last went wrong on the way (librdkafka's name), None since the last delivery."""
    batches_cut: int
    batches_delivered: int
    batches_unacknowledged: int
    redeliveries: int
    """Batches that the client handed back and that were produced again."""
    openings_dropped: int
    outbox: OutboxHealth | None
    """None where no outbox is configured."""
    outboxes_adopted: int
    """Outboxes of dead emitters that this one has sent to their end."""
    adopting: str | None
    """The emitter_id of the dead emitter whose outbox is being sent."""
    internal_errors: int
    """Faults inside the SDK that were kept from the host. Zero, or please report them."""
