"""Where reading begins, at the first start and at every later one."""

import pytest
from tests.alert_records import FIRING, RESOLVED, alert_record, row

from unmask.consumers.alerts.begin import Begin, FirstReading, begin, first_reading, metadata_of
from unmask.consumers.topic_reader import Row


@pytest.mark.parametrize(
    ("committed", "metadata", "standing", "expected"),
    [
        (None, None, True, Begin(3, 10)),
        (None, None, False, Begin(10)),
        (7, "", True, Begin(7)),
        (7, "", False, Begin(7)),
        (7, None, True, Begin(7)),
        (10, "", True, Begin(10)),
        (5, "standing-below-9", True, Begin(5, 9)),
        (9, "standing-below-9", True, Begin(9)),
        (5, "standing-below-", True, Begin(5)),
        (5, "something else", True, Begin(5)),
    ],
)
def test_a_partition_goes_on_where_it_was_committed_or_begins_with_what_stands(
    committed: int | None, metadata: str | None, standing: bool, expected: Begin
) -> None:
    assert begin(committed, metadata, low=3, end=10, standing=standing) == expected


def test_what_was_deleted_before_it_was_told_is_passed_over() -> None:
    assert begin(1, "", low=3, end=10, standing=True) == Begin(3)


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    assert begin(50, "standing-below-60", low=0, end=10, standing=True) == Begin(0, 10)


def test_a_commit_says_how_far_the_first_reading_goes_until_it_is_through() -> None:
    begun = begin(None, None, low=0, end=10, standing=True)
    assert begin(4, metadata_of(begun, 4), low=0, end=12, standing=True) == Begin(4, 10)
    assert begin(10, metadata_of(begun, 10), low=0, end=12, standing=True) == Begin(10)


def test_the_newest_record_of_each_alert_that_fires_stands_and_nothing_else_is_told() -> None:
    rows = [
        row(0, alert_record("a", FIRING, 1)),
        row(1, alert_record("b", FIRING, 1)),
        row(2, alert_record("a", FIRING, 2)),
        row(3, alert_record("b", RESOLVED, 2)),
        row(4, None),
        Row(0, 5, b"c", b"nonsense", 0),
        row(6, alert_record("d", FIRING, 9)),
        row(7, alert_record("d", FIRING, 8)),
    ]
    reading = first_reading(8, rows)
    assert [offset for offset in range(10) if not reading.is_past(offset)] == [2, 6, 8, 9]


def test_without_a_first_reading_nothing_is_past() -> None:
    assert not any(FirstReading().is_past(offset) for offset in range(5))
