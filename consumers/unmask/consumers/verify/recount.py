"""The recount: every record of the log, one after the other, into what can be known of it. No I/O, no clock.

Shares nothing with the stream job but the contract. Batches are told apart by emitter and number, whatever partition
they lie on; what each proves is kept as chains, counts and sessions, from which windows and verdicts are derived.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.verify.chain import Chain
from unmask.consumers.verify.counts import CountBook
from unmask.consumers.verify.identity import named_sessions
from unmask.consumers.verify.rules import RecountRules
from unmask.consumers.verify.session_facts import SessionFacts
from unmask.consumers.verify.strict import Batch, StrictReader
from unmask.schemas.codes import Family, FlawCause
from unmask.schemas.errors import DecodeError
from unmask.schemas.tokens import is_token

__all__ = ["PartitionFacts", "Recount", "Totals", "Unclear"]

_DELEGATION = (Family.DELEGATION_PROGRESS.value, Family.DELEGATION_EFFECT.value)
_WORK: dict[str, tuple[str, ...]] = {
    "route_selections": (Family.ROUTE_SELECTION.value,),
    # Whoever tells of a delegation's calls may lack its effects as well.
    "delegation_progress": _DELEGATION,
    "delegation_effects": _DELEGATION,
}


@dataclass(frozen=True, slots=True)
class Unclear:
    """A stretch of time of which it is not known whose events are missing: it spoils every scope. Microseconds."""

    cause: FlawCause
    first: int
    last: int


@dataclass(slots=True)
class PartitionFacts:
    """How much of a partition was read."""

    start: int
    """The first offset that the log still has; above 0 where its head was deleted."""
    next: int | None = None
    newest: int = 0
    """Newest broker's time of a record."""
    head: int = 0
    """Broker's time of the first record; where none is left, the time up to which those that were may have come."""

    @property
    def trimmed(self) -> bool:
        """Whether there were records before those that were read."""
        return self.start > 0


@dataclass(slots=True)
class Totals:
    """How much was read."""

    records: int = 0
    batches: int = 0
    events: int = 0
    duplicates: int = 0
    disputed: int = 0
    """Batches of another life of their emitter, or of a number that had come with other content."""
    unreadable: int = 0
    readable_now: int = 0
    """Those among them that the stream put aside and that can be read here."""
    holes: int = 0
    """Offsets between the first and the last record that hold none."""


@dataclass(slots=True)
class Recount:
    """Everything that the log proves. `grace` is by partition, microseconds."""

    reader: StrictReader
    rules: RecountRules
    grace: dict[int, int]
    partitions: dict[int, PartitionFacts] = field(default_factory=dict)
    chains: dict[str, Chain] = field(default_factory=dict)
    sessions: dict[str, SessionFacts] = field(default_factory=dict)
    unclear: list[Unclear] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    counts: CountBook = field(init=False)

    def __post_init__(self) -> None:
        self.counts = CountBook(self.rules.window_seconds)

    def take(
        self, partition: int, offset: int, arrival: int, key: bytes | None, value: bytes | None, *, aside: bool = False
    ) -> None:
        """Takes the next record of a partition in; `arrival` is the broker's time of it.

        `aside` says that the stream put it into quarantine: then it is unreadable for its counts, even where a newer
        version can read it. Raises RegistryUnavailable, after which the same record may be handed in again.
        """
        batch: Batch | None
        try:
            batch = self.reader.read(key, value)
        except DecodeError:
            batch = None
        if aside and batch is not None:
            self.totals.readable_now += 1
            batch = None
        facts = self.partitions[partition]
        self._move(facts, offset, arrival)
        self.totals.records += 1
        if batch is None or value is None:
            self._unreadable(partition, arrival, key)
        else:
            self._take_batch(partition, facts, arrival, batch, value)

    def _move(self, facts: PartitionFacts, offset: int, arrival: int) -> None:
        if facts.next is None:
            facts.head = arrival
        else:
            # What is missing between records that stand are markers of somebody's transactions: no batches.
            self.totals.holes += offset - facts.next
        facts.next = offset + 1
        facts.newest = max(facts.newest, arrival)

    def _unreadable(self, partition: int, arrival: int, key: bytes | None) -> None:
        self.totals.unreadable += 1
        chain = self.chains.get(_name_of(key))
        known = chain is not None and chain.partition == partition
        since = arrival - self.rules.unknown_batch
        if chain is not None and known:
            since = max(chain.last_cut, arrival - self.rules.long_batch)
        self.unclear.append(Unclear(FlawCause.QUARANTINED, min(since, arrival), max(since, arrival)))

    def _take_batch(self, partition: int, facts: PartitionFacts, arrival: int, batch: Batch, value: bytes) -> None:
        emitter_id = batch["emitter"]["emitter_id"]
        chain = self.chains.get(emitter_id)
        if chain is None:
            chain = self.chains[emitter_id] = Chain.begun_by(batch, partition, arrival)
        elif chain.disputes(batch, value):
            self.totals.disputed += 1
            chain.refuse(batch, arrival)
            for session_id in named_sessions(batch) & self.sessions.keys():
                self.sessions[session_id].disputed = True
            return
        placed = chain.add(batch, arrival)
        if placed is None:
            self.totals.duplicates += 1
            self.counts.duplicate(chain.scope, arrival)
            return
        if chain.identity is not None:
            chain.identity.remember(batch["batch_seq"], value)
        self.totals.batches += 1
        over = facts.newest - self.grace.get(partition, 0)
        self.totals.events += self.counts.count(batch, chain.scope, arrival, placed, over)
        latest = placed.cut if placed.ahead else None
        self._take_sessions(emitter_id, partition, arrival, _told_by(batch, latest), filled=placed.filled)

    def _take_sessions(self, emitter_id: str, partition: int, arrival: int, batch: Batch, *, filled: bool) -> None:
        def named(session_id: str, event: dict[str, Any]) -> SessionFacts:
            session = self.sessions.get(session_id)
            if session is None:
                session = self.sessions[session_id] = SessionFacts(session_id)
            session.touch(emitter_id, event["occurred_at"], arrival, self.rules.session_memory)
            session.out_of_order = session.out_of_order or filled
            return session

        for opening in batch["session_openings"]:
            named(opening["session_id"], opening).open(opening)
        for masked in batch["masked_errors"]:
            named(masked["session_id"], masked).mask(masked)
        for fallback in batch["kernel_fallbacks"]:
            if fallback["session_id"] is not None:
                named(fallback["session_id"], fallback).fall_back(fallback["operation_id"])
        for part, families in _WORK.items():
            for event in batch[part]:
                named(event["session_id"], event).told.setdefault(emitter_id, set()).update(families)
        self._take_work(emitter_id, partition, batch)
        for teardown in batch["session_teardowns"]:
            named(teardown["session_id"], teardown).tear_down(emitter_id, teardown, arrival)

    def _take_work(self, emitter_id: str, partition: int, batch: Batch) -> None:
        for selection in batch["route_selections"]:
            self.sessions[selection["session_id"]].working().choose(emitter_id, partition, selection)
        chain = self.chains[emitter_id]
        for progress in batch["delegation_progress"]:
            work = self.sessions[progress["session_id"]].working()
            chain.learn(work.call(emitter_id, partition, progress, chain.moved))
        for effect in batch["delegation_effects"]:
            self.sessions[effect["session_id"]].working().affect(emitter_id, partition, effect)


def _told_by(batch: Batch, latest: int | None) -> Batch:
    """The batch with no event of a session after `latest`: a clock that is ahead tells of time that has not come."""
    if latest is None:
        return batch
    names = (
        "session_openings", "masked_errors", "kernel_fallbacks", "session_teardowns", "route_selections",
        "delegation_progress", "delegation_effects",
    )  # fmt: skip
    told = dict(batch)
    for name in names:
        told[name] = [_not_after(event, latest) for event in batch[name]]
    return told


def _not_after(event: dict[str, Any], latest: int) -> dict[str, Any]:
    by = max(0, event["occurred_at"] - latest)
    moved = {**event, "occurred_at": event["occurred_at"] - by}
    if moved.get("expires_at") is not None:
        # What holds for a while holds for as long.
        moved["expires_at"] = max(0, moved["expires_at"] - by)
    return moved


def _name_of(key: bytes | None) -> str:
    """The emitter that an unreadable record's key names, as the quarantine does."""
    text = (key or b"").decode("ascii", "replace")
    return text if is_token(text) else "sha256-" + hashlib.sha256(key or b"").hexdigest()[:32]
