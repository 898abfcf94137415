"""The state of a pipeline, told in words: the first thing that is wrong, and what to do."""

from dataclasses import replace

import pytest

from unmask.consumers.report.pipeline import Mark, PipelineFacts, Stage, closed_through, judge
from unmask.schemas.windowing import MICROS

NOW = 1_767_268_800 * MICROS
SECOND = MICROS
WELL = PipelineFacts(
    topics=10,
    ends={0: 100, 1: 50},
    starts={0: 0, 1: 0},
    marks={0: Mark(100, NOW - SECOND, 5 * SECOND), 1: Mark(50, NOW - 2 * SECOND, 5 * SECOND)},
    members=2,
    broker_time=NOW,
    windows=30,
)


@pytest.mark.parametrize(
    ("facts", "stage", "words", "fix"),
    [
        (PipelineFacts(missing=("a",) * 10), Stage.NOT_SET_UP, "none of the topics", "unmask topics create"),
        (replace(WELL, missing=("u.alerts",)), Stage.HALF_SET_UP, "u.alerts does not exist", "unmask topics create"),
        (replace(WELL, marks={}, members=0), Stage.NOT_STARTED, "150 records of hosts wait", "unmask stream"),
        (replace(WELL, marks={}), Stage.STARTING, "partitions 0, 1", "readyz"),
        (replace(WELL, marks={0: WELL.marks[0]}), Stage.STARTING, "partition 1", "readyz"),
        (replace(WELL, members=0), Stage.STOPPED, "counted up to 2026-01-01T11:59:58Z", "unmask stream"),
        (
            replace(WELL, ends={0: 900, 1: 50}, broker_time=NOW + 90 * SECOND),
            Stage.LAGGING,
            "behind by 92 s.* 800 records wait",
            "more workers",
        ),
        (replace(WELL, windows=0), Stage.TABLES_BEHIND, "no window has ever been published", "only tables"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(facts: PipelineFacts, stage: Stage, words: str, fix: str) -> None:
    import re

    state = judge(facts, now=NOW)
    assert state.stage is stage
    assert re.search(words, state.words), state.words
    assert fix in (state.fix or "")
    assert not state.well


def test_a_worker_that_tells_nothing_any_more_is_stuck() -> None:
    state = judge(WELL, now=NOW + 3_600 * SECOND)
    assert (state.stage, state.waiting) == (Stage.STUCK, 0)


def test_windows_that_are_over_and_not_published_are_the_tables_fault() -> None:
    late = judge(WELL, now=NOW, newest_window=NOW - 600 * SECOND)
    assert late.stage is Stage.TABLES_BEHIND
    assert judge(WELL, now=NOW, newest_window=NOW - 30 * SECOND).stage is Stage.CAUGHT_UP


def test_a_pipeline_that_no_host_has_ever_used_is_empty_and_not_broken() -> None:
    facts = replace(WELL, ends={0: 0, 1: 0}, marks={p: replace(m, offset=0) for p, m in WELL.marks.items()}, windows=0)
    state = judge(facts, now=NOW)
    assert state.stage is Stage.EMPTY
    assert "no host has ever sent" in state.words


def test_a_pipeline_that_is_well_says_up_to_when_and_who_is_silent() -> None:
    marks = {0: replace(WELL.marks[0], unaccounted=2), 1: WELL.marks[1]}
    state = judge(replace(WELL, marks=marks), now=NOW)
    assert (state.stage, state.fix) == (Stage.CAUGHT_UP, None)
    assert state.words.endswith("2 emitters are silent or behind.")


def test_windows_are_over_when_every_partition_that_has_records_is_past_them() -> None:
    assert closed_through(WELL) == NOW - 7 * SECOND
    assert closed_through(replace(WELL, ends={0: 100, 1: 50, 2: 0})) == NOW - 7 * SECOND
    assert closed_through(replace(WELL, ends={0: 100, 1: 50, 2: 1})) == 0, "of one partition nobody has told"
    assert closed_through(replace(WELL, ends={0: 0, 1: 0})) is None, "nobody has ever sent anything"
    assert closed_through(PipelineFacts(missing=("u.events",))) == 0, "it cannot be told"


def test_a_pipeline_that_may_not_be_looked_at_is_not_said_to_be_well() -> None:
    state = judge(None, now=NOW)
    assert (state.stage, state.well) == (Stage.UNKNOWN, False)
