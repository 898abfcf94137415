"""Alerts that follow from the marks."""

from typing import Any

from tests.table_records import BLUE, MINUTE, at, closing_mark, mark

from unmask.streams.tables.marks import MarkBoard
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.silence import absent_alert, owns_absence, silent_emitter_alerts, stalled_alerts

RULES = TableRules(table_partitions=1)
MANY = TableRules(table_partitions=7)


def board(*keyed: tuple[str, dict[str, Any]]) -> MarkBoard:
    made = MarkBoard()
    for _, record in keyed:
        made.apply(record)
    return made


def test_a_silent_emitter_fires_and_one_that_is_only_behind_does_not() -> None:
    marks = board(mark(at(5), unaccounted=(("e1", "silent", at(3)), ("e2", "behind", at(4)))))
    (alert,) = silent_emitter_alerts(marks, 0, RULES)
    assert (alert["emitter_id"], alert["since"], alert["state"]) == ("e1", at(3), "FIRING")


def test_marks_are_broadcast_and_one_partition_alone_alerts() -> None:
    silent = tuple((f"e{n}", "silent", at(3)) for n in range(50))
    marks = board(mark(at(5), unaccounted=silent))
    found = [alert["emitter_id"] for partition in range(7) for alert in silent_emitter_alerts(marks, partition, MANY)]
    assert sorted(found) == sorted(emitter for emitter, _, _ in silent)
    assert sum(owns_absence(partition, MANY) for partition in range(7)) == 1


def test_an_older_mark_changes_nothing() -> None:
    marks = board(mark(at(5), offset=9, accounted={BLUE: at(5)}), mark(at(4), offset=9), mark(at(6), offset=8))
    assert (marks.emitters, marks.read_through()) == (1, {0: at(5)})


def test_absence_fires_once_a_whole_window_has_closed_without_anyone() -> None:
    marks = board(mark(at(1.5), accounted={BLUE: at(1)}), mark(at(1.7), offset=101))
    assert absent_alert(marks, RULES) is None
    marks.apply(closing_mark(2, offset=101)[1])
    assert absent_alert(marks, RULES) is None
    marks.apply(closing_mark(3, offset=101)[1])
    alert = absent_alert(marks, RULES)
    assert alert is not None
    assert (alert["kind"], alert["state"], alert["since"]) == ("TELEMETRY_ABSENT", "FIRING", at(1.7))


def test_absence_ends_when_somebody_lives() -> None:
    marks = board(mark(at(1)), closing_mark(5, offset=101), mark(at(6), offset=102, accounted={BLUE: at(6)}))
    assert absent_alert(marks, RULES) is None


def test_one_partition_without_emitters_is_no_absence() -> None:
    marks = board(
        mark(at(9), partition=0, partitions=2), mark(at(9), partition=1, partitions=2, accounted={BLUE: at(9)})
    )
    assert absent_alert(marks, RULES) is None


def test_absence_is_dated_from_the_first_proof_and_not_from_1970() -> None:
    """A partition is marked before anything is proven of it; a host that lived between two marks is in none."""
    marks = board(mark(0), closing_mark(0, offset=101))
    assert absent_alert(marks, RULES) is None
    marks.apply(closing_mark(9, offset=102)[1])
    alert = absent_alert(marks, RULES)
    assert alert is not None
    assert alert["since"] == closing_mark(0)[1]["read_through"]


def test_absence_is_not_claimed_before_all_partitions_are_known() -> None:
    assert absent_alert(board(mark(at(0), partitions=2), closing_mark(9, offset=101, partitions=2)), RULES) is None


def test_a_partition_whose_mark_stands_still_fires() -> None:
    """Case C13: its consumer stopped without an error."""
    marks = board(mark(at(1), partition=0, partitions=2), mark(at(4), partition=1, partitions=2))
    (alert,) = stalled_alerts(marks, 0, RULES, now=at(4), watched_since=at(0))
    assert (alert["kind"], alert["causes"], alert["facts"]) == (
        "TELEMETRY_ABSENT", ["partition_stalled"], {"partition": 0},
    )  # fmt: skip


def test_a_worker_that_has_only_begun_to_look_gives_the_ledger_time() -> None:
    marks = board(mark(at(1)))
    assert stalled_alerts(marks, 0, RULES, now=at(500), watched_since=at(500) - MINUTE // 2) == []
