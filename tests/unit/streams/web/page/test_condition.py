"""Empty, half-started, lagging and broken pipelines each show their state in words."""

from dataclasses import replace

import pytest
from tests.table_records import BLUE, at
from tests.unit.streams.web.page.answering import LIVE, answers_of, overview_of
from tests.unit.streams.web.page.remembering import memory, put_emitter, put_head, put_window, window

from unmask.streams.ledger.state import Emitter
from unmask.streams.web.page.html.alerts import alerts_section
from unmask.streams.web.page.html.emitters import emitters_section
from unmask.streams.web.page.html.layout import status
from unmask.streams.web.page.html.sessions import sessions_section
from unmask.streams.web.page.html.windows import windows_section
from unmask.streams.web.page.html.workers import workers_section
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.lines import condition as module
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.reading import Group, Reading, ReadingState
from unmask.streams.web.page.values import Condition, PartitionState, PartLine

NOW = at(10)


def counted(*, lag: int = 0, read: float = 10, heard: float = 10, live: bool = True) -> Memory:
    known = memory()
    put_head(known, 0, next_offset=7 - lag, read_through=at(read), committed_at=at(heard))
    emitter = Emitter(BLUE, started_at=at(0), heartbeat_us=1_000_000, last_seq=4, last_cut=NOW, last_arrival=NOW)
    emitter.closed = not live
    put_emitter(known, "e1", emitter)
    put_window(known, window(minute=8))
    return known


def of(known: Memory, reading: Reading = LIVE, parts: tuple[PartLine, ...] = ()) -> Condition:
    answers = answers_of(known, now=NOW, reading=reading)
    answers._setting = replace(answers._setting, parts=lambda: parts)
    return answers.workers().condition


def told(found: Condition) -> str:
    html = status(found)
    assert found.state.value in html
    assert 'role="status"' in html
    return " ".join(found.sentences)


def test_all_is_well() -> None:
    found = of(counted())
    assert found.state == "COUNTING"
    assert told(found) == "Counting: 1 emitter is live; the newest closed window (22:22:00, 60 s) is COMPLETE."


def test_an_empty_pipeline() -> None:
    known = memory()
    put_head(known, 0, next_offset=0, read_through=NOW, committed_at=NOW)
    found = of(known, replace(LIVE, ends={0: 0}))
    assert found.state == "EMPTY"
    assert "no host has sent anything" in told(found)
    assert "not a zero" in told(found)


def test_everybody_went_away() -> None:
    found = of(counted(live=False))
    assert found.state == "QUIET"
    assert "nobody witnesses anything, which is not a zero" in told(found)


def test_the_page_itself_is_still_reading() -> None:
    found = of(memory(), Reading(ReadingState.READING, done=3, of=42))
    assert found.state == "STARTING"
    assert told(found) == "Reading what stands on the topics: 3 of 42 partitions are read to their end."


def test_a_partition_that_was_never_counted() -> None:
    found = of(memory())
    assert found.state == "STARTING"
    assert "No ledger has counted source partition 0 yet" in told(found)


def test_a_worker_that_is_not_ready_says_why() -> None:
    parts = (PartLine(part="ledger", ready=False, reason="joining", partitions=()),)
    found = of(memory(), parts=parts)
    assert found.state == "STARTING"
    assert "The ledger of the worker that serves this page is not ready: joining." in found.sentences


def test_partitions_that_move_and_partitions_that_nobody_has() -> None:
    moving = replace(LIVE, groups=(Group("shop.ledger", "PREPARING_REBALANCING", 2, frozenset()),))
    assert "divide the partitions of the ledger among themselves just now" in told(of(counted(), moving))
    alone = replace(LIVE, groups=(Group("shop.tables", "STABLE", 1, frozenset((1,))),))
    found = of(counted(), alone)
    assert found.state == "STARTING"
    assert told(found) == "No worker has partition 0 of the tables."


def test_a_lagging_pipeline() -> None:
    found = of(counted(lag=5, read=9))
    assert found.state == "LAGGING"
    assert "5 records behind on source partition 0" in told(found)
    # A few records that came just now are no lag.
    assert of(counted(lag=5)).state == "COUNTING"


def test_nobody_counts_any_more() -> None:
    found = of(counted(heard=8.5))
    assert found.state == "BROKEN"
    assert "Nobody has counted source partition 0 since 2023-11-14T22:22:30Z" in told(found)


@pytest.mark.parametrize(("group", "what"), [("ledger", "counts any event"), ("tables", "publishes any window")])
def test_no_worker_runs_a_part(group: str, what: str) -> None:
    found = of(counted(), replace(LIVE, groups=(Group(f"shop.{group}", "EMPTY", 0, frozenset()),)))
    assert found.state == "BROKEN"
    assert f"No worker {what}" in told(found)


def test_the_broker_does_not_answer() -> None:
    found = of(counted(), replace(LIVE, silent_since=at(9) + 123_456))
    assert found.state == "BROKEN"
    assert found.sentences[0] == (
        "The broker has not answered since 2023-11-14T22:23:00Z; what is shown is what was known then."
    )


def test_what_has_not_been_read_is_not_said_to_be_nothing() -> None:
    reading = Reading(ReadingState.READING, done=3, of=42)
    for answer, known in ((overview_of(memory(), reading=reading), False), (overview_of(memory()), True)):
        for show in (alerts_section, sessions_section, emitters_section, lambda a: windows_section(a, Limits())):
            assert ("Not known: the topics have not been read" in show(answer)) is not known


def test_the_topics_cannot_be_read() -> None:
    found = of(memory(), Reading(ReadingState.FAILED, error="Topic authorization failed"))
    assert found.state == "BROKEN"
    assert told(found) == "The topics cannot be read (Topic authorization failed); it is tried again."


def test_everything_that_is_wrong_is_said_the_worst_first() -> None:
    known = counted(heard=8)
    reading = replace(LIVE, groups=(Group("shop.tables", "EMPTY", 0, frozenset()),))
    assert len(of(known, reading).sentences) == 2


def test_long_lists_of_partitions_are_cut() -> None:
    assert module._numbers(tuple(range(20))) == "partitions 0, 1, 2, 3, 4, 5, 6, 7 and 12 more"


def test_partitions_are_told_with_their_worker_and_lag() -> None:
    answer = answers_of(counted(lag=5, read=9), now=NOW).workers()
    (line,) = answer.partitions
    assert (line.worker, line.lag, line.state) == ("w-1", 5, PartitionState.LAGGING)
    html = workers_section(answer)
    for text in ("LAGGING", "w-1", "Partitions of the events, over all workers"):
        assert text in html
    assert "nobody yet" in workers_section(answers_of(memory(), now=NOW).workers())
