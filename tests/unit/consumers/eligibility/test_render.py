"""What people and programs read: the policy and who set it, every reason, and that nothing is authorised."""

import json

from tests.unit.consumers.eligibility.facts_for_tests import AS_OF, GREEN, LINE, POLICY, SOUND, ago, timeline

from unmask.consumers.eligibility import (
    DISCLAIMER,
    EligibilityReport,
    Hour,
    ParityFact,
    Policy,
    Sighting,
    Timeline,
    decide_all,
    to_json,
    to_lines,
)
from unmask.consumers.report.pipeline import PipelineState, Stage
from unmask.schemas.codes import Evidence


def report(*rows: Timeline, runs: tuple[ParityFact, ...] = (GREEN,), policy: Policy = POLICY) -> EligibilityReport:
    return decide_all(rows, runs, policy, AS_OF)


def test_the_policy_who_set_it_and_what_the_report_is_not_are_said_first() -> None:
    lines = list(to_lines(report(timeline(), policy=Policy(7, 100, set_by="ana", source="options"))))
    assert lines[1].startswith("Policy: 7 d without a fallback and without a gap, 100 attempts")
    assert lines[2:6] == [
        "Parity suites: golden (all that are published)",
        "Set by: ana (from options)",
        "Weaker than the default in: days, attempts",
        DISCLAIMER,
    ]
    assert "nobody was named (from the defaults)" in "\n".join(to_lines(report(timeline())))
    assert "authorises nothing" in DISCLAIMER


def test_an_eligible_row_has_its_span_and_its_grounds_and_no_later_instant() -> None:
    text = "\n".join(to_lines(report(timeline())))
    assert f"search  2026.1 / {LINE.composition}  ELIGIBLE" in text
    assert "29 d 23 h, 14,380 attempts" in text
    assert "+ HEALTHY_SPAN" in text
    assert "earliest" not in text
    assert text.endswith("1 ELIGIBLE. The report's answer: ELIGIBLE (exit code 0)")


def test_each_reason_is_marked_by_what_it_speaks_for() -> None:
    fell_back = timeline({5: SOUND._replace(fallbacks=3)})
    text = "\n".join(to_lines(report(fell_back, runs=())))
    for line in ("x FALLBACKS_COUNTED: 3 in the last 28 d", "? SPAN_TOO_SHORT: 4 h of 28 d", "? PARITY_MISSING: "):
        assert f"    {line}" in text
    assert "restarted by the hour of 2024-10-03T19:00:00Z (fallback)" in text
    assert "earliest  2024-10-31T20:00:00Z" in text


def test_what_was_deployed_before_is_told_with_its_parts() -> None:
    before = LINE._replace(release_line="2025.9")
    known = timeline({at: Hour(Evidence.ABSENT) for at in range(20, 721)}, others=(Sighting(ago(21), before),))
    text = "\n".join(to_lines(report(known)))
    assert "(absent); before it: release line 2025.9" in text


def test_a_report_without_rows_refuses_in_words() -> None:
    nothing = report()
    assert nothing.exit_code == 31
    assert "Nothing that was asked for was counted in the last 28 d. That is not a zero." in list(to_lines(nothing))


def test_json_has_everything_and_null_for_what_is_not_known() -> None:
    found = json.loads(to_json(report(timeline(), Timeline("unheard-of", None, {}, 0), policy=Policy(set_by="ana"))))
    assert (found["authorises"], found["answer"], found["exit_code"]) == ("nothing", "INSUFFICIENT_EVIDENCE", 31)
    assert found["policy"]["set_by"] == "ana"
    good, unknown = found["rows"]
    assert good["answer"] == "ELIGIBLE"
    assert good["scope"] == LINE._asdict()
    assert good["span"]["hours"] == 719
    assert {reason["leads_to"] for reason in good["reasons"]} == {"ELIGIBLE"}
    assert (unknown["span"], unknown["scope"], unknown["earliest"], unknown["restarted_by"]) == (None, None, None, None)


def test_what_state_the_pipeline_is_in_is_told_and_stands_against_every_row() -> None:
    stopped = PipelineState(Stage.STOPPED, "No worker runs.", "start a worker", 7)
    found = decide_all([timeline()], [GREEN], POLICY, AS_OF, stopped)
    assert found.exit_code == 31
    lines = list(to_lines(found))
    assert "Pipeline STOPPED: No worker runs." in lines
    assert "    ? PIPELINE_UNWELL: STOPPED: No worker runs." in lines
    document = json.loads(to_json(found))
    assert (document["pipeline"]["stage"], document["pipeline"]["waiting"]) == ("STOPPED", 7)
    well = decide_all([timeline()], [GREEN], POLICY, AS_OF, PipelineState(Stage.CAUGHT_UP, "All is counted."))
    assert well.exit_code == 0
    assert json.loads(to_json(report(timeline())))["pipeline"] is None
