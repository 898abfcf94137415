"""The ledger's state of one source partition: plain mutable values, changed by the fold alone.

Where an offset is named, it is one past the last record that the state covers. Instants are microseconds.
"""

from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.scope import Scope
from unmask.streams.ledger.session_work import SessionWork

__all__ = [
    "RECENT",
    "Beyond",
    "Cell",
    "Correction",
    "Emitter",
    "FlawRecord",
    "Gap",
    "Labelled",
    "Marked",
    "PartitionState",
    "Session",
    "Shipped",
    "Shortcut",
    "Stretch",
    "StretchId",
    "Touched",
]

Shipped = dict[str, int]
"""Per family: events recorded minus dropped, cumulative through a batch."""
Drops = dict[str, dict[str, int]]
"""Per family and cause: events dropped, cumulative through a batch."""
CellId = tuple[int, int, Scope, str, str, str]
"""Window start, window seconds, scope, measure, capability, code."""
Marked = tuple[int, int]
"""Of a scope: up to when its live emitters have accounted, and how many they are."""
Labelled = tuple[str, str, str, int]
"""Measure, capability, code, and the moment as a number of grains."""
Correction = tuple[str, int]
"""Emitter and batch_seq of a batch for windows whose cells were removed."""


RECENT = 8
"""Of so many batches of an emitter, the last by number, a digest is remembered. A power of 2."""


@dataclass(slots=True)
class Cell:
    """One count. `published` is the count that the newest snapshot carries, -1 for none."""

    count: int = 0
    published: int = -1
    sessions: list[str] = field(default_factory=list)
    noted: bool = field(default=False, init=False, compare=False)
    """Whether it stands in both `touched` and `unpublished` already."""


Shortcut = tuple[int, tuple[tuple[CellId, Cell], ...]]
"""Newest broker time for which it holds (exclusive), and the cells of all window sizes."""


@dataclass(slots=True)
class Gap:
    """Batches `after`+1 to `before`-1 of an emitter are missing; what is known on both sides of them."""

    after: int
    before: int
    shipped_after: Shipped
    dropped_after: Drops
    shipped_before: Shipped
    """What had been shipped when batch `before` began: its account less its own events."""
    dropped_before: Drops
    cut_after: int
    cut_before: int
    ahead: bool
    """Batch `before` was cut by a clock that was ahead; `cut_before` is the broker's time of it instead."""


@dataclass(slots=True)
class Beyond:
    """What only few emitters have: see piece `E|`, which older workers pass over."""

    claimed_start: int | None = None
    """Its start as it says, where `started_at` is another instant."""
    witnesses: list[str] = field(default_factory=list)
    """Families beyond the first four of which it can tell, since the batch that first said so."""
    moved: dict[str, None] = field(default_factory=dict)
    """Signals that were seen to move in delegations of which it told, the newest at the end."""
    losses: dict[str, list[Any]] = field(default_factory=dict)
    """Stretches that lack events of such families: `from-to` -> cut before, cut after, and the families."""
    changed: bool = field(default=False, compare=False)
    """Whether its piece must be written anew. Not part of the state."""


@dataclass(slots=True)
class Emitter:
    """One emitter as far as its batches were read."""

    scope: Scope
    started_at: int
    heartbeat_us: int
    last_seq: int = 0
    last_cut: int = 0
    """Up to when it has accounted, by its own clock (the broker's where its clock is ahead)."""
    last_arrival: int = 0
    """Broker's time of its newest batch."""
    shipped: Shipped = field(default_factory=dict)
    dropped: Drops = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    closed: bool = False
    unaccounted: str | None = None
    """FlawCause silent or behind, with the interval that is flawed by it."""
    unaccounted_from: int = 0
    unaccounted_until: int = 0
    flaws: dict[str, list[int]] = field(default_factory=dict)
    """Stretches that may lack session events: `from-to` -> [cut before, cut after]."""
    sessions: set[str] = field(default_factory=set)
    """Sessions that name it. An index over the sessions, not kept in its own piece; so is the next."""
    open_sessions: dict[str, None] = field(default_factory=dict)
    """Sessions that are open on it, the one opened first in front."""
    recent: list[int | None] = field(default_factory=lambda: [None] * RECENT)
    """Digests of its last batches, each at its number modulo RECENT; None where it is not known."""
    beyond: Beyond | None = None
    said: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    """What its last batch said of it, compared with what is known here: the same object needs no second look."""


@dataclass(slots=True)
class Session:
    """One session as far as this partition knows it."""

    scope: Scope
    emitters: list[str] = field(default_factory=list)
    open_on: set[str] = field(default_factory=set)
    """Emitters from which events or the end of it are still to come."""
    opened_at: int | None = None
    last_seen_at: int = 0
    predecessor: str | None = None
    fallbacks: int = 0
    masked_errors: int = 0
    degraded: set[str] = field(default_factory=set)
    anonymous_fallbacks: int = 0
    """Fallbacks that name no operation: each is an operation of its own."""
    masked: list[dict[str, Any]] = field(default_factory=list)
    degraded_further: int = 0
    """Degraded operations that no longer found room among those."""
    further: set[str] = field(default_factory=set)
    """Short digests of these, so that each counts once, however many batches tell of it."""
    proven: dict[str, bool] = field(default_factory=dict)
    """Per degraded operation: whether all its masked errors were bit-for-bit equivalent."""
    unreachable: int = 0
    exhausted: int = 0
    shape_drifts: int = 0
    teardowns: list[dict[str, Any]] = field(default_factory=list)
    abandoned_at: int | None = None
    ended_arrival: int | None = None
    """Broker's time at which it ended or was abandoned; it is removed some time later."""
    work: SessionWork | None = None
    """Selections, delegations, identity conflicts; None where there is none of it."""


@dataclass(slots=True)
class FlawRecord:
    """A flaw of one window, as it goes out; `value` None removes it."""

    start: int
    seconds: int
    scope: Scope | None
    emitter_id: str | None
    from_seq: int
    to_seq: int
    cause: str
    losses: list[dict[str, Any]] | None


StretchId = tuple[str, int, int, str]
"""Emitter, last batch before the stretch, first batch after it, cause."""


@dataclass(slots=True)
class Stretch:
    """A flawed stretch between two cuts of an emitter, all its windows at once; `losses` None takes it back."""

    scope: Scope
    cut_after: int
    cut_before: int
    losses: list[dict[str, Any]] | None


@dataclass(slots=True)
class Touched:
    """What changed since the last transaction and must go out with the next."""

    cells: set[CellId] = field(default_factory=set)
    removed_cells: list[CellId] = field(default_factory=list)
    corrections: dict[tuple[CellId, Correction], int] = field(default_factory=dict)
    emitters: set[str] = field(default_factory=set)
    removed_emitters: list[str] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    removed_sessions: list[str] = field(default_factory=list)
    removed_beyond: list[str] = field(default_factory=list)
    """Emitters among the removed ones that had something beyond."""
    removed_work: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Removed sessions that had work, and its delegations."""
    stretches: dict[StretchId, Stretch] = field(default_factory=dict)
    """Windows are made of these only in the end: a long gap that is filled batch by batch changes with each."""
    flaws: list[FlawRecord] = field(default_factory=list)
    """Flaws that belong to no such stretch, window by window."""
    fallbacks: list[dict[str, Any]] = field(default_factory=list)
    quarantined: list[dict[str, Any]] = field(default_factory=list)
    urgent: bool = False
    """Holds a fallback, masked error, teardown, selection or effect: the transaction ends at once."""


@dataclass(slots=True)
class PartitionState:
    """Everything the ledger knows of one source partition."""

    partition: int
    next_offset: int = 0
    read_through: int = 0
    """Everything that stood in the log at this broker time has been read; 0 before the first proof."""
    newest: int = 0
    """Newest broker time of a record. Decides what is late, so that a replay decides the same."""
    previous: int = 0
    """Broker time of the record before next_offset."""
    evicted_through: int = 0
    """Broker time up to which cells were evicted. No cell of a window that was evicted may ever come back."""
    log_id: str = ""
    """The broker's id of the topic that was read; one that was made anew under the old name has another."""
    quarantine_run: int = 0
    """Records in a row, up to the last, that could not be read."""
    emitters: dict[str, Emitter] = field(default_factory=dict)
    cells: dict[CellId, Cell] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    """Emitters that are not closed, or still flawed. An index, as is the next."""
    windows: dict[tuple[int, int], set[CellId]] = field(default_factory=dict)
    """Cells by window start and window seconds."""
    touched: Touched = field(default_factory=Touched)
    unpublished: set[CellId] = field(default_factory=set)
    """Cells whose count is newer than their last snapshot."""
    marked_offset: int = -1
    """What the newest mark said of how far was read; -1 before the first."""
    marked_through: int = 0
    """The read_through that the newest mark said."""
    marked: dict[Scope, Marked] = field(default_factory=dict)
    """What the newest mark said of each scope."""
    committed_offset: int = -1
    """The next_offset that the last transaction said."""
    shortcuts: dict[Scope, dict[Labelled, Shortcut]] = field(default_factory=dict, compare=False)
    """Where the events of a label and a moment count, found once. Not part of the state."""

    def take_touched(self) -> Touched:
        """What changed, leaving nothing behind."""
        touched, self.touched = self.touched, Touched()
        for key in touched.cells:
            self.cells[key].noted = False
        return touched
