"""What is not counted by capability is not said to be zero for one."""

from typing import Any

from unmask.consumers.report import Selection, TimeRange, build_rows
from unmask.consumers.testing import window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

NOON = 1_767_268_800 * MICROS
WANTED = TimeRange(NOON, NOON + 60 * MICROS, 60)


def test_masked_errors_and_teardowns_are_a_scopes_and_not_a_capabilitys() -> None:
    masked: dict[str, Any] = {
        "masked_errors": 3,
        "masked_errors_by_class": {"timeout": 3},
        "teardowns_by_outcome": {"success": 1},
    }
    records = [window_record(NOON, **masked), window_record(NOON, capability="search", attempts=5)]
    found = WindowRecords(tuple(from_avro(Window, record) for record in records), (), (60,))
    (scope,) = build_rows(found, WANTED, Selection(by="scope"), now=NOON)
    assert (scope.masked_errors, scope.teardowns_by_outcome, scope.late) == (3, {"success": 1}, 0)
    (search,) = build_rows(found, WANTED, Selection(), now=NOON)
    assert search.attempts == 5
    assert (search.masked_errors, search.late, search.skewed, search.duplicates) == (None, None, None, None)
    assert (search.masked_errors_by_class, search.teardowns_by_outcome) == ({}, {})
