"""Patience, marks, obstacles, exit codes, and how an outcome is told."""

import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console
from tests.unit.consumers.verify.hosts import Log, at
from tests.unit.consumers.verify.recounting import FRAMING, recount_of

from unmask.consumers.topic_reader import Row
from unmask.consumers.verify.evidence import AsOf
from unmask.consumers.verify.mark_check import MarkCheck
from unmask.consumers.verify.obstacles import Open, obstacles
from unmask.consumers.verify.outcome import Difference, Examined, Exit, Mismatch, Outcome
from unmask.consumers.verify.published import Mark, Marks, PublishedTopic
from unmask.consumers.verify.put_aside import PutAside
from unmask.consumers.verify.render import to_document, to_renderable
from unmask.consumers.verify.settling import Settling
from unmask.schemas.codec import encode


def mismatch(published: int, recounted: int = 2) -> Mismatch:
    return Mismatch("window", "60|0|*|*|*", {"attempts": published}, {"attempts": recounted})


def test_a_mismatch_is_certain_once_it_has_stood_unchanged_for_long_enough() -> None:
    settling, ends = Settling(5.0), {0: 10}
    assert settling.note([mismatch(1)], ends, ends, 0.0) == ([], [mismatch(1)])
    assert settling.note([mismatch(1)], ends, ends, 4.9) == ([], [mismatch(1)])
    assert settling.note([mismatch(1)], ends, ends, 5.0) == ([mismatch(1)], [])


def test_a_mismatch_is_open_while_the_recount_has_not_come_past_what_stood_in_the_log() -> None:
    settling = Settling(5.0)
    settling.note([mismatch(1)], {0: 10, 1: 4}, {0: 10, 1: 5}, 0.0)
    assert settling.note([mismatch(1)], {0: 90, 1: 4}, {0: 99, 1: 99}, 9.0)[0] == []
    assert settling.note([mismatch(1)], {0: 90, 1: 5}, {0: 99, 1: 99}, 9.1) == ([mismatch(1)], [])


def test_it_is_known_whether_any_mismatch_stands_since_a_moment() -> None:
    settling = Settling(5.0)
    settling.note([mismatch(1)], {}, {}, 1.0)
    assert settling.still_since(1.0)
    settling.note([mismatch(1, 9)], {}, {}, 2.0)
    assert not settling.still_since(1.0)


def test_a_mismatch_that_changes_or_goes_away_begins_anew() -> None:
    settling = Settling(5.0)
    settling.note([mismatch(1)], {}, {}, 0.0)
    assert settling.note([mismatch(1, 3)], {}, {}, 5.0)[0] == []
    assert settling.note([], {}, {}, 9.0) == ([], [])
    assert settling.note([mismatch(1, 3)], {}, {}, 10.0)[0] == []


def mark(offset: int, read_through: float, partitions: int = 2) -> Mark:
    return Mark(offset, at(read_through), 5_000_000, partitions)


@pytest.mark.parametrize(
    ("told", "lies"),
    [
        (mark(3, 100), 0),
        (mark(2, 30.9), 0),
        (mark(2, 31.1), 1),
        (mark(0, 12), 1),
        (mark(3, 201.1), 1),
    ],
)
def test_a_mark_that_the_logs_append_times_disprove_is_a_difference(told: Mark, lies: int) -> None:
    check = MarkCheck()
    for offset, second in enumerate((10, 20, 30)):
        check.record(0, offset, at(second))
    found = check.lies({0: told}, at(200))
    assert [difference.what for difference in found] == ["mark"] * lies


def test_the_newest_mark_of_each_partition_counts() -> None:
    marks = Marks(FRAMING)
    for offset, through in ((5, 10), (5, 11), (4, 99)):
        value = {
            "partition": 0, "partitions": 2, "offset": offset, "read_through": at(through), "grace_ms": 1_000,
            "scopes": [], "unaccounted": [], "unaccounted_total": 0,
        }  # fmt: skip
        marks.take(Row(0, 0, b"m|0", encode("evidence_mark", value), 0))
    marks.take(Row(0, 0, b"c|0|60", b"no mark at all", 0))
    assert marks.known == {0: Mark(5, at(11), 1_000_000, 2)}
    assert marks.missing(range(2)) == [1]


NOTHING = Open()


def told(marks: Mapping[int, Mark], broker_time: float, until: float | None = None, still: Open = NOTHING) -> list[str]:
    as_of = AsOf({p: m.read_through for p, m in marks.items()}, {p: m.grace for p, m in marks.items()})
    return obstacles(
        recount_of(Log()), as_of, marks, at(broker_time), None if until is None else at(until), still
    )  # fmt: skip


def test_what_stands_in_the_way_is_said_with_what_to_do() -> None:
    keeping_up = {0: mark(0, 100), 1: mark(0, 101)}
    assert told(keeping_up, 120) == []
    assert "no mark of the partitions [1]" in told({0: mark(0, 100)}, 120)[0]
    assert "is behind or has stopped" in told(keeping_up, 136)[0]
    assert told(keeping_up, 136, until=95) == []
    assert "restart its workers" in told({0: mark(0, 100, 3), 1: mark(0, 100, 3)}, 120)[0]
    assert "7 record(s) stand in the log" in told(keeping_up, 120, still=Open(unread=7))[0]
    assert "changed a moment ago" in told(keeping_up, 120, still=Open([mismatch(1)]))[0]
    assert (
        "no windows of 10 s, only of 60, 3600" in told(keeping_up, 120, still=Open(sizes=[10], counted=[60, 3600]))[0]
    )
    assert "still say PENDING" in told(keeping_up, 120, still=Open(withheld=[mismatch(1)]))[0]


def outcome(**changes: Any) -> Outcome:
    examined = Examined(windows=3, window_records=9, verdicts=1, digests=1)
    fields: dict[str, Any] = {
        "differences": (), "examined": examined, "obstacles": (), "since": None, "until": None, "log_from": at(0),
        "broker_time": at(60), "read_through": at(59),
        "totals": dict.fromkeys(
            ("records", "batches", "events", "duplicates", "unreadable", "readable_now", "holes", "partitions",
             "emitters", "sessions", "unread", "disputed"), 1_234
        ),
    }  # fmt: skip
    return Outcome(**fields | changes)


ONE = (Difference("window", "60|1767268800|r1|abc|search", "attempts", 1, 2),)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, Exit.EQUAL),
        ({"differences": ONE}, Exit.DIFFERENT),
        ({"differences": ONE, "obstacles": ("x",)}, Exit.DIFFERENT),
        ({"obstacles": ("x",)}, Exit.NOT_CHECKED),
        ({"examined": Examined()}, Exit.NOT_CHECKED),
    ],
)
def test_the_exit_code_says_equal_different_or_not_checked(changes: dict[str, Any], code: Exit) -> None:
    assert outcome(**changes).exit is code


def test_strictly_anything_that_was_not_checked_counts() -> None:
    examined = Examined(windows=3)
    examined.skip("windows", "not settled")
    assert outcome(examined=examined).exit is Exit.EQUAL
    assert outcome(examined=examined, strict=True).exit is Exit.NOT_CHECKED


def test_a_document_names_each_differences_labels_and_is_json() -> None:
    found = to_document(
        outcome(
            differences=(
                *ONE,
                Difference("window", "60|1767268800|*|*|*", "late", 0, 1),
                Difference("verdict", "s-1", "degraded_operation_ratio", 0.5, None),
                Difference("digest", "s-1", "digest", "not", "of"),
                Difference("mark", "3", "read_through", "a", "b"),
            )
        )
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    first, whole, verdict, digest, mark_ = found["differences"]
    assert first == {
        "what": "window", "window_start": "2026-01-01T12:00:00Z", "window_seconds": 60, "release_line": "r1",
        "composition": "abc", "capability": "search", "field": "attempts", "published": 1, "recounted": 2,
    }  # fmt: skip
    assert (whole["release_line"], whole["capability"]) == (None, None)
    assert (verdict["session_id"], digest["session_id"], mark_["partition"]) == ("s-1", "s-1", 3)
    assert (found["result"], found["exit_code"]) == ("different", 1)


def test_a_person_sees_every_difference_and_what_was_not_checked() -> None:
    examined = Examined(windows=3)
    examined.skip("windows", "not settled", 4)
    console = Console(width=180, record=True, file=io.StringIO())
    console.print(to_renderable(outcome(differences=ONE, examined=examined, obstacles=("the stream has stopped",))))
    shown = console.export_text()
    for words in ("1 differences", "2026-01-01T12:00:00Z 60 s", "r1 abc search", "not settled", "has stopped"):
        assert words in shown
    assert "DIFFERENT" in shown


def test_a_tombstone_takes_a_record_back_and_keys_that_are_not_wanted_are_left_out() -> None:
    topic = PublishedTopic("window", FRAMING, lambda key, _at: key != "other")
    topic.take(Row(0, 0, b"a", b"1", 0))
    topic.take(Row(0, 1, b"other", b"2", 0))
    topic.take(Row(0, 2, b"b", b"3", 0))
    topic.take(Row(0, 3, b"a", None, 0))
    assert [entry.key for entry in topic] == ["b"]


def test_only_the_very_record_that_was_put_aside_is_unreadable() -> None:
    aside = PutAside("t.events", FRAMING)
    value = {
        "topic": "t.events", "partition": 1, "offset": 7, "broker_time": at(0), "reason": "BAD_MAGIC", "size": 3,
        "digest": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "fingerprint": None, "key": None,
    }  # fmt: skip
    aside.take(Row(0, 0, b"k", encode("quarantine", value), 0))
    aside.take(Row(0, 1, b"k", b"nonsense", 0))
    assert aside.holds(Row(1, 7, b"e", b"foo", 0))
    assert not aside.holds(Row(1, 7, b"e", b"bar", 0))
    assert not aside.holds(Row(1, 8, b"e", b"foo", 0))
