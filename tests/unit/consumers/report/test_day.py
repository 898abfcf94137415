"""Lines of several windows: a day is the sum of its hours, and proves what the worst of them proves."""

from collections.abc import Mapping
from typing import Any

import pytest

from unmask.consumers.report import RangeError, ReportRow, Selection, TimeRange, build_rows
from unmask.consumers.report.table import to_table
from unmask.consumers.report.words import notes_of
from unmask.consumers.testing import SCOPE, window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

HOUR = 3_600 * MICROS
DAY = 24 * HOUR
MORNING = 1_767_225_600 * MICROS
"""2026-01-01T00:00:00Z."""
WANTED = TimeRange(MORNING, MORNING + DAY, 86_400, 3_600)
LATER = MORNING + 40 * DAY


def records(*windows: Mapping[str, Any], unreadable: tuple[int, ...] = ()) -> WindowRecords:
    return WindowRecords(tuple(from_avro(Window, window) for window in windows), unreadable, (3_600,))


def hour(number: int, **fields: Any) -> dict[str, Any]:
    return window_record(MORNING + number * HOUR, 3_600, **fields)


def day_of(*windows: Mapping[str, Any], selection: Selection | None = None, now: int = LATER) -> ReportRow:
    (row,) = build_rows(records(*windows), WANTED, selection or Selection(by="scope"), now=now)
    return row


def test_a_day_adds_up_its_24_hours_and_has_a_rate_where_all_are_complete() -> None:
    row = day_of(*(hour(n, attempts=100, fallbacks_total=n, late=1, emitters=n) for n in range(24)))
    assert (row.attempts, row.fallbacks, row.late) == (2_400, 276, 24)
    assert (row.rate, row.rate_state, row.state) == (276 / 2_400, "COMPLETE", Evidence.COMPLETE)
    assert row.windows == {"COMPLETE": 24}
    assert row.emitters == 23, "of several windows, the most that one had"


def test_hours_that_nobody_witnessed_are_named_and_take_the_rate_away() -> None:
    row = day_of(*(hour(n, attempts=100, fallbacks_total=1) for n in range(24) if n not in (3, 4, 17)))
    assert (row.attempts, row.state, row.rate, row.rate_state) == (2_100, Evidence.ABSENT, None, "ABSENT")
    spans = [(iso(first)[11:16], iso(last)[11:16]) for first, last in row.absent]
    assert spans == [("03:00", "05:00"), ("17:00", "18:00")]
    assert "3 of 24 windows ABSENT: 03:00–05:00, 17:00–18:00" in notes_of(row)


def test_a_day_that_nobody_witnessed_has_no_counts_at_all() -> None:
    row = day_of()
    assert (row.attempts, row.fallbacks, row.rate, row.emitters) == (None, None, None, None)
    assert row.windows == {"ABSENT": 24}
    assert "24 of 24 windows ABSENT: 00:00–24:00" in notes_of(row)


@pytest.mark.parametrize("worst", [Evidence.LOSSY, Evidence.PENDING])
def test_one_bad_hour_spoils_the_day_and_its_losses_are_the_days(worst: Evidence) -> None:
    bad = hour(7, states=worst, causes=["gap"], attempts=5)
    bad["evidence"][0] |= {"missing": 3, "dropped": [{"cause": "buffer_full", "count": 2}]}
    row = day_of(*(hour(n, attempts=10) for n in range(24) if n != 7), bad)
    assert (row.state, row.rate, row.rate_state) == (worst, None, str(worst))
    assert (row.attempts, row.causes) == (235, ("gap",))
    assert row.losses == {"buffer_full": 2, "missing": 3}


def test_a_record_that_cannot_be_read_spoils_its_hour_and_the_day() -> None:
    whole = [from_avro(Window, hour(n, attempts=1)) for n in range(24)]
    found = WindowRecords(tuple(whole), (MORNING + 5 * HOUR,), (3_600,))
    (row,) = build_rows(found, WANTED, Selection(by="scope"), now=LATER)
    assert (row.state, row.attempts, row.causes) == (Evidence.LOSSY, 24, ("quarantined",))


def test_hours_of_today_that_are_not_over_are_pending_and_not_absent() -> None:
    row = day_of(*(hour(n, attempts=1) for n in range(10)), now=MORNING + 10 * HOUR)
    assert (row.state, row.windows) == (Evidence.PENDING, {"COMPLETE": 10, "PENDING": 14})
    assert row.absent == ()


def test_a_capability_that_was_not_asked_for_in_an_hour_counts_zero_there() -> None:
    windows = [hour(n, attempts=1) for n in range(24)]
    windows += [hour(3, capability="search", attempts=1, fallbacks_total=1)]
    row = day_of(*windows, selection=Selection())
    assert (row.labels.capability, row.attempts, row.rate) == ("search", 1, 1.0)


def test_a_release_line_has_lines_from_the_day_on_in_which_it_was_first_seen() -> None:
    later = SCOPE._replace(release_line="line-2")
    windows = [window_record(MORNING + n * HOUR, 3_600, attempts=1) for n in range(48)]
    windows += [window_record(MORNING + n * HOUR, 3_600, scope=later, attempts=1) for n in range(30, 48)]
    two_days = TimeRange(MORNING, MORNING + 2 * DAY, 86_400, 3_600)
    rows = build_rows(records(*windows), two_days, Selection(by="release_line"), now=LATER)
    assert [(row.labels.release_line, row.window_start, row.state) for row in rows] == [
        ("line-1", MORNING, Evidence.COMPLETE),
        ("line-1", MORNING + DAY, Evidence.COMPLETE),
        ("line-2", MORNING + DAY, Evidence.ABSENT),
    ]
    asked = build_rows(records(*windows), two_days, Selection(by="scope", release_line="line-2"), now=LATER)
    assert len(asked) == 2, "what was asked for by name has a line for every time"


def test_too_many_lines_are_refused_by_name() -> None:
    windows = [window_record(MORNING, capability=f"c-{n}", attempts=1) for n in range(60)]
    wanted = TimeRange(MORNING, MORNING + 9_000 * 60 * MICROS, 60)
    with pytest.raises(RangeError, match="coarser granularity"):
        build_rows(records(*windows), wanted, Selection(), now=LATER)


def test_a_tables_title_says_how_long_its_lines_are() -> None:
    assert str(to_table([day_of()], WANTED).title) == "Windows of 1 day, UTC"
