"""Findings of a table partition: told once, told in time, and over when they are over."""

from typing import Any

from tests.session_parts import delegation, selection
from tests.table_records import at, closing_mark, session_tally, teardown
from tests.unit.streams.tables.test_partition import Log, collect, kinds, named

from unmask.schemas.keys import session_key
from unmask.streams.tables.flow import Source

DRIFT = [
    selection("fast", 1, source="user", scope="session"),
    selection("safe", 2, reason_code="timeout"),
    selection("safe", 3),
]
CLEARED = selection("safe", 4, timeline="cleared", cleared_by="runtime")


def chosen(*selections: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return session_tally(selections=list(selections), selections_total=len(selections), **parts)


def test_a_drift_fires_before_the_session_ends_and_stands_in_its_verdict() -> None:
    log = Log()
    log.session(chosen(*DRIFT))
    partition = log.reader()
    assert kinds(log.publish(collect(partition))) == ["PREFERENCE_DRIFT FIRING"]
    log.session(chosen(*DRIFT, CLEARED, offset=11, teardowns=[teardown(9)]))
    log.feed(partition, own=True)
    outputs = log.publish(collect(partition))
    assert named(outputs, Source.VERDICTS, "s1")["findings"] == ["PREFERENCE_DRIFT"]
    assert kinds(outputs) == ["PREFERENCE_DRIFT RESOLVED"]


def test_what_came_and_went_within_one_snapshot_is_told_once_whoever_restarts() -> None:
    log = Log()
    log.session(chosen(*DRIFT, CLEARED))
    partition = log.reader()
    assert kinds(log.publish(collect(partition))) == ["PREFERENCE_DRIFT FIRING", "PREFERENCE_DRIFT RESOLVED"]
    log.session(chosen(*DRIFT, CLEARED, offset=11))
    log.feed(partition, own=True)
    assert kinds(collect(partition)) == []
    assert kinds(collect(log.reader())) == []
    # Also days later, as long as the session is known.
    assert kinds(collect(partition, at(3 * 24 * 60))) == []
    log.session(chosen(*DRIFT, CLEARED, offset=12))
    assert kinds(collect(log.feed(partition, own=True), at(4 * 24 * 60))) == []


def test_a_stall_is_resolved_by_progress_and_leaves_the_verdict() -> None:
    log = Log()
    log.session(session_tally(delegations=[delegation(tripped=True, trips=1)]))
    partition = log.reader()
    assert kinds(log.publish(collect(partition))) == ["STALLED_DELEGATION FIRING"]
    moved = delegation(trips=1, false_trips=1)
    log.session(session_tally(delegations=[moved], offset=11, teardowns=[teardown(9)]))
    log.feed(partition, own=True)
    outputs = log.publish(collect(partition))
    assert kinds(outputs) == ["STALLED_DELEGATION RESOLVED"]
    assert named(outputs, Source.VERDICTS, "s1")["findings"] == []


def test_what_still_fires_when_the_session_is_forgotten_is_resolved_after_the_horizon() -> None:
    log = Log()
    log.tally(closing_mark(1))
    log.session(session_tally(delegations=[delegation(repeated_commits=1)]))
    partition = log.reader()
    assert kinds(log.publish(collect(partition))) == ["DUPLICATE_EFFECT FIRING"]
    log.write(Source.SESSIONS, session_key("s1", 0), "session_tally", None)
    log.feed(partition, own=True)
    assert "DUPLICATE_EFFECT RESOLVED" not in kinds(collect(partition, at(5 * 24 * 60)))
    assert "DUPLICATE_EFFECT RESOLVED" in kinds(collect(partition, at(6 * 24 * 60 + 5)))
