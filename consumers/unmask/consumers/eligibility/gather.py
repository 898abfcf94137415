"""From what stands on the topics to the facts of each row. Pure: records in, timelines out."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unmask.consumers.eligibility.facts import Hour, ParityFact, Sighting, Timeline
from unmask.consumers.eligibility.policy import HOUR, Policy
from unmask.consumers.parity import ParityRecords
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence, Family
from unmask.schemas.instants import to_micros
from unmask.schemas.models import Window
from unmask.schemas.scope import Scope
from unmask.schemas.tokens import INVALID_LABEL

__all__ = ["NAMELESS", "Wanted", "parity_facts", "timelines"]

NAMELESS = frozenset({INVALID_LABEL, "overflow", "merged_labels"})
"""Labels under which hosts and ledger put what they cannot keep apart: any capability may be behind them."""

_FAMILIES = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)
_WORST_FIRST = (Evidence.PENDING, Evidence.LOSSY, Evidence.ABSENT, Evidence.COMPLETE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows a report is about; nothing given is all of them."""

    capabilities: tuple[str, ...] = ()
    """Each of them has a row, also where nothing was counted of it."""
    release_line: str | None = None
    composition: str | None = None
    """The first digits of its digest do."""

    def takes(self, capability: str, scope: Scope) -> bool:
        """Whether a combination that counted a capability is a row."""
        return (
            (not self.capabilities or capability in self.capabilities)
            and self.release_line in (None, scope.release_line)
            and (self.composition is None or scope.composition.startswith(self.composition))
        )


class _Place(NamedTuple):
    start: int
    scope: Scope


def timelines(records: WindowRecords, wanted: Wanted, policy: Policy, *, read_from: int, as_of: int) -> list[Timeline]:
    """A timeline for each capability and combination that was counted within the policy's days.

    Also of one that is no longer deployed: that it has fallen silent is told, not left out.
    """
    wholes: dict[_Place, Window] = {}
    parts: defaultdict[_Place, dict[str, Window]] = defaultdict(dict)
    closed: dict[int, bool] = {}
    for window in records.windows:
        start = to_micros(window.window_start)
        if window.scope is None:
            closed[start] = window.evidence_state is not Evidence.PENDING
        elif window.capability is None:
            wholes[_Place(start, window.scope)] = window
        else:
            parts[_Place(start, window.scope)][window.capability] = window
    sightings: defaultdict[str, list[Sighting]] = defaultdict(list)
    for place in sorted(parts):
        for capability in parts[place]:
            sightings[capability].append(Sighting(place.start, place.scope))
    unreadable = frozenset(records.unreadable)
    made: list[Timeline] = []
    for capability, scope in _rows(sightings, wanted, as_of - policy.span):
        hours = {
            place.start: _hour(wholes.get(place), parts.get(place, {}), capability)
            for place in wholes.keys() | parts.keys()
            if place.scope == scope
        }
        for start, over in closed.items():
            if over and start not in hours:
                hours[start] = Hour(Evidence.ABSENT)
        for start in unreadable:
            hours[start] = hours.get(start, Hour())._replace(readable=False)
        others = tuple(seen for seen in sightings[capability] if seen.scope != scope)
        made.append(Timeline(capability, scope, hours, read_from, others))
    counted = {timeline.capability for timeline in made}
    made += [Timeline(name, None, {}, read_from) for name in dict.fromkeys(wanted.capabilities) if name not in counted]
    return sorted(made, key=lambda timeline: (timeline.capability, timeline.scope or ()))


def parity_facts(records: ParityRecords) -> tuple[ParityFact, ...]:
    """The runs, and those that cannot be read, as far as their keys say whose they are."""
    facts = [
        ParityFact(
            suite=run.suite,
            release_line=run.release_line,
            composition=run.composition,
            capabilities=run.capabilities,
            run_at=to_micros(run.run_at),
            tests=run.tests,
            failures=run.failures,
            errors=run.errors,
            skipped=run.skipped,
        )
        for run in records.runs
    ]
    for key in records.unreadable:
        suite, _, rest = key.partition("|")
        line, _, composition = rest.partition("|")
        facts.append(ParityFact(suite, line, None if composition == "*" else composition, readable=False))
    return tuple(facts)


def _rows(sightings: dict[str, list[Sighting]], wanted: Wanted, since: int) -> Iterable[tuple[str, Scope]]:
    for capability, seen in sightings.items():
        if capability in NAMELESS:
            # No capability: what fell back under it speaks against every one of its combination.
            continue
        recent = dict.fromkeys(sighting.scope for sighting in seen if sighting.start + HOUR > since)
        yield from ((capability, scope) for scope in recent if wanted.takes(capability, scope))


def _hour(whole: Window | None, parts: dict[str, Window], capability: str) -> Hour:
    part = parts.get(capability)
    attempts, fallbacks = (0, 0) if part is None else (part.attempts, part.fallbacks_total)
    if whole is None:
        return Hour(None, attempts, fallbacks)
    named = sum(window.fallbacks_total for name, window in parts.items() if name not in NAMELESS)
    return Hour(
        state=_worst([whole] if part is None else [whole, part]),
        attempts=attempts,
        fallbacks=fallbacks,
        unattributed=max(0, whole.fallbacks_total - named),
        lost=any(entry.causes or entry.missing or entry.dropped for entry in whole.evidence),
    )


def _worst(windows: Sequence[Window]) -> Evidence:
    states = {window.evidence_of(family) for window in windows for family in _FAMILIES}
    return next(state for state in _WORST_FIRST if state in states)
