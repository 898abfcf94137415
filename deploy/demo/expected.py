"""What must come out, worked out from the hosts' journals alone: counts per window, and what each session amounts to.

Nothing here uses Unmask's classifiers or folds; only the words of its contract. A step that the journal dates to both
sides of a window's edge may be counted in either window, so that a count is expected within bounds; bounds that differ
are rare, since a record call takes microseconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from demo.journal import Entry, HostJournal, Kind
from demo.plan import WINDOW_S
from unmask.schemas.codes import Directive, Measure, ReasonCode, UpstreamClass, VerdictKind
from unmask.schemas.windowing import window_start, windows_touching

__all__ = [
    "NOTHING",
    "OUTCOMES",
    "Bounds",
    "Cell",
    "ExpectedSession",
    "Outcome",
    "expected_counts",
    "expected_sessions",
    "upstream_outage",
]

NOTHING = "-"
"""What stands for a label that a measure does not have."""


class Outcome(NamedTuple):
    """What a failed call must become."""

    reason: ReasonCode
    upstream_class: UpstreamClass
    directive: Directive


_PROBE = Directive.PROBE_UPSTREAM_BEFORE_ACTION
OUTCOMES: dict[str, Outcome] = {
    "timed out": Outcome(ReasonCode.TIMEOUT, UpstreamClass.TIMEOUT, _PROBE),
    "refused": Outcome(ReasonCode.UPSTREAM_UNREACHABLE, UpstreamClass.CONNECTION, _PROBE),
    "reset": Outcome(ReasonCode.UPSTREAM_UNREACHABLE, UpstreamClass.CONNECTION, _PROBE),
    "status 429": Outcome(ReasonCode.RATE_LIMITED, UpstreamClass.RATE_LIMITED, _PROBE),
    "status 503": Outcome(ReasonCode.UPSTREAM_ERROR, UpstreamClass.SERVER_ERROR, _PROBE),
}
"""From what a host saw, in the words of its journal, to the words of the contract."""


class Cell(NamedTuple):
    """One count: window start in microseconds and size in seconds (0 for the lifetime window), and of what."""

    start: int
    seconds: int
    measure: Measure
    capability: str
    code: str


@dataclass(slots=True)
class Bounds:
    """How much may be counted. The killed host's share is kept apart: not all of it need have left the host."""

    low: int = 0
    high: int = 0
    killed_low: int = 0
    killed_high: int = 0

    def add(self, other: "Bounds") -> None:
        """Takes another count's bounds in."""
        self.low += other.low
        self.high += other.high
        self.killed_low += other.killed_low
        self.killed_high += other.killed_high

    def allow(self, count: int, *, lossy: bool) -> bool:
        """Whether `count` fits; in a lossy window what the killed host had recorded may be missing."""
        least = self.low if lossy else self.low + self.killed_low
        return least <= count <= self.high + self.killed_high

    def words(self, *, lossy: bool) -> str:
        """The bounds for people."""
        least = self.low if lossy else self.low + self.killed_low
        most = self.high + self.killed_high
        return str(most) if least == most else f"{least} to {most}"


@dataclass(frozen=True, slots=True)
class ExpectedSession:
    """What a session's verdict must say."""

    session_id: str
    host: str
    capability: str
    operations: int
    degraded: int
    killed: bool
    verdict: VerdictKind
    directive: Directive
    outcomes: frozenset[str] = field(default_factory=frozenset)

    @property
    def ratio(self) -> float:
        """Degraded operations per operation."""
        return self.degraded / self.operations if self.operations else 0.0


def expected_counts(journals: Sequence[HostJournal], seconds: int, upstream: str) -> dict[Cell, Bounds]:
    """Every count of the windows of one size. Cells that are not named are 0."""
    cells: dict[Cell, Bounds] = {}
    for journal in journals:
        for measure, capability, code, entry in _events(journal, upstream):
            _add(cells, journal.killed, seconds, measure, capability, code, entry)
        _witness(cells, journal, seconds)
    return cells


def expected_sessions(journals: Iterable[HostJournal]) -> dict[str, ExpectedSession]:
    """Every session by its identifier."""
    return {session.session_id: session for journal in journals for session in _sessions(journal)}


def upstream_outage(journals: Iterable[HostJournal]) -> bool:
    """Whether two sessions met the failing upstream in one of the demo's windows."""
    met: dict[int, set[str]] = {}
    for journal in journals:
        for entry in journal.of(Kind.FALLBACK):
            if entry.facts.get("session") is not None:
                met.setdefault(window_start(entry.began, WINDOW_S), set()).add(entry.facts["session"])
    return any(len(sessions) >= 2 for sessions in met.values())


def _events(journal: HostJournal, upstream: str) -> Iterator[tuple[Measure, str, str, Entry]]:
    for entry in journal.entries:
        facts = entry.facts
        match entry.kind:
            case Kind.ATTEMPT:
                yield Measure.ROUTE_ATTEMPT, facts["capability"], facts["entry_point"], entry
            case Kind.FALLBACK:
                outcome = OUTCOMES[facts["outcome"]]
                yield Measure.KERNEL_FALLBACK, facts["capability"], outcome.reason, entry
                if facts.get("session") is not None:
                    yield Measure.MASKED_ERROR, upstream, outcome.upstream_class, entry
            case Kind.SESSION_CLOSE:
                yield Measure.SESSION_TEARDOWN, NOTHING, facts["outcome"], entry
            case _:
                pass


def _add(
    cells: dict[Cell, Bounds], killed: bool, seconds: int, measure: Measure, capability: str, code: str, entry: Entry
) -> None:
    first = window_start(entry.began, seconds)
    # Killed within the step: whether it was recorded is not known, and when neither, but at once.
    last = first if entry.ended is None else window_start(entry.ended, seconds)
    certain = entry.ended is not None and first == last
    for start in {first, last}:
        bounds = cells.setdefault(Cell(start, seconds, measure, capability, code), Bounds())
        if killed:
            bounds.killed_high += 1
            bounds.killed_low += certain
        else:
            bounds.high += 1
            bounds.low += certain


def _witness(cells: dict[Cell, Bounds], journal: HostJournal, seconds: int) -> None:
    """Each emitter is a witness in every window between its opening and its closing."""
    opened = next(journal.of(Kind.EMITTER_OPEN), None)
    if opened is None:
        return
    closed = next(journal.of(Kind.EMITTER_CLOSE), None)
    if closed is not None and closed.ended is not None:
        surely, perhaps = closed.began, closed.ended
    else:
        # Killed: it lived at its last line, and sent nothing a little later.
        surely = perhaps = max(entry.began for entry in journal.entries)
    first, first_sure = window_start(opened.began, seconds), window_start(opened.ended or opened.began, seconds)
    last_sure = window_start(surely, seconds)
    for start in windows_touching(first, perhaps, seconds):
        bounds = cells.setdefault(Cell(start, seconds, Measure.EMITTERS, NOTHING, NOTHING), Bounds())
        sure = first_sure <= start <= last_sure
        if journal.killed:
            bounds.killed_high += 1
            bounds.killed_low += sure
        else:
            bounds.high += 1
            bounds.low += sure


def _sessions(journal: HostJournal) -> Iterator[ExpectedSession]:
    for opening in journal.of(Kind.SESSION_OPEN):
        session_id = opening.facts["session"]
        mine = [entry for entry in journal.entries if entry.facts.get("session") == session_id]
        operations = {entry.facts["operation"] for entry in mine if entry.kind is Kind.ATTEMPT}
        fallbacks = [entry for entry in mine if entry.kind is Kind.FALLBACK]
        degraded = {entry.facts["operation"] for entry in fallbacks}
        outcomes = frozenset(entry.facts["outcome"] for entry in fallbacks)
        closing = next((entry for entry in mine if entry.kind is Kind.SESSION_CLOSE), None)
        capability = next((entry.facts["capability"] for entry in mine if entry.kind is Kind.ATTEMPT), NOTHING)
        if closing is None or closing.facts["outcome"] == "failure":
            verdict, directive = VerdictKind.HARD_FAILURE, Directive.HALT_AND_ALERT_DEVELOPER
        elif not degraded:
            verdict, directive = VerdictKind.CLEAN_SUCCESS, Directive.NONE
        else:
            verdict = VerdictKind.DEGRADED_SUCCESS
            probe = any(OUTCOMES[outcome].directive is _PROBE for outcome in outcomes)
            directive = _PROBE if probe else Directive.RE_FETCH_FROM_PRIMARY
        yield ExpectedSession(
            session_id,
            journal.host,
            capability,
            len(operations),
            len(degraded),
            closing is None,
            verdict,
            directive,
            outcomes,
        )
