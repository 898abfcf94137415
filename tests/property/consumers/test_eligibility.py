"""Eligibility over arbitrary histories: less evidence never helps, and no fault inside a span is ever overlooked."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.consumers.eligibility.facts_for_tests import AS_OF, CURRENT, GREEN, LINE, OPEN, SOUND, ago

from unmask.consumers.eligibility import (
    DAY,
    EXIT_CODES,
    HOUR,
    Answer,
    Decision,
    Hour,
    Needed,
    ParityFact,
    Policy,
    Sighting,
    Timeline,
    decide,
)
from unmask.consumers.eligibility.span import PARTS
from unmask.schemas.codes import Evidence
from unmask.schemas.scope import Scope

# Two days instead of 28, so that whole histories are small enough to try everything in them.
POLICY = Policy(days=2, attempts=500)
LONGEST = 80

HOURS = st.builds(
    Hour,
    state=st.sampled_from([*Evidence, None]),
    attempts=st.integers(0, 40),
    fallbacks=st.sampled_from([0, 0, 0, 1]),
    unattributed=st.sampled_from([0, 0, 0, 1]),
    lost=st.booleans(),
    readable=st.sampled_from([True, True, True, False]),
)
RUNS = st.builds(
    ParityFact,
    suite=st.sampled_from(["golden", "replay"]),
    release_line=st.sampled_from([LINE.release_line, "2025.9"]),
    composition=st.sampled_from([None, LINE.composition]),
    capabilities=st.sampled_from([(), ("search",), ("translate",)]),
    run_at=st.integers(AS_OF - 9 * DAY, AS_OF + DAY),
    tests=st.integers(0, 3),
    failures=st.sampled_from([0, 0, 1]),
    errors=st.sampled_from([0, 0, 1]),
    skipped=st.integers(0, 3),
    readable=st.sampled_from([True, True, False]),
)
NEEDED = st.lists(st.builds(Needed, st.sampled_from(["golden", "replay"]), st.sampled_from([None, LINE.composition])))
OTHERS = st.sampled_from([LINE._replace(release_line="2025.9"), LINE._replace(switchboard="blue")])


class Case(NamedTuple):
    """Everything that an answer is made from."""

    timeline: Timeline
    needed: tuple[Needed, ...]
    runs: tuple[ParityFact, ...]

    def decide(self, *, unwell: str | None = None) -> Decision:
        return decide(self.timeline, self.needed, self.runs, POLICY, AS_OF, unwell=unwell)

    def with_hours(self, hours: dict[int, Hour]) -> "Case":
        return self._replace(timeline=replace(self.timeline, hours=hours))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Histories that are mostly healthy, since of others there is little to lose."""
    length = draw(st.integers(0, LONGEST))
    hours = {ago(back): SOUND for back in range(1, length + 1)} | {CURRENT: OPEN}
    for back, hour in draw(st.dictionaries(st.integers(0, LONGEST), st.none() | HOURS, max_size=3)).items():
        hours.pop(ago(back), None)
        if hour is not None:
            hours[ago(back)] = hour
    seen = draw(st.lists(st.builds(Sighting, st.integers(0, LONGEST).map(ago), OTHERS), max_size=3))
    healthy = draw(st.booleans())
    needed = (Needed("golden", None),) if healthy else tuple(draw(NEEDED))
    runs = (GREEN,) if healthy else tuple(draw(st.lists(RUNS, max_size=4, unique_by=_key)))
    timeline = Timeline("search", LINE, hours, ago(2 * LONGEST), tuple(sorted(seen)))
    return Case(timeline, needed, runs)


def _key(run: ParityFact) -> tuple[str, str, str | None]:
    return (run.suite, run.release_line, run.composition)


def removals(case: Case) -> dict[str, Case]:
    """The case with one piece of its evidence less, for every piece there is."""
    found: dict[str, Case] = {}
    hours = dict(case.timeline.hours)
    for start, hour in hours.items():
        less: dict[str, Hour] = {
            # The combination's own record, and the capability's, are separate ones.
            "state": hour._replace(state=None),
            "counts": hour._replace(attempts=0, fallbacks=0, unattributed=hour.fallbacks + hour.unattributed),
        }
        if hour.state is not None:
            less["witness"] = hour._replace(state=Evidence.ABSENT)
        if hour.state in (Evidence.COMPLETE, Evidence.LOSSY):
            # What is known to be missing is told while an hour is pending, too.
            lost = hour.lost or hour.state is Evidence.LOSSY
            less["closing"] = hour._replace(state=Evidence.PENDING, lost=lost)
        found[f"hour {start}"] = case.with_hours({at: known for at, known in hours.items() if at != start})
        for what, changed in less.items():
            found[f"{what} of {start}"] = case.with_hours(hours | {start: changed})
    for index, run in enumerate(case.runs):
        found[f"run {run}"] = case._replace(runs=case.runs[:index] + case.runs[index + 1 :])
    for index, seen in enumerate(case.timeline.others):
        others = case.timeline.others[:index] + case.timeline.others[index + 1 :]
        found[f"sighting {seen}"] = case._replace(timeline=replace(case.timeline, others=others))
    return found


@settings(max_examples=60, deadline=None)
@given(cases())
def test_less_evidence_never_turns_an_answer_towards_eligible(case: Case) -> None:
    before = case.decide()
    afters = {removed: less.decide() for removed, less in removals(case).items()}
    # To know nothing good of the pipeline is to know less, too.
    afters["the pipeline"] = blind = case.decide(unwell="UNKNOWN")
    assert blind.answer is not Answer.ELIGIBLE
    for removed, after in afters.items():
        if after.answer is Answer.ELIGIBLE:
            assert before.answer is Answer.ELIGIBLE, removed
        # What was too little stays too little: to know less never makes a report's exit code smaller.
        assert EXIT_CODES[after.answer] >= EXIT_CODES[before.answer], removed
        assert after.span is not None
        assert before.span is not None
        assert after.span.length <= before.span.length, removed
        assert after.span.attempts <= before.span.attempts, removed
        assert after.earliest is not None
        assert before.earliest is not None
        assert after.earliest >= before.earliest, removed


def breakages(scope: Scope) -> dict[str, Callable[[Hour], Hour | None]]:
    """What may happen to an hour: whatever it is, nobody may be told afterwards that all was well."""
    return {
        "a fallback": lambda hour: hour._replace(fallbacks=1),
        "a fallback under no name": lambda hour: hour._replace(unattributed=1),
        "a loss": lambda hour: hour._replace(state=Evidence.LOSSY, lost=True),
        "a loss that is only known of": lambda hour: hour._replace(lost=True),
        "a gap": lambda _: None,
        "an unreadable record": lambda hour: hour._replace(readable=False),
        f"another combination ({scope.release_line}, {scope.switchboard})": lambda _: Hour(Evidence.ABSENT),
    }


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(0, LONGEST), OTHERS)
def test_no_loss_gap_change_or_fallback_inside_the_span_leaves_it_eligible(case: Case, back: int, other: Scope) -> None:
    before = case.decide()
    assert before.span is not None
    start = ago(back)
    in_span = before.span.start <= start < before.span.end
    assume(in_span or start >= before.span.end)
    for what, breakage in breakages(other).items():
        hours = dict(case.timeline.hours)
        hour = breakage(hours.pop(start, Hour()))
        if hour is not None:
            hours[start] = hour
        others = tuple(sorted((*case.timeline.others, Sighting(start, other))))
        broken = case._replace(timeline=replace(case.timeline, hours=hours, others=others))
        after = broken.decide()
        assert after.span is not None
        # Never the same span: nothing of the healthy time that is left reaches over the hour.
        assert after.span.start > start, what
        if start + HOUR > AS_OF - POLICY.span:
            assert after.answer is not Answer.ELIGIBLE, what


@settings(max_examples=60, deadline=None)
@given(st.integers(2 * 24 + 2, LONGEST), st.sampled_from(sorted(PARTS)), st.integers(0, 2 * 24))
def test_every_part_of_a_combination_has_a_clock_of_its_own(length: int, part: str, back: int) -> None:
    """From some hour on the same history is that of a combination that differs in one part: neither has all of it."""
    healthy = {ago(hours): SOUND for hours in range(1, length + 1)} | {CURRENT: OPEN}
    needed, read_from = (Needed("golden", None),), ago(2 * LONGEST)

    def answer(scope: Scope, hours: dict[int, Hour], others: tuple[Sighting, ...] = ()) -> Decision:
        run = replace(GREEN, release_line=scope.release_line)
        return decide(Timeline("search", scope, hours, read_from, others), needed, (run,), POLICY, AS_OF)

    assert answer(LINE, healthy).answer is Answer.ELIGIBLE
    moved, absent = LINE._replace(**{part: "another"}), Hour(Evidence.ABSENT)
    old = {at: hour if at < ago(back) else absent for at, hour in healthy.items()}
    new = {at: hour if at >= ago(back) else absent for at, hour in healthy.items()}
    after = tuple(Sighting(at, moved) for at in sorted(healthy) if at >= ago(back))
    before = tuple(Sighting(at, LINE) for at in sorted(healthy) if at < ago(back))
    assert answer(LINE, old, after).answer is not Answer.ELIGIBLE
    decision = answer(moved, new, before)
    assert decision.answer is not Answer.ELIGIBLE
    assert decision.span is not None
    if decision.span.length:
        assert decision.span.restart.changed == (part,)
        assert decision.span.restart.previous == LINE


@settings(max_examples=60, deadline=None)
@given(cases())
def test_the_earliest_instant_is_kept_where_all_goes_well(case: Case) -> None:
    """Healthy hours and a green run from now on: eligible at that instant, and not an hour before it."""
    decision = case.decide()
    assert decision.earliest is not None
    for instant, expected in ((decision.earliest, True), (decision.earliest - HOUR, False)):
        current = instant - instant % HOUR
        if current <= CURRENT:
            continue
        hours = {at: _settled(at, hour) for at, hour in case.timeline.hours.items()}
        hours |= dict.fromkeys(range(CURRENT + HOUR, current, HOUR), SOUND)
        hours[current] = OPEN
        later = replace(case.timeline, hours=hours)
        run = replace(GREEN, run_at=instant)
        then = decide(later, (Needed("golden", None),), (run,), replace(POLICY, attempts=1), instant)
        assert (then.answer is Answer.ELIGIBLE) is expected, (instant, then)


def _settled(start: int, hour: Hour) -> Hour:
    """What becomes of an hour that was waited for."""
    if hour.state is not Evidence.PENDING or start < CURRENT - HOUR:
        return hour
    return hour._replace(state=Evidence.LOSSY if hour.lost else Evidence.COMPLETE)
