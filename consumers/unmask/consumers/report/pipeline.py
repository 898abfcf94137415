"""What state the whole pipeline is in, in words: from what its topics and its ledger's group show. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from unmask.schemas.instants import iso
from unmask.schemas.windowing import MICROS

__all__ = ["Mark", "PipelineFacts", "PipelineState", "Stage", "closed_through", "judge"]

LAG_S = 30
"""How far behind the broker's newest record the ledger may be before the pipeline is said to lag."""
STUCK_S = 120
"""How long a worker may tell nothing."""
TABLES_S = 90
"""How long the tables may take to publish a window that is over."""


class Stage(StrEnum):
    """How far the pipeline is."""

    NOT_SET_UP = "NOT_SET_UP"
    """None of its topics exists."""
    HALF_SET_UP = "HALF_SET_UP"
    """Some of its topics are missing."""
    NOT_STARTED = "NOT_STARTED"
    """No worker has ever counted."""
    STARTING = "STARTING"
    """A worker has joined, and has not told of every partition yet."""
    STOPPED = "STOPPED"
    """There was a worker; now there is none."""
    STUCK = "STUCK"
    """There is a worker, and it tells nothing any more."""
    LAGGING = "LAGGING"
    """The ledger reads, and is behind."""
    TABLES_BEHIND = "TABLES_BEHIND"
    """The ledger counts, and what it counts is not published."""
    EMPTY = "EMPTY"
    """All is well, and no host has ever sent anything."""
    CAUGHT_UP = "CAUGHT_UP"
    """All is well."""
    UNKNOWN = "UNKNOWN"
    """It could not be looked at."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far one partition has been read; instants are microseconds."""

    offset: int
    read_through: int
    grace: int
    unaccounted: int = 0
    """Emitters that are silent or behind."""


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    """What was found. By partition of the event topic; instants are microseconds."""

    missing: tuple[str, ...] = ()
    topics: int = 10
    ends: Mapping[int, int] = field(default_factory=dict)
    starts: Mapping[int, int] = field(default_factory=dict)
    marks: Mapping[int, Mark] = field(default_factory=dict)
    members: int = 0
    """Workers in the ledger's group."""
    broker_time: int = 0
    """The newest time that the broker has told: of the newest event record, or of a mark. 0 where there is neither."""
    windows: int = 0
    """Offsets that the windows topic has."""

    @property
    def sent(self) -> int:
        """Records that hosts have ever sent."""
        return sum(self.ends.values())

    @property
    def waiting(self) -> int:
        """Records that stand on the event topic and are not counted yet."""
        return sum(
            max(0, end - max(self.starts.get(p, 0), self.marks[p].offset if p in self.marks else 0))
            for p, end in self.ends.items()
        )


@dataclass(frozen=True, slots=True)
class PipelineState:
    """The stage, with what it means and what to do about it."""

    stage: Stage
    words: str
    fix: str | None = None
    waiting: int = 0
    """Records that are not counted yet."""
    read_through: int | None = None
    """Up to when everything that stood in the log has been counted, microseconds; None for never."""

    @property
    def well(self) -> bool:
        """Whether nothing has to be done."""
        return self.fix is None


def closed_through(facts: PipelineFacts) -> int | None:
    """Before when every window is over on every partition, microseconds; None where nobody has ever sent anything.

    A partition without a single record holds nothing back. Where it cannot be told, nothing is over.
    """
    if not facts.ends:
        return 0
    sending = [partition for partition, end in facts.ends.items() if end]
    if not sending:
        return None
    marks = [facts.marks.get(partition) for partition in sending]
    return min((0 if mark is None else mark.read_through - mark.grace) for mark in marks)


def judge(facts: PipelineFacts | None, *, now: int, newest_window: int | None = None) -> PipelineState:
    """The state; `now` is this machine's clock, `newest_window` the end of the newest published window that is known.

    `facts` is None where it could not be looked at. The first thing that is wrong is told, for what follows may follow
    from it.
    """
    if facts is None:
        words = "The topics beside the windows could not be looked at, so that it is not known whether anybody counts."
        return PipelineState(Stage.UNKNOWN, words, "see: unmask doctor")
    broken = _not_running(facts) or _not_reading(facts, now) or _not_publishing(facts, newest_window)
    if broken is not None:
        return broken
    through = _through(facts)
    assert through is not None
    if not facts.sent:
        words = "A worker runs and has read everything there is: no host has ever sent anything."
        fix = "wire a host: emitters of `unmask.producers`, with this broker and namespace"
        return PipelineState(Stage.EMPTY, words, fix, 0, through)
    words = f"A worker runs and has counted everything up to {_at(through)}."
    silent = sum(mark.unaccounted for mark in facts.marks.values())
    if silent:
        words += f" {_many(silent, 'emitter is', 'emitters are')} silent or behind."
    return PipelineState(Stage.CAUGHT_UP, words, None, facts.waiting, through)


def _not_running(facts: PipelineFacts) -> PipelineState | None:
    create = "unmask topics create"
    if len(facts.missing) >= facts.topics:
        return PipelineState(Stage.NOT_SET_UP, "Nothing is set up here: none of the topics exists.", create)
    if facts.missing:
        words = f"Only half set up: {', '.join(facts.missing)} {'does' if len(facts.missing) == 1 else 'do'} not exist."
        return PipelineState(Stage.HALF_SET_UP, words, create)
    waiting = _many(facts.waiting, "record of hosts waits", "records of hosts wait")
    if not facts.marks and not facts.members:
        words = f"No worker has ever run here, so that nothing is counted; {waiting}."
        return PipelineState(Stage.NOT_STARTED, words, "start a worker: unmask stream", facts.waiting)
    through = _through(facts)
    unread = [partition for partition in facts.ends if partition not in facts.marks]
    if unread and facts.members:
        words = f"A worker has joined, and has not told yet how far it has read {_partitions(unread)}; {waiting}."
        fix = "wait some seconds; if this stays, look at the workers' logs and at /readyz"
        return PipelineState(Stage.STARTING, words, fix, facts.waiting, through)
    if not facts.members:
        known = "an unknown time" if through is None else _at(through)
        words = f"No worker runs. The last one had counted up to {known}; {waiting}."
        return PipelineState(Stage.STOPPED, words, "start a worker: unmask stream", facts.waiting, through)
    return None


def _not_reading(facts: PipelineFacts, now: int) -> PipelineState | None:
    through = _through(facts)
    assert through is not None
    behind = facts.broker_time - through
    waiting = _many(facts.waiting, "record waits", "records wait")
    if facts.waiting and behind > LAG_S * MICROS:
        words = f"The ledger is behind by {_span(behind)}: it has counted up to {_at(through)}, and {waiting}."
        fix = "start more workers (at most one for each event partition), or look at their logs"
        return PipelineState(Stage.LAGGING, words, fix, facts.waiting, through)
    if now - through > STUCK_S * MICROS:
        words = f"A worker is there, and has told nothing since {_at(through)} by this machine's clock; {waiting}."
        fix = "look at the worker's log and at /healthz; compare clocks with: unmask doctor"
        return PipelineState(Stage.STUCK, words, fix, facts.waiting, through)
    return None


def _not_publishing(facts: PipelineFacts, newest_window: int | None) -> PipelineState | None:
    through = _through(facts)
    assert through is not None
    fix = "start the tables: unmask stream, or unmask stream --only tables; look at their logs"
    if facts.sent and not facts.windows:
        words = f"The ledger has counted up to {_at(through)}, and no window has ever been published."
        return PipelineState(Stage.TABLES_BEHIND, words, fix, facts.waiting, through)
    closed = closed_through(facts)
    if newest_window and closed is not None and closed - newest_window > TABLES_S * MICROS:
        words = f"The ledger has counted up to {_at(through)}; the newest published window ends {_at(newest_window)}."
        return PipelineState(Stage.TABLES_BEHIND, words, fix, facts.waiting, through)
    return None


def _through(facts: PipelineFacts) -> int | None:
    return min((mark.read_through for mark in facts.marks.values()), default=None)


def _at(micros: int) -> str:
    return iso(micros - micros % MICROS)


def _many(count: int, one: str, several: str) -> str:
    return f"no {one}" if count == 0 else f"{count:,} {one if count == 1 else several}"


def _partitions(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in sorted(numbers)[:8])
    return f"partition{'' if len(numbers) == 1 else 's'} {shown}{'' if len(numbers) <= 8 else ' and others'}"


def _span(micros: int) -> str:
    seconds = micros // MICROS
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7_200 else f"{seconds / 3600:.1f} h"
