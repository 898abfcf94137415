"""The comparison: per emitter, then per release line and composition. Pure but for the reading that it begins with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from unmask.consumers.report.hosts.emitter import ALWAYS_TOLD, FAMILIES, NOTHING, EmitterRecord
from unmask.consumers.report.hosts.explain import (
    Difference,
    EmitterState,
    ScopeCounts,
    emitter_differences,
    late_and_skewed,
    scope_differences,
    state_of,
)
from unmask.consumers.report.hosts.read import HostRecords, HostRequest, read_hosts
from unmask.consumers.report.pipeline import PipelineState, Stage, judge
from unmask.consumers.verify.readers import Progress
from unmask.schemas.scope import Scope

__all__ = ["Comparison", "EmitterLine", "FamilyLine", "ScopeLine", "compare", "compare_hosts"]

_TABLES_WAIT = {Stage.TABLES_BEHIND, Stage.STOPPED, Stage.NOT_STARTED, Stage.STARTING, Stage.STUCK}


@dataclass(frozen=True, slots=True)
class FamilyLine:
    """What an emitter says of a family, and what has come of it."""

    recorded: int
    dropped: Mapping[str, int]
    received: int


@dataclass(frozen=True, slots=True)
class EmitterLine:
    """One emitter; instants are microseconds."""

    emitter: EmitterRecord
    state: EmitterState
    families: Mapping[str, FamilyLine]
    differences: tuple[Difference, ...]

    @property
    def name(self) -> str:
        """Twelve digits tell emitters apart; JSON has them all."""
        return self.emitter.emitter_id[:12]


@dataclass(frozen=True, slots=True)
class ScopeLine:
    """One release line and composition."""

    scope: Scope
    families: Mapping[str, ScopeCounts]
    differences: tuple[Difference, ...]

    @property
    def name(self) -> str:
        """Release line and the first digits of the composition."""
        return f"{self.scope.release_line} / {self.scope.composition[:8]}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it."""

    pipeline: PipelineState
    emitters: tuple[EmitterLine, ...] = ()
    scopes: tuple[ScopeLine, ...] = ()
    unreadable: int = 0
    trimmed: bool = False
    """Whether the log's head is gone, so that not all that was counted can be counted again."""
    broker_time: int = 0
    remarks: tuple[str, ...] = field(default_factory=tuple)

    @property
    def unexplained(self) -> list[tuple[str, Difference]]:
        """Differences that nothing explains, each with whom it is about."""
        found = [(line.name, d) for line in self.emitters for d in line.differences if not d.explained]
        return found + [(line.name, d) for line in self.scopes for d in line.differences if not d.explained]


def compare_hosts(request: HostRequest, progress: Progress, *, now: int) -> Comparison:
    """Reads and compares; `now` is this machine's clock. Raises a TopicUnreadable that names the cause."""
    return compare(read_hosts(request, progress), request.silence_factor, now=now)


def compare(records: HostRecords, silence_factor: int, *, now: int) -> Comparison:
    """What was read, compared."""
    pipeline = judge(records.pipeline, now=now)
    # The broker's time goes on only as long as somebody writes; without a worker this machine's has to do.
    time = records.broker_time if records.pipeline.members else max(records.broker_time, now)
    emitters = tuple(
        _emitter_line(emitter, records, silence_factor, time)
        for emitter in sorted(records.emitters.values(), key=lambda emitter: (emitter.scope, emitter.emitter_id))
    )
    scopes = {scope for scope, measure in records.counted if measure in FAMILIES}
    scopes |= {emitter.scope for emitter in records.emitters.values()}
    return Comparison(
        pipeline=pipeline,
        emitters=emitters,
        scopes=tuple(_scope_line(scope, records, pipeline.stage) for scope in sorted(scopes)),
        unreadable=records.unreadable,
        trimmed=any(records.starts.values()),
        broker_time=records.broker_time,
    )


def _emitter_line(emitter: EmitterRecord, records: HostRecords, silence_factor: int, time: int) -> EmitterLine:
    state = state_of(emitter, time, silence_factor)
    trimmed = records.starts.get(emitter.partition, 0) > 0
    families = {}
    for family in FAMILIES:
        account = emitter.accounts.get(family, NOTHING)
        if family not in ALWAYS_TOLD and not (account.recorded or emitter.received[family]):
            continue
        families[family] = FamilyLine(account.recorded, account.dropped, emitter.received[family])
    differences = tuple(emitter_differences(emitter, state, trimmed=trimmed))
    return EmitterLine(emitter, state, families, differences)


def _scope_line(scope: Scope, records: HostRecords, stage: Stage) -> ScopeLine:
    later = records.ledger.totals()
    trimmed = any(records.starts.values())
    families: dict[str, ScopeCounts] = {}
    differences: list[Difference] = []
    for family in FAMILIES:
        key = (scope, family)
        counts = ScopeCounts(
            in_log=records.log.below[key],
            waiting=records.log.waiting[key],
            counted=records.counted.get(key, 0),
            counted_later=later[key],
            published=records.published.get(key),
        )
        if family in ALWAYS_TOLD or any((counts.in_log, counts.waiting, counts.counted, counts.published)):
            families[family] = counts
        differences += scope_differences(family, counts, trimmed=trimmed, tables_wait=stage in _TABLES_WAIT)
    differences += late_and_skewed(records.ledger.remarks(scope))
    return ScopeLine(scope, families, tuple(differences))
