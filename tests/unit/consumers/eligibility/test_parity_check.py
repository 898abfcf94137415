"""Parity evidence: only a recent, green run of the very release line and composition counts."""

from dataclasses import replace

import pytest
from tests.unit.consumers.eligibility.facts_for_tests import AS_OF, GREEN, LINE, POLICY, answer, timeline

from unmask.consumers.eligibility import DAY, Answer, ParityFact, Policy
from unmask.consumers.eligibility.parity_check import Needed, judge_parity, needed_runs
from unmask.schemas.windowing import MICROS

HERE = LINE.composition


def judged(*runs: ParityFact, policy: Policy = POLICY) -> list[str]:
    needed = needed_runs(policy, runs, "search", LINE)
    return [str(finding.code) for finding in judge_parity(needed, runs, "search", LINE, policy, AS_OF)]


@pytest.mark.parametrize(
    ("run", "code", "leads_to"),
    [
        (GREEN, "PARITY_GREEN", Answer.ELIGIBLE),
        (replace(GREEN, skipped=4), "PARITY_GREEN", Answer.ELIGIBLE),
        (replace(GREEN, failures=1), "PARITY_RED", Answer.NOT_ELIGIBLE),
        (replace(GREEN, errors=1), "PARITY_RED", Answer.NOT_ELIGIBLE),
        (replace(GREEN, errors=1, run_at=AS_OF - 300 * DAY), "PARITY_RED", Answer.NOT_ELIGIBLE),
        (replace(GREEN, run_at=AS_OF - 7 * DAY), "PARITY_GREEN", Answer.ELIGIBLE),
        (replace(GREEN, run_at=AS_OF - 7 * DAY - 1), "PARITY_STALE", Answer.INSUFFICIENT_EVIDENCE),
        (replace(GREEN, run_at=AS_OF + 301 * MICROS), "PARITY_AHEAD", Answer.INSUFFICIENT_EVIDENCE),
        (replace(GREEN, run_at=AS_OF + 300 * MICROS), "PARITY_GREEN", Answer.ELIGIBLE),
        (replace(GREEN, tests=0), "PARITY_EMPTY", Answer.INSUFFICIENT_EVIDENCE),
        (replace(GREEN, skipped=5), "PARITY_EMPTY", Answer.INSUFFICIENT_EVIDENCE),
        (replace(GREEN, readable=False), "PARITY_UNREADABLE", Answer.INSUFFICIENT_EVIDENCE),
        (replace(GREEN, release_line="2025.9"), "PARITY_ELSEWHERE", Answer.INSUFFICIENT_EVIDENCE),
        (replace(GREEN, composition="0123456789abcdef"), "PARITY_ELSEWHERE", Answer.INSUFFICIENT_EVIDENCE),
        (replace(GREEN, composition=HERE), "PARITY_GREEN", Answer.ELIGIBLE),
        (replace(GREEN, capabilities=("search", "translate")), "PARITY_GREEN", Answer.ELIGIBLE),
    ],
)
def test_each_state_of_a_run_has_its_name_and_its_answer(run: ParityFact, code: str, leads_to: Answer) -> None:
    assert judged(run) == [code]
    assert answer(timeline(), run).answer is leads_to


def test_without_any_suite_parity_is_missing() -> None:
    assert judged() == ["PARITY_MISSING"]
    # A suite that speaks of other capabilities is none.
    assert judged(replace(GREEN, capabilities=("translate",))) == ["PARITY_MISSING"]


def test_a_suite_that_the_policy_names_must_be_there_and_speak_of_the_capability() -> None:
    policy = Policy(suites=("golden", "replay"))
    assert judged(GREEN, policy=policy) == ["PARITY_GREEN", "PARITY_MISSING"]
    replay = replace(GREEN, suite="replay", capabilities=("translate",))
    assert judged(GREEN, replay, policy=policy) == ["PARITY_GREEN", "PARITY_ELSEWHERE"]


def test_what_the_policy_does_not_name_decides_nothing() -> None:
    assert judged(GREEN, replace(GREEN, suite="speed", failures=3), policy=Policy(suites=("golden",))) == [
        "PARITY_GREEN"
    ]


def test_every_published_suite_counts_where_none_is_named() -> None:
    runs = (GREEN, replace(GREEN, suite="replay", failures=1))
    assert judged(*runs) == ["PARITY_GREEN", "PARITY_RED"]
    assert answer(timeline(), *runs).answer is Answer.NOT_ELIGIBLE


def test_a_suite_is_needed_in_each_way_in_which_it_was_published_for_the_line() -> None:
    runs = (GREEN, replace(GREEN, composition=HERE, failures=1))
    assert needed_runs(POLICY, runs, "search", LINE) == (Needed("golden", None), Needed("golden", HERE))
    assert judged(*runs) == ["PARITY_GREEN", "PARITY_RED"]
    # A run of another composition shows that there should be one of this.
    assert judged(GREEN, replace(GREEN, composition="0123456789abcdef")) == ["PARITY_GREEN", "PARITY_ELSEWHERE"]


def test_the_age_is_the_policy_s() -> None:
    old = replace(GREEN, run_at=AS_OF - 20 * DAY)
    assert judged(old, policy=Policy(parity_max_age=21 * DAY)) == ["PARITY_GREEN"]
