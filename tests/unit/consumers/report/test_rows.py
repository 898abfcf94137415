"""Reports: what was not witnessed is never zero, and what cannot be divided is never a number."""

import csv
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console

from unmask.consumers.report import (
    RangeError,
    ReportRow,
    Selection,
    TimeRange,
    build_rows,
    parse_instant,
    parse_range,
    to_csv,
    to_json,
    to_table,
)
from unmask.consumers.testing import SCOPE, window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence, Family
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

MINUTE = 60 * MICROS
NOON = 1_767_268_800 * MICROS
"""2026-01-01T12:00:00Z."""
LATER = NOON + 60 * MINUTE
OTHER = SCOPE._replace(switchboard="switchboard-2")


def records(*windows: Mapping[str, Any], unreadable: tuple[int, ...] = ()) -> WindowRecords:
    return WindowRecords(tuple(from_avro(Window, window) for window in windows), unreadable, (60,))


def rows_of(
    found: WindowRecords, minutes: int = 1, selection: Selection | None = None, now: int = LATER
) -> list[ReportRow]:
    wanted = TimeRange(NOON, NOON + minutes * MINUTE, 60)
    return build_rows(found, wanted, selection or Selection(), now=now)


def text_of(rows: list[ReportRow]) -> str:
    console = Console(width=220, record=True, file=io.StringIO())
    console.print(to_table(rows, TimeRange(NOON, LATER, 60)))
    return console.export_text()


def test_a_window_that_nobody_witnessed_is_absent_and_its_counts_are_not_zero() -> None:
    (row,) = rows_of(records())
    assert row.state is Evidence.ABSENT
    assert (row.attempts, row.fallbacks, row.rate, row.emitters) == (None, None, None, None)
    assert row.rate_state == "ABSENT"
    assert "not a zero" in text_of([row])
    assert json.loads(to_json([row], TimeRange(NOON, LATER, 60), generated_at=LATER))["rows"][0]["attempts"] is None


def test_every_window_of_the_range_has_a_line_and_silence_between_two_is_one() -> None:
    found = records(window_record(NOON), window_record(NOON + 3 * MINUTE))
    rows = rows_of(found, minutes=5)
    assert [row.state for row in rows] == [
        Evidence.COMPLETE, Evidence.ABSENT, Evidence.ABSENT, Evidence.COMPLETE, Evidence.ABSENT,
    ]  # fmt: skip
    assert "(2 windows)" in text_of(rows)


def test_a_window_that_is_not_over_yet_is_pending_and_not_absent() -> None:
    rows = rows_of(records(), minutes=2, now=NOON + 90 * MICROS)
    assert [row.state for row in rows] == [Evidence.ABSENT, Evidence.PENDING]


def test_a_rate_is_fallbacks_by_attempts_where_both_are_complete() -> None:
    (row,) = rows_of(records(window_record(NOON, capability="search", attempts=40, fallbacks_total=10)))
    assert (row.rate, row.rate_state) == (0.25, "COMPLETE")
    assert "25.00%" in text_of([row])


def test_without_attempts_there_is_no_rate_but_a_state() -> None:
    (row,) = rows_of(records(window_record(NOON, capability="search")))
    assert (row.attempts, row.rate, row.rate_state) == (0, None, "NO_ATTEMPTS")


@pytest.mark.parametrize("state", [Evidence.LOSSY, Evidence.PENDING])
@pytest.mark.parametrize("family", [Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK])
def test_one_family_that_is_not_complete_takes_the_rate_away(family: Family, state: Evidence) -> None:
    states = dict.fromkeys(Family, Evidence.COMPLETE) | {family: state}
    (row,) = rows_of(records(window_record(NOON, states=states, attempts=40, fallbacks_total=10)))
    assert (row.attempts, row.rate, row.rate_state) == (40, None, str(state))
    assert row.state is state


def test_loss_of_another_family_leaves_the_rate_but_shows_in_the_state() -> None:
    states = dict.fromkeys(Family, Evidence.COMPLETE) | {Family.SESSION_TEARDOWN: Evidence.LOSSY}
    (row,) = rows_of(records(window_record(NOON, states=states, attempts=40, fallbacks_total=10)))
    assert (row.rate, row.state) == (0.25, Evidence.LOSSY)


def test_what_is_known_of_a_loss_is_shown() -> None:
    window = window_record(
        NOON, states=Evidence.LOSSY, causes=["silent", "gap"], late=1, skewed=2, duplicates=3, quarantined=4
    )
    window["evidence"][0] |= {"missing": 5, "dropped": [{"cause": "buffer_full", "count": 6}]}
    (row,) = rows_of(records(window))
    assert (row.missing, row.dropped, row.causes) == (5, {"buffer_full": 6}, ("silent", "gap"))
    text = text_of([row])
    for part in (
        "5 missing",
        "6 buffer_full",
        "quarantined 4",
        "silent",
    ):
        assert part in text
    assert [row.late, row.skewed, row.duplicates] == [1, 2, 3]
    narrow = Console(width=100, record=True, file=io.StringIO())
    narrow.print(to_table([row], TimeRange(NOON, LATER, 60), width=100))
    told = " ".join(narrow.export_text().split())
    for part in ("late 1", "skewed 2", "duplicate"):
        assert part in told


def test_a_record_that_cannot_be_read_makes_its_window_lossy_and_not_absent() -> None:
    (row,) = rows_of(records(unreadable=(NOON,)))
    assert (row.state, row.causes, row.attempts) == (Evidence.LOSSY, ("quarantined",), None)


def test_capabilities_of_two_compositions_are_never_added_up() -> None:
    found = records(
        window_record(NOON, capability="search", attempts=3),
        window_record(NOON, capability="search", attempts=4, scope=OTHER),
        window_record(NOON),
        window_record(NOON, scope=OTHER),
        window_record(NOON, scope=None, attempts=7),
    )
    rows = rows_of(found)
    assert sorted((row.labels.composition, row.attempts) for row in rows) == sorted(
        [(SCOPE.composition, 3), (OTHER.composition, 4)]
    )
    (whole,) = rows_of(found, selection=Selection(by="window"))
    assert (whole.labels.release_line, whole.attempts) == (None, 7)
    (chosen,) = rows_of(found, selection=Selection(by="scope", composition=OTHER.composition))
    assert chosen.labels.composition == OTHER.composition


def test_a_witnessed_scope_that_counted_nothing_of_a_capability_says_zero_and_an_unwitnessed_one_does_not() -> None:
    found = records(window_record(NOON, attempts=9), window_record(NOON, capability="search", attempts=9))
    chosen = Selection(capability="write")
    first, second = rows_of(found, minutes=2, selection=chosen)
    assert (first.labels.capability, first.attempts, first.rate_state) == ("write", 0, "NO_ATTEMPTS")
    assert (second.labels.capability, second.attempts, second.state) == ("write", None, Evidence.ABSENT)


def test_a_release_line_without_any_record_is_absent() -> None:
    (row,) = rows_of(records(window_record(NOON)), selection=Selection(release_line="line-9"))
    assert (row.labels.release_line, row.state) == ("line-9", Evidence.ABSENT)


def test_json_and_csv_hold_no_nan_and_the_same_numbers() -> None:
    found = records(
        window_record(NOON, capability="search", attempts=40, fallbacks_total=10, fallbacks_by_reason={"timeout": 10})
    )
    rows = rows_of(found, minutes=2)
    document = to_json(rows, TimeRange(NOON, LATER, 60), generated_at=LATER)
    assert "NaN" not in document
    parsed = json.loads(document, parse_constant=lambda name: pytest.fail(name))
    assert [row["rate"] for row in parsed["rows"]] == [0.25, None]
    assert parsed["rows"][0]["window_start"] == "2026-01-01T12:00:00Z"
    lines = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert [line["rate"] for line in lines] == ["0.25", ""]
    assert [line["state"] for line in lines] == ["COMPLETE", "ABSENT"]
    assert lines[0]["fallbacks_by_reason"] == "timeout=10"
    assert not math.isnan(parsed["rows"][0]["rate"])


@pytest.mark.parametrize(
    ("text", "back"), [("90s", 90), ("2h", 7_200), ("28d", 28 * 86_400), ("1w", 604_800), ("now", 0), ("5 m", 300)]
)
def test_a_duration_goes_back_from_now(text: str, back: int) -> None:
    assert parse_instant(text, LATER) == LATER - back * MICROS


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Shanghai", "UTC"])
def test_an_instant_is_the_same_in_every_zone_of_this_machine(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert parse_instant("2026-01-01T12:00:00Z", 0) == NOON
        assert parse_instant("2026-01-01T13:00:00+01:00", 0) == NOON
        with pytest.raises(RangeError, match="no time zone"):
            parse_instant("2026-01-01T12:00:00", 0)
        with pytest.raises(RangeError, match="no time zone"):
            parse_instant("2026-01-01", 0)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("since", "until", "seconds"),
    [("soon", "now", 60), ("1h", "2h", 60), ("now", "now", 60), ("400d", "now", 60), ("1h", "now", -1)],
)
def test_a_range_that_makes_no_sense_is_refused_by_name(since: str, until: str, seconds: int) -> None:
    with pytest.raises(RangeError):
        parse_range(since, until, seconds, LATER)


def test_a_range_begins_with_the_window_that_holds_its_start() -> None:
    wanted = parse_range("90s", "now", 60, NOON + 5 * MINUTE)
    assert list(wanted.starts()) == [NOON + 3 * MINUTE, NOON + 4 * MINUTE]


def told(start: int, state: str | None, **counts: Any) -> Window:
    """A window in which somebody tells of selections, with that evidence; None: nobody does."""
    record = window_record(start, scope=None, attempts=4, **counts)
    if state is not None:
        entry = {"family": "route_selection", "state": state, "causes": [], "missing": 0, "dropped": []}
        record["evidence"].append(entry)
    return from_avro(Window, record)


def whole(*windows: Window, seconds: int = 60, source: int | None = None) -> list[ReportRow]:
    found = WindowRecords(tuple(windows), (), (60,))
    wanted = TimeRange(NOON, NOON + 120 * MICROS, seconds, source)
    return build_rows(found, wanted, Selection("window"), now=NOON + 900 * MICROS)


def test_what_nobody_tells_of_is_no_zero_and_no_family() -> None:
    row, _ = whole(told(NOON, None))
    assert (row.selections, row.delegation_calls, row.delegation_effects) == (None, None, None)
    assert "route_selection" not in row.states
    assert row.state is Evidence.COMPLETE


def test_what_somebody_tells_of_is_counted_with_its_evidence() -> None:
    first, second = whole(
        told(NOON, "COMPLETE", selections={"auto.live": 3, "user.persisted": 1}),
        told(NOON + 60 * MICROS, "LOSSY"),
    )
    assert (first.selections, first.selections_by_timeline) == (4, {"auto.live": 3, "user.persisted": 1})
    assert (first.state, first.states["route_selection"]) == (Evidence.COMPLETE, "COMPLETE")
    # A real zero, and what it proves.
    assert (second.selections, second.state, second.states["route_selection"]) == (0, Evidence.LOSSY, "LOSSY")


def test_windows_in_which_nobody_told_of_a_family_weigh_on_that_family_alone() -> None:
    row, *_ = whole(
        told(NOON, "COMPLETE", selections={"auto.live": 3}), told(NOON + 60 * MICROS, None), seconds=120, source=60
    )
    assert (row.state, row.states["route_selection"], row.selections) == (Evidence.COMPLETE, "ABSENT", 3)


def test_columns_of_what_nobody_tells_of_are_left_out_of_the_table_and_empty_in_csv() -> None:
    silent, telling = whole(told(NOON, None)), whole(told(NOON, "COMPLETE", selections={"auto.live": 3}))
    assert "selections" not in text_of(silent)
    text = text_of(telling)
    assert "selections: 3 auto.live" in text
    assert "effects" not in text
    for found, count, by, state in ((silent, "", "", ""), (telling, "3", "auto.live=3", "COMPLETE")):
        line = next(csv.DictReader(io.StringIO(to_csv(found))))
        assert (line["selections"], line["selections_by_timeline"], line["state_route_selection"]) == (count, by, state)
        assert (line["delegation_calls"], line["state_delegation_effect"]) == ("", "")
