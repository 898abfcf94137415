"""Lines are divided by what is asked for; what is not kept so is not counted so."""

from typing import Any

import pytest

from unmask.consumers.report import Dimension, DimensionError, ReportRow, Selection, TimeRange, build_rows
from unmask.consumers.report.dimensions import dimensions_of
from unmask.consumers.testing import SCOPE, window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

NOON = 1_767_268_800 * MICROS
WANTED = TimeRange(NOON, NOON + 60 * MICROS, 60)
SECOND_LINE = SCOPE._replace(release_line="line-2")
OTHER = SCOPE._replace(switchboard="switchboard-2")


def rows_of(*windows: dict[str, Any], selection: Selection) -> list[ReportRow]:
    found = WindowRecords(tuple(from_avro(Window, window) for window in windows), (), (60,))
    return build_rows(found, WANTED, selection, now=NOON + 3_600 * MICROS)


def counted(attempts: int, fallbacks: int, **fields: Any) -> dict[str, Any]:
    return window_record(
        NOON,
        attempts=attempts,
        fallbacks_total=fallbacks,
        attempts_by_entry_point={"chat": attempts - 1, "batch": 1},
        fallbacks_by_reason={"timeout": fallbacks},
        **fields,
    )


def test_a_capability_over_all_release_lines_of_one_composition_has_a_rate() -> None:
    (row,) = rows_of(
        counted(30, 3), counted(10, 1, scope=SECOND_LINE),
        counted(30, 3, capability="search"), counted(10, 1, capability="search", scope=SECOND_LINE),
        selection=Selection(by="capability"),
    )  # fmt: skip
    assert (row.labels.release_line, row.labels.capability) == (None, "search")
    assert (row.attempts, row.fallbacks, row.rate, row.compositions) == (40, 4, 0.1, 1)


def test_two_compositions_are_not_comparable_so_that_their_sum_has_no_rate() -> None:
    windows = [counted(30, 3), counted(10, 1, scope=OTHER), counted(40, 4, scope=None)]
    (row,) = rows_of(*windows, selection=Selection(by="window"))
    assert (row.attempts, row.rate, row.rate_state, row.compositions) == (40, None, "MIXED_COMPOSITIONS", 2)
    by_composition = rows_of(*windows, selection=Selection(by="composition"))
    assert [row.rate for row in by_composition] == [0.1, 0.1]


def test_reasons_are_of_fallbacks_alone_and_have_no_rate() -> None:
    rows = rows_of(counted(30, 3), selection=Selection(by="reason"))
    assert [(row.labels.reason, row.fallbacks, row.attempts, row.rate_state) for row in rows] == [
        ("timeout", 3, None, "NOT_COUNTED")
    ]
    assert (rows[0].masked_errors, rows[0].late) == (None, None)


def test_entry_points_are_of_attempts_alone() -> None:
    rows = rows_of(counted(30, 3), selection=Selection(by=("entry_point",)))
    assert [(row.labels.entry_point, row.attempts, row.fallbacks) for row in rows] == [
        ("batch", 1, None),
        ("chat", 29, None),
    ]


def test_where_no_fallback_has_a_reason_the_line_says_that_there_were_none() -> None:
    (row,) = rows_of(window_record(NOON, attempts=7), selection=Selection(by="reason"))
    assert (row.labels.reason, row.fallbacks, row.state) == (None, 0, Evidence.COMPLETE)


def test_a_scope_that_a_window_does_not_know_is_absent_in_it_while_others_are_not() -> None:
    windows = [counted(3, 0, scope=None), counted(3, 0)]
    later = [{**window, "window_start": NOON + 60 * MICROS} for window in windows]
    later.append({**later[1], "scope": SECOND_LINE._asdict()})
    found = WindowRecords(tuple(from_avro(Window, window) for window in (*windows, *later)), (), (60,))
    wanted = TimeRange(NOON, NOON + 120 * MICROS, 60)
    rows = build_rows(found, wanted, Selection(by="scope", release_line="line-2"), now=NOON)
    # Its own records say that these windows are over, whatever the clock says.
    assert [row.state for row in rows] == [Evidence.ABSENT, Evidence.COMPLETE]


def test_names_may_be_written_with_commas_spaces_and_dashes() -> None:
    assert dimensions_of(["release line, entry-point", "reason"]) == {
        Dimension.RELEASE_LINE,
        Dimension.ENTRY_POINT,
        Dimension.REASON,
    }
    assert dimensions_of(["window"]) == frozenset()


def test_what_windows_do_not_carry_is_refused_with_what_they_do() -> None:
    with pytest.raises(DimensionError, match="there are window, scope, release_line"):
        dimensions_of(["colour"])
    with pytest.raises(DimensionError, match="add the tenant"):
        _ = Selection(by=("reason", "entry_point")).dimensions
    assert len(Selection(by=("reason", "entry_point", "tenant")).dimensions) == 3
