"""The page's memory keeps what is newest, and no more than its bounds."""

from tests.alert_records import alert_record
from tests.table_records import BLUE, GREEN, at
from tests.unit.streams.web.page.remembering import memory, put_alert, put_head, put_window, window

from unmask.streams.web.page.newest import Newest


def test_what_is_oldest_by_the_broker_s_time_goes_first_whatever_order_it_came_in() -> None:
    kept: Newest[int] = Newest(10)
    for at_ in [5, 4, 3, 2, 1, 12, 11, 10, 9, 8, 7, 6]:
        kept.put(str(at_), at_, at_)
    assert (len(kept), kept.cut) == (10, 2)
    assert [value for _, value in kept.items()] == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]


def test_a_newer_value_of_a_key_takes_no_further_room() -> None:
    kept: Newest[int] = Newest(10)
    for at_ in range(100):
        kept.put("same", at_, at_)
    assert (kept.items(), kept.cut) == ([("same", 99)], 0)


def test_the_newest_windows_of_each_size_are_kept() -> None:
    known = memory(windows=3)
    for minute in (4, 0, 1, 2, 3):
        put_window(known, window(minute=minute))
        put_window(known, window(minute=60 * minute, seconds=3600))
    assert sorted(start for seconds, start in known.windows if seconds == 60) == [at(2), at(3), at(4)]
    assert len([place for place in known.windows if place[0] == 3600]) == 3
    assert known.windows_cut == 4


def test_lifetime_windows_are_the_overview_s() -> None:
    known = memory()
    known.window("0|0|*|*|*", b"anything")
    assert known.windows == {}


def test_a_window_s_labels_are_bounded_and_known_ones_stay_up_to_date() -> None:
    known = memory(records_of_a_window=2)
    for scope in (None, BLUE, GREEN):
        put_window(known, window(scope=scope, attempts=1))
    put_window(known, window(attempts=7))
    records = known.windows[60, at(0)]
    assert len(records) == 2
    assert not any("r2" in key for key in records)


def test_what_is_over_never_takes_the_room_of_what_fires() -> None:
    known = memory(alerts=2)
    put_alert(known, alert_record("first"), 1)
    for number in range(50):
        put_alert(known, alert_record(f"over-{number}", "RESOLVED"), 2 + number)
    assert [key for key, _ in known.firing.items()] == ["UPSTREAM_OUTAGE|first"]
    put_alert(known, alert_record("first", "RESOLVED"), 99)
    assert len(known.firing) == 0
    known.alert("UPSTREAM_OUTAGE|first", None, 100, firing=False)
    assert "UPSTREAM_OUTAGE|first" not in known.resolved


def test_cells_and_sessions_of_the_ledger_are_passed_over() -> None:
    known = memory()
    known.piece(0, "c|60|1|x", b"[1,1]", 5)
    known.piece(0, "s|session", b"{}", 5)
    assert (known.heads, len(known.emitters)) == ({}, 0)
    put_head(known, 2, next_offset=7, read_through=at(1), committed_at=at(1))
    assert list(known.heads) == [2]


def test_a_tombstone_removes() -> None:
    known = memory()
    put_window(known, window())
    (key,) = known.windows[60, at(0)]
    known.window(key, None)
    known.session("s1|0", b"x", 1)
    known.session("s1|0", None, 2)
    assert known.windows[60, at(0)] == {}
    assert len(known.sessions) == 0
