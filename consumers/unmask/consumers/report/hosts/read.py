"""Reads what hosts say and what is on record: the ledger's counts, the log, the windows, and the counts once more."""

import time
from dataclasses import dataclass, field

from unmask.consumers.report.hosts.cells import LedgerCells, LogCells
from unmask.consumers.report.hosts.emitter import EmitterRecord
from unmask.consumers.report.pipeline import PipelineFacts
from unmask.consumers.report.pipeline_view import look_at_pipeline
from unmask.consumers.topic_reader import Row
from unmask.consumers.unreadable import TopicNotThere
from unmask.consumers.verify.put_aside import PutAside
from unmask.consumers.verify.readers import Progress, Readers
from unmask.consumers.verify.strict import StrictReader
from unmask.consumers.windows_view import read_windows, windows_source
from unmask.schemas.codes import Family
from unmask.schemas.errors import DecodeError
from unmask.schemas.scope import Scope
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import LIFETIME
from unmask.schemas.wire import process_framing

__all__ = ["HostRecords", "HostRequest", "read_hosts"]

_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class HostRequest:
    """What is compared. `settle` and `timeout` in seconds."""

    topics: Topics
    bootstrap: str
    settle: float = 5.0
    """How long the tables may take to publish what the ledger has counted."""
    timeout: float = 60.0
    silence_factor: int = 3
    """Heartbeats an emitter may miss, as the workers have it."""


@dataclass(slots=True)
class HostRecords:
    """Everything that was read."""

    pipeline: PipelineFacts
    emitters: dict[str, EmitterRecord] = field(default_factory=dict)
    ledger: LedgerCells = field(default_factory=LedgerCells)
    counted: dict[tuple[Scope, str], int] = field(default_factory=dict)
    """What the ledger had counted before the windows were read; `ledger` has what it had afterwards."""
    log: LogCells = field(init=False)
    published: dict[tuple[Scope, str], int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    """First offset that each partition of the log still has."""
    unreadable: int = 0
    """Records of the log that are no batch."""
    newest: int = 0
    """Broker's time of the newest record of the log."""

    def __post_init__(self) -> None:
        self.log = LogCells(self.ledger)

    @property
    def broker_time(self) -> int:
        """The newest time that the broker has told, microseconds."""
        return max(self.newest, self.pipeline.broker_time)


def read_hosts(request: HostRequest, progress: Progress) -> HostRecords:
    """Everything there is. Raises a TopicUnreadable that names the cause."""
    topics = request.topics
    facts = look_at_pipeline(request.bootstrap, topics, min(request.timeout, 20.0))
    for needed in (topics.events, topics.tallies, topics.windows):
        if needed.name in facts.missing:
            raise TopicNotThere(needed.name)
    records = HostRecords(facts)
    with Readers(request.bootstrap, request.timeout, progress) as readers:
        readers.read(topics.tallies, records.ledger.take)
        records.counted = dict(records.ledger.totals())
        _read_log(records, readers, topics)
        deadline = time.monotonic() + request.settle
        while True:
            _read_published(records, request)
            behind = any(records.published.get(key, 0) < count for key, count in records.counted.items() if _of(key))
            if not behind or time.monotonic() > deadline:
                break
            time.sleep(_PAUSE_S)
        # Under traffic the windows may be ahead of what was counted before; so they lie between the two readings.
        readers.read(topics.tallies, records.ledger.take)
    return records


def _of(key: tuple[Scope, str]) -> bool:
    return key[1] in set(Family)


def _read_log(records: HostRecords, readers: Readers, topics: Topics) -> None:
    strict, aside = StrictReader(process_framing()), PutAside(topics.events.name, process_framing())
    readers.read(topics.quarantine, aside.take)
    records.starts = dict(readers.reader(topics.events).positions)

    def take(row: Row) -> None:
        arrival = row.timestamp_ms * 1000
        records.newest = max(records.newest, arrival)
        try:
            batch = strict.read(row.key, row.value)
        except DecodeError:
            batch = None
        if batch is None or aside.holds(row):
            records.unreadable += 1
            known = records.emitters.get((row.key or b"").decode("ascii", "replace"))
            if known is not None:
                known.unreadable += 1
            return
        said = batch["emitter"]
        emitter = records.emitters.get(said["emitter_id"])
        if emitter is None:
            emitter = records.emitters[said["emitter_id"]] = EmitterRecord(
                said["emitter_id"], Scope(**said["scope"]), row.partition, said["heartbeat_ms"] * 1000
            )
        if emitter.take(batch, arrival):
            records.log.take(row.partition, row.offset, emitter.scope, batch)

    readers.read(topics.events, take)


def _read_published(records: HostRecords, request: HostRequest) -> None:
    source = windows_source(request.bootstrap, request.topics.namespace)
    found = read_windows(source, LIFETIME, 0, 1, timeout=request.timeout)
    records.published = {}
    for window in found.windows:
        if window.scope is None or window.capability is not None:
            continue
        counts = {
            Family.ROUTE_ATTEMPT: window.attempts,
            Family.KERNEL_FALLBACK: window.fallbacks_total,
            Family.MASKED_ERROR: window.masked_errors,
            Family.SESSION_TEARDOWN: sum(window.teardowns_by_outcome.values()),
            Family.ROUTE_SELECTION: sum(window.selections.values()),
            Family.DELEGATION_PROGRESS: sum(window.delegation_calls.values()),
            Family.DELEGATION_EFFECT: sum(window.delegation_effects.values()),
        }
        records.published |= {(window.scope, str(family)): count for family, count in counts.items()}
