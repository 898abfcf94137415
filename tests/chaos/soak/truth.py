"""What must be published, from the lives alone: counts of every window, what they prove, and every verdict."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.chaos.soak.journal import Kind
from tests.chaos.soak.lives import NOTHING, Event, Life
from tests.chaos.soak.log import Log
from tests.chaos.soak.words import FAILURES

from unmask.schemas.codes import Directive, Evidence, Family, VerdictKind
from unmask.schemas.windowing import LIFETIME, MICROS, window_start

__all__ = ["ExpectedVerdict", "Place", "Truth", "expected_verdicts"]

_SESSION_FAMILIES = frozenset({Family.KERNEL_FALLBACK.value, Family.MASKED_ERROR.value, Family.SESSION_TEARDOWN.value})

Place = tuple[int, int, str]
"""Window size, start, release line."""


@dataclass(slots=True)
class Truth:
    """Everything about the windows of the sizes given; 0 is the lifetime window."""

    sizes: Sequence[int]
    counts: dict[Place, Counter[tuple[Family, str, str]]] = field(default_factory=lambda: defaultdict(Counter))
    """By family, capability and code: what must be counted."""
    recorded: dict[tuple[int, int, str, str | None, Family], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    """By window, release line, capability (None: all) and family: how many each emitter recorded, lost ones too."""
    duplicates: Counter[Place] = field(default_factory=Counter)
    witnessed: set[Place] = field(default_factory=set)
    flawed: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Families that a loss touches."""
    spoiled: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    """Size and start to how many unreadable records may have told of it."""
    lost_in: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Families of which an event that belongs there is lost."""

    @classmethod
    def of(cls, sizes: Sequence[int], lives: Iterable[Life], log: Log) -> "Truth":
        """The truth of a whole run."""
        truth = cls(sizes)
        for life in lives:
            truth._take(life)
        for chain in log.chains.values():
            # All of them: an emitter of which nothing is counted is a witness too.
            for size, start in truth._touched(chain.started, chain.last.cut):
                truth.witnessed.add((size, start, chain.release_line))
        for line, arrival in log.duplicates:
            for size in sizes:
                truth.duplicates[size, window_start(arrival, size), line] += 1
        for first, last in log.unreadable:
            for window in truth._touched(first, last):
                truth.spoiled[window] += 1
        return truth

    @property
    def lines(self) -> list[str]:
        """All release lines."""
        return sorted({line for _, _, line in self.witnessed})

    def _take(self, life: Life) -> None:
        line, emitter = life.chain.release_line, life.chain.emitter_id
        for event in life.counted:
            assert event.instant is not None
            for size in self.sizes:
                start = window_start(event.instant, size)
                self.counts[size, start, line][event.family, event.capability, event.code] += 1
                self._record(size, start, line, event, emitter)
        for event in life.lost:
            for size in self.sizes if event.instant is not None else ():
                assert event.instant is not None
                start = window_start(event.instant, size)
                self.lost_in[size, start, line].add(event.family.value)
                self._record(size, start, line, event, emitter)
        for stretch in life.stretches:
            for size, start in self._touched(stretch.after, stretch.through):
                self.flawed[size, start, line] |= stretch.families

    def _record(self, size: int, start: int, line: str, event: Event, emitter: str) -> None:
        self.recorded[size, start, line, None, event.family][emitter] += 1
        if event.capability != NOTHING:
            self.recorded[size, start, line, event.capability, event.family][emitter] += 1

    def _touched(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        for size in self.sizes:
            if size != LIFETIME:
                for start in range(window_start(first, size), last + 1, size * MICROS):
                    yield size, start


@dataclass(frozen=True, slots=True)
class ExpectedVerdict:
    """What a session's verdict must say."""

    verdict: VerdictKind
    directive: Directive
    evidence: Evidence
    operations: int
    degraded: int
    abandoned: bool


def expected_verdicts(lives: Iterable[Life]) -> dict[str, ExpectedVerdict]:
    """Every session that must be judged, by its name."""
    return {name: verdict for life in lives for name, verdict in _verdicts(life)}


def _verdicts(life: Life) -> Iterator[tuple[str, ExpectedVerdict]]:
    operations: dict[int, set[int]] = defaultdict(set)
    degraded_there: dict[int, set[int]] = defaultdict(set)
    for entry in life.journal.entries:
        if entry.session and entry.operation:
            operations[entry.session].add(entry.operation)
            if entry.kind in (Kind.MASKED, Kind.FALLBACK):
                degraded_there[entry.session].add(entry.operation)
    arrived: dict[int, list[Event]] = defaultdict(list)
    for event in life.counted:
        if event.entry.session and event.family is not Family.ROUTE_ATTEMPT:
            arrived[event.entry.session].append(event)
    opened, ended = _told_of(life)
    for session in sorted(arrived.keys() | {s for s in operations if life.journal.session_id(s) in opened}
                          | {_number(name) for name in opened}):  # fmt: skip
        name, events = life.journal.session_id(session), arrived[session]
        # Whether its end is known is for the log to say; where it says so of another session, that is found elsewhere.
        torn_down = (event for event in events if event.family is Family.SESSION_TEARDOWN)
        teardown = next(torn_down, None) if name in ended else None
        seen = {event.entry.operation for event in events if event.family is not Family.SESSION_TEARDOWN}
        if teardown is None:
            yield (
                name,
                ExpectedVerdict(
                    VerdictKind.HARD_FAILURE,
                    Directive.HALT_AND_ALERT_DEVELOPER,
                    Evidence.LOSSY,
                    len(seen),
                    len(seen),
                    True,
                ),
            )
            continue
        begin, end = opened.get(name, 0), ended[name]
        lossy = any(
            stretch.families & _SESSION_FAMILIES and begin <= stretch.told_through and stretch.told_after < end
            for stretch in life.stretches
        )
        degraded, masked = degraded_there[session], [e for e in events if e.family is Family.MASKED_ERROR]
        probe = any(FAILURES[e.entry.code].directive is Directive.PROBE_UPSTREAM_BEFORE_ACTION for e in masked)
        if teardown.entry.code:
            verdict, directive = VerdictKind.HARD_FAILURE, Directive.HALT_AND_ALERT_DEVELOPER
        elif degraded or lossy:
            verdict = VerdictKind.DEGRADED_SUCCESS
            directive = Directive.PROBE_UPSTREAM_BEFORE_ACTION if probe else Directive.RE_FETCH_FROM_PRIMARY
        else:
            verdict, directive = VerdictKind.CLEAN_SUCCESS, Directive.NONE
        yield name, ExpectedVerdict(
            verdict, directive, Evidence.LOSSY if lossy else Evidence.COMPLETE, len(operations[session]),
            len(degraded), False,
        )  # fmt: skip


def _told_of(life: Life) -> tuple[dict[str, int], dict[str, int]]:
    """When sessions began and ended, as the log has it. Openings are in no account, so that the journal cannot tell."""
    opened: dict[str, int] = {}
    ended: dict[str, int] = {}
    for batch in life.chain.in_order():
        opened.update((said["session_id"], said["occurred_at"]) for said in batch.body["session_openings"])
        ended.update((said["session_id"], said["occurred_at"]) for said in batch.body["session_teardowns"])
    return opened, ended


def _number(name: str) -> int:
    return int(name.rsplit("-", 1)[1])
