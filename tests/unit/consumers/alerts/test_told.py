"""What is news to a receiver, and what it has heard already."""

import pytest
from tests.alert_records import FIRING, RESOLVED, SINCE, alert

from unmask.consumers.alerts.told import Novelty, Told
from unmask.schemas.windowing import MICROS

NEWS, DETAIL, STALE = Novelty.NEWS, Novelty.DETAIL, Novelty.STALE


def hearing(told: Told, upstream: str = "prices", state: str = FIRING, revision: int = 1, **changes: object) -> Novelty:
    heard = alert(upstream, state, revision, **changes)
    novelty = told.judge(heard)
    if novelty is not STALE:
        told.note(heard, 0)
    return novelty


def test_an_alert_is_news_when_it_fires_when_it_is_resolved_and_when_it_fires_again() -> None:
    told = Told()
    heard = [
        hearing(told),
        hearing(told, state=RESOLVED, revision=2),
        hearing(told, state=FIRING, revision=3),
    ]
    assert heard == [NEWS, NEWS, NEWS]


@pytest.mark.parametrize("state", [FIRING, RESOLVED])
def test_a_record_that_a_restarted_worker_publishes_once_more_is_no_news(state: str) -> None:
    told = Told()
    hearing(told)
    hearing(told, state=state, revision=2)
    assert hearing(told, state=state, revision=2) is DETAIL
    assert hearing(told, state=state, revision=5) is DETAIL


def test_a_record_older_than_what_was_told_does_not_undo_it() -> None:
    told = Told()
    hearing(told, revision=1)
    hearing(told, state=RESOLVED, revision=4)
    assert hearing(told, state=FIRING, revision=3) is STALE
    assert hearing(told, state=RESOLVED, revision=4) is DETAIL


def test_counts_that_grow_and_a_beginning_that_is_found_to_be_earlier_are_details() -> None:
    told = Told()
    hearing(told)
    assert hearing(told, revision=2, facts={"sessions": 9}) is DETAIL
    assert hearing(told, revision=3, since=SINCE - 5 * MICROS) is DETAIL
    assert hearing(told, revision=4, causes=["timeout"]) is DETAIL


def test_a_directive_that_becomes_known_while_an_alert_fires_is_news() -> None:
    told = Told()
    hearing(told, directive="NONE")
    assert hearing(told, revision=2, directive="PROBE_UPSTREAM_BEFORE_ACTION") is NEWS
    assert hearing(told, revision=3, state=RESOLVED, directive="PROBE_UPSTREAM_BEFORE_ACTION") is NEWS
    assert hearing(told, revision=4, state=RESOLVED, directive="NONE") is DETAIL


@pytest.mark.parametrize("state", [FIRING, RESOLVED])
def test_a_later_beginning_is_another_time_even_where_the_end_of_the_first_is_gone(state: str) -> None:
    told = Told()
    hearing(told, state=state)
    assert hearing(told, state=state, revision=9, since=SINCE + 600 * MICROS) is NEWS


def test_memory_is_bounded_and_what_was_quiet_for_longest_is_forgotten() -> None:
    told = Told(limit=3)
    for number in range(3):
        hearing(told, f"u-{number}")
    hearing(told, "u-0", revision=2)
    hearing(told, "u-3")
    assert len(told) == 3
    assert [hearing(told, f"u-{number}", revision=2) for number in (0, 2, 3)] == [DETAIL, DETAIL, DETAIL]
    assert hearing(told, "u-1", revision=2) is NEWS


def test_partitions_that_went_to_another_watcher_are_forgotten() -> None:
    told = Told()
    for partition in (0, 1):
        told.note(alert(f"u-{partition}"), partition)
    told.forget([1])
    assert (told.judge(alert("u-0")), told.judge(alert("u-1"))) == (DETAIL, NEWS)
