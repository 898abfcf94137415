"""Eligibility: what is proven is told with its span, and whatever is not proven refuses."""

import pytest
from tests.unit.consumers.eligibility.facts_for_tests import (
    AS_OF,
    CURRENT,
    GREEN,
    LINE,
    OPEN,
    POLICY,
    SOUND,
    ago,
    answer,
    timeline,
)

from unmask.consumers.eligibility import (
    DAY,
    EXIT_CODES,
    HOUR,
    Answer,
    Decision,
    Fault,
    Finding,
    Hour,
    Needed,
    Policy,
    Sighting,
    Timeline,
    decide,
)
from unmask.consumers.eligibility.answers import FINDING_ANSWERS, NEEDED, FindingCode
from unmask.consumers.eligibility.decide import worst
from unmask.schemas.codes import Evidence

LOSSY = Hour(Evidence.LOSSY, attempts=20, lost=True)


def codes(decision: Decision) -> set[str]:
    return {str(finding.code) for finding in decision.findings}


def test_a_healthy_month_with_green_parity_is_eligible_and_says_why() -> None:
    decision = answer(timeline(), GREEN)
    assert decision.answer is Answer.ELIGIBLE
    assert codes(decision) == {"HEALTHY_SPAN", "ENOUGH_ATTEMPTS", "PARITY_GREEN"}
    assert decision.span is not None
    # Before the first hour nothing is known, so that it may have been deployed in the middle of it.
    assert (decision.span.start, decision.span.end) == (ago(30 * 24 - 1), CURRENT)
    assert decision.span.attempts == 20 * (30 * 24 - 1)
    assert decision.earliest == AS_OF


@pytest.mark.parametrize("back", [0, 1, 2, 300, 28 * 24])
def test_a_fallback_within_the_policy_s_days_is_not_eligible_wherever_it_is(back: int) -> None:
    fell_back = Hour(Evidence.COMPLETE if back else Evidence.PENDING, attempts=20, fallbacks=1)
    decision = answer(timeline({back: fell_back}, hours=50 * 24), GREEN)
    assert decision.answer is Answer.NOT_ELIGIBLE
    assert "FALLBACKS_COUNTED" in codes(decision)


def test_a_fallback_before_them_restarts_the_clock_and_no_more() -> None:
    decision = answer(timeline({28 * 24 + 1: SOUND._replace(fallbacks=2)}, hours=50 * 24), GREEN)
    assert decision.answer is Answer.ELIGIBLE
    assert decision.span is not None
    assert decision.span.restart.hour == ago(28 * 24 + 1)
    assert decision.span.restart.faults == (Fault.FALLBACK,)
    assert decision.span.length == POLICY.span


@pytest.mark.parametrize(
    ("hour", "code"),
    [
        (LOSSY, "TELEMETRY_LOSSY"),
        (Hour(Evidence.COMPLETE, 20, lost=True), "TELEMETRY_LOSSY"),
        (Hour(Evidence.ABSENT), "TELEMETRY_ABSENT"),
        (Hour(Evidence.PENDING, 20), "TELEMETRY_PENDING"),
        (None, "TELEMETRY_UNRECORDED"),
        (Hour(), "TELEMETRY_UNRECORDED"),
        (SOUND._replace(readable=False), "TELEMETRY_UNREADABLE"),
        (SOUND._replace(unattributed=1), "FALLBACKS_UNATTRIBUTED"),
    ],
)
@pytest.mark.parametrize("back", [2, 200, 27 * 24])
def test_an_hour_that_proves_nothing_breaks_the_span_and_is_named(hour: Hour | None, code: str, back: int) -> None:
    decision = answer(timeline({back: hour}), GREEN)
    assert decision.answer is Answer.INSUFFICIENT_EVIDENCE
    assert code in codes(decision)
    assert decision.span is not None
    assert decision.span.restart.hour == ago(back)
    # The hour after it may have been witnessed in part only, unless this one was witnessed to its end.
    whole = hour is not None and hour.state is Evidence.COMPLETE
    begin = ago(back - 1) if whole else ago(back - 2)
    assert decision.span.start == begin
    assert decision.earliest == begin + POLICY.span


@pytest.mark.parametrize(
    "hour", [None, Hour(Evidence.ABSENT), Hour(Evidence.LOSSY), OPEN._replace(lost=True), OPEN._replace(unattributed=1)]
)
@pytest.mark.parametrize("back", [0, 1])
def test_the_hours_that_are_not_settled_refuse_where_something_of_them_is_known(hour: Hour | None, back: int) -> None:
    assert answer(timeline({back: hour}), GREEN).answer is Answer.INSUFFICIENT_EVIDENCE


def test_the_hour_before_the_one_that_goes_on_may_be_waited_for_and_adds_nothing() -> None:
    decision = answer(timeline({1: OPEN}), GREEN)
    assert decision.answer is Answer.ELIGIBLE
    assert decision.span is not None
    assert decision.span.end == ago(1)
    assert answer(timeline({1: OPEN, 2: OPEN}), GREEN).answer is Answer.INSUFFICIENT_EVIDENCE


def test_days_that_are_too_few_are_told_with_the_day_on_which_they_are_enough() -> None:
    decision = answer(timeline(hours=10 * 24), GREEN)
    assert decision.answer is Answer.INSUFFICIENT_EVIDENCE
    assert {"SPAN_TOO_SHORT", "TOO_FEW_ATTEMPTS"} <= codes(decision)
    assert decision.earliest == ago(10 * 24 - 1) + 28 * DAY


def test_a_span_of_exactly_the_policy_s_days_is_enough_and_an_hour_less_is_not() -> None:
    assert answer(timeline(hours=28 * 24 + 1), GREEN).answer is Answer.ELIGIBLE
    assert answer(timeline(hours=28 * 24), GREEN).answer is Answer.INSUFFICIENT_EVIDENCE


def test_attempts_are_those_of_the_span_and_exactly_enough_are_enough() -> None:
    counted = 20 * (30 * 24 - 1)
    assert answer(timeline(), GREEN, policy=Policy(attempts=counted)).answer is Answer.ELIGIBLE
    decision = answer(timeline(), GREEN, policy=Policy(attempts=counted + 1))
    assert decision.answer is Answer.INSUFFICIENT_EVIDENCE
    assert decision.earliest == AS_OF


def test_what_was_deployed_before_is_named_with_the_parts_that_differ() -> None:
    before = LINE._replace(release_line="2025.9", telemetry_backend="files")
    back = 10 * 24
    others = (Sighting(ago(back + 5), before._replace(switchboard="older")), Sighting(ago(back + 1), before))
    known = timeline({at: Hour(Evidence.ABSENT) for at in range(back + 1, 30 * 24 + 1)}, others=others)
    decision = answer(known, GREEN)
    assert decision.span is not None
    assert decision.span.restart.previous == before
    assert decision.span.restart.changed == ("release_line", "telemetry_backend")
    found = {finding.code: finding.detail for finding in decision.findings}
    assert found[FindingCode.COMBINATION_CHANGED] == "another release line and telemetry backend before"


def test_what_goes_on_beside_a_combination_is_not_what_it_replaced() -> None:
    back = 10 * 24
    left, beside = LINE._replace(switchboard="blue"), LINE._replace(switchboard="canary")
    others = [Sighting(ago(at), left) for at in range(back, 20 * 24)]
    others += [Sighting(ago(at), beside) for at in range(20 * 24)]
    known = timeline({at: Hour(Evidence.ABSENT) for at in range(back + 1, 30 * 24 + 1)}, others=tuple(sorted(others)))
    span = answer(known, GREEN).span
    assert span is not None
    assert span.restart.previous == left


@pytest.mark.parametrize("part", LINE._fields)
def test_each_part_of_a_combination_restarts_the_clock_and_is_told(part: str) -> None:
    before = LINE._replace(**{part: "another"})
    others = tuple(Sighting(ago(back), before) for back in range(200, 240))
    known = timeline(dict.fromkeys(range(200, 240), Hour(Evidence.ABSENT)), others=others)
    restart = answer(known, GREEN).span
    assert restart is not None
    assert restart.restart.changed == (part,)


def test_a_pause_in_which_nothing_else_was_deployed_changes_nothing_but_the_clock() -> None:
    seen_long_ago = (Sighting(ago(500), LINE._replace(switchboard="blue")),)
    decision = answer(timeline(dict.fromkeys(range(100, 110), Hour(Evidence.ABSENT)), others=seen_long_ago), GREEN)
    assert decision.span is not None
    assert decision.span.restart.previous is None
    assert "COMBINATION_CHANGED" not in codes(decision)


def test_a_combination_that_fell_silent_is_told_and_not_left_out() -> None:
    decision = answer(timeline(dict.fromkeys(range(6), Hour(Evidence.ABSENT))), GREEN)
    assert decision.answer is Answer.INSUFFICIENT_EVIDENCE
    found = {finding.code: finding.detail for finding in decision.findings}
    assert found[FindingCode.NOT_WITNESSED_NOW].startswith("last witnessed in the hour of ")
    assert decision.earliest == CURRENT + 2 * HOUR + POLICY.span


def test_of_a_capability_that_was_never_counted_nothing_is_said_but_that() -> None:
    decision = answer(Timeline("unheard-of", None, {}, 0), GREEN)
    assert (decision.answer, decision.span, decision.earliest) == (Answer.INSUFFICIENT_EVIDENCE, None, None)
    assert codes(decision) == {"NOTHING_COUNTED"}


def test_a_report_is_as_good_as_its_worst_row_and_without_rows_it_refuses() -> None:
    assert worst([]) is Answer.INSUFFICIENT_EVIDENCE
    assert worst([Answer.ELIGIBLE]) is Answer.ELIGIBLE
    assert worst([Answer.ELIGIBLE, Answer.NOT_ELIGIBLE]) is Answer.NOT_ELIGIBLE
    assert worst([Answer.NOT_ELIGIBLE, Answer.INSUFFICIENT_EVIDENCE]) is Answer.INSUFFICIENT_EVIDENCE
    assert EXIT_CODES[worst(list(Answer))] == max(EXIT_CODES.values())


def test_every_answer_has_an_exit_code_of_its_own_and_only_one_is_zero() -> None:
    assert set(EXIT_CODES) == set(Answer)
    assert len(set(EXIT_CODES.values())) == len(Answer)
    assert [answer for answer, code in EXIT_CODES.items() if code == 0] == [Answer.ELIGIBLE]
    # Codes that mean something else already: a failure, and a mistake of the call.
    assert {1, 2}.isdisjoint(EXIT_CODES.values())


def test_only_what_is_named_speaks_for_eligibility() -> None:
    assert {code for code, leads_to in FINDING_ANSWERS.items() if leads_to is Answer.ELIGIBLE} == NEEDED


def test_while_the_pipeline_is_not_well_what_waits_may_be_a_fallback() -> None:
    needed = (Needed("golden", None),)
    well = decide(timeline(), needed, [GREEN], POLICY, AS_OF)
    unwell = decide(timeline(), needed, [GREEN], POLICY, AS_OF, unwell="STOPPED: No worker runs.")
    assert (well.answer, unwell.answer) == (Answer.ELIGIBLE, Answer.INSUFFICIENT_EVIDENCE)
    assert Finding(FindingCode.PIPELINE_UNWELL, "STOPPED: No worker runs.") in unwell.findings
    fell_back = timeline({5: SOUND._replace(fallbacks=1)})
    assert decide(fell_back, needed, [GREEN], POLICY, AS_OF, unwell="STOPPED").answer is Answer.NOT_ELIGIBLE
