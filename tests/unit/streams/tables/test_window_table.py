"""Windows and their evidence, with explicit instants and no broker."""

from typing import Any

import pytest
from tests.table_records import BLUE, GREEN, MINUTE, at, cell, closing_mark, flaw, loss, mark, window_evidence

from unmask.schemas.codec import decode, encode, headers
from unmask.schemas.keys import window_key, window_route
from unmask.schemas.models import Window, from_avro
from unmask.schemas.partitioner import partition_for
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.window_table import WindowTable

RULES = TableRules(table_partitions=1)
ALL = ("route_attempt", "kernel_fallback", "masked_error", "session_teardown")


def table(*keyed: tuple[str, dict[str, Any] | None], rules: TableRules = RULES, partition: int = 0) -> WindowTable:
    made = WindowTable(partition, rules)
    for key, record in keyed:
        made.apply(key, record)
    return made


def whole(made: WindowTable, minute: int = 0) -> dict[str, Any]:
    return made.records((at(minute), 60))[window_key(at(minute), 60, None, None)]


def scoped(made: WindowTable, minute: int = 0, capability: str | None = None) -> dict[str, Any]:
    return made.records((at(minute), 60))[window_key(at(minute), 60, BLUE, capability)]


def states(record: dict[str, Any]) -> set[str]:
    return set(window_evidence(record).values())


def test_counts_are_summed_over_source_partitions_and_corrections() -> None:
    made = table(
        cell("route_attempt", 10, partition=0),
        cell("route_attempt", 5, partition=1),
        cell("route_attempt", 2, partition=1, correction=("e9", 7)),
        cell("kernel_fallback", 3, code="timeout"),
    )
    record = scoped(made, capability="search")
    assert (record["attempts"], record["fallbacks_total"]) == (17, 3)
    assert record["attempts_by_entry_point"] == {"api": 17}
    assert record["fallbacks_by_reason"] == {"timeout": 3}


def test_every_correction_of_a_cell_counts_once() -> None:
    made = table(
        cell("route_attempt", 2, correction=("e9", 7), offset=50),
        cell("route_attempt", 3, correction=("e9", 8), offset=40),
        cell("route_attempt", 5, correction=("e8", 7), offset=30),
        cell("route_attempt", 2, correction=("e9", 7), offset=50),
    )
    assert scoped(made)["attempts"] == 10


def test_a_snapshot_with_a_lower_offset_changes_nothing() -> None:
    made = table(cell("route_attempt", 10, offset=20), cell("route_attempt", 4, offset=15))
    assert scoped(made)["attempts"] == 10


def test_every_record_fits_its_schema() -> None:
    made = table(
        cell("route_attempt", 10), cell("masked_error", 2, capability="upstream-a", code="timeout"),
        cell("session_teardown", 1, capability="-", code="success"), cell("emitters", 1), cell("late", 1),
        flaw(loss("route_attempt", 2, buffer_full=1)), closing_mark(1),
    )  # fmt: skip
    for record in made.records((at(0), 60)).values():
        value = {**record, "revision": 7}
        assert decode("window", encode("window", value)) == value


def test_selections_calls_and_effects_are_counted_by_their_codes_for_the_scope_and_for_no_capability() -> None:
    made = table(
        cell("emitters", 1), cell("route_attempt", 4),
        cell("route_selection", 3, capability="auto", code="live"),
        cell("route_selection", 2, capability="auto", code="live", partition=1),
        cell("route_selection", 1, capability="user", code="persisted"),
        cell("delegation_progress", 54, capability="-", code="succeeded"),
        cell("delegation_effect", 21, capability="effects", code="refused"),
        cell("delegation_effect", 1, capability="effects", code="granted", scope=GREEN),
    )  # fmt: skip
    record = scoped(made)
    assert record["selections"] == {"auto.live": 5, "user.persisted": 1}
    assert record["delegation_calls"] == {"succeeded": 54}
    assert record["delegation_effects"] == {"effects.refused": 21}
    assert whole(made)["delegation_effects"] == {"effects.granted": 1, "effects.refused": 21}
    assert scoped(made, capability="search")["selections"] == {}
    assert len(made.records((at(0), 60))) == 4  # whole, two scopes, one capability
    for found in made.records((at(0), 60)).values():
        assert decode("window", encode("window", {**found, "revision": 1})) == {**found, "revision": 1}


def test_an_effect_of_which_nobody_says_who_granted_it_is_counted_under_a_code_that_the_contract_allows() -> None:
    made = table(cell("emitters", 1), cell("delegation_effect", 2, capability="-", code="committed"))
    assert scoped(made)["delegation_effects"] == {"unknown_enforcer.committed": 2}
    for record in made.records((at(0), 60)).values():
        assert from_avro(Window, {**record, "revision": 1}).delegation_effects == {"unknown_enforcer.committed": 2}


def test_a_family_that_was_added_has_evidence_only_where_somebody_could_tell_of_it() -> None:
    made = table(
        cell("emitters", 2), cell("witnesses", 1, capability="delegation_effect"),
        cell("witnesses", 0, capability="route_selection"), cell("emitters", 1, scope=GREEN),
    )  # fmt: skip
    assert window_evidence(scoped(made)) == dict.fromkeys((*ALL, "delegation_effect"), "PENDING")
    made.apply(*closing_mark(1))
    assert window_evidence(scoped(made)) == dict.fromkeys((*ALL, "delegation_effect"), "COMPLETE")
    green = made.records((at(0), 60))[window_key(at(0), 60, GREEN, None)]
    assert window_evidence(green) == dict.fromkeys(ALL, "COMPLETE")
    assert window_evidence(whole(made)) == dict.fromkeys((*ALL, "delegation_effect"), "COMPLETE")


def test_a_flaw_spoils_a_family_that_was_added_where_it_is_witnessed_or_lost_something() -> None:
    witnessed = cell("witnesses", 1, capability="route_selection")
    unknown = table(cell("emitters", 1), witnessed, flaw(cause="identity"), closing_mark(1))
    assert window_evidence(scoped(unknown)) == dict.fromkeys((*ALL, "route_selection"), "LOSSY")
    lost = table(cell("emitters", 1), witnessed, flaw(loss("delegation_progress", 2)), closing_mark(1))
    assert window_evidence(scoped(lost)) == {
        **dict.fromkeys((*ALL, "route_selection"), "COMPLETE"), "delegation_progress": "LOSSY",
    }  # fmt: skip
    nobody = table(cell("emitters", 1), flaw(), closing_mark(1))
    assert window_evidence(scoped(nobody)) == dict.fromkeys(ALL, "LOSSY")


def test_a_window_with_nothing_new_is_written_as_the_first_version_has_it() -> None:
    made = table(cell("emitters", 1), cell("route_attempt", 3), flaw(), closing_mark(1))
    for record in made.records((at(0), 60)).values():
        assert encode("window", {**record, "revision": 1})[:10] == headers("window")[0]
    made.apply(*cell("delegation_progress", 1, capability="-", code="succeeded"))
    assert encode("window", {**scoped(made), "revision": 1})[:10] != headers("window")[0]


def test_masked_errors_belong_to_the_scope_and_to_no_capability() -> None:
    made = table(cell("masked_error", 2, capability="upstream-a", code="timeout"), cell("route_attempt", 1))
    keys = set(made.records((at(0), 60)))
    assert window_key(at(0), 60, BLUE, "search") in keys
    assert window_key(at(0), 60, BLUE, "upstream-a") not in keys
    assert scoped(made)["masked_errors_by_class"] == {"timeout": 2}


def test_a_window_is_pending_until_every_source_partition_has_closed_it() -> None:
    made = table(cell("emitters", 1), closing_mark(1, partition=0, partitions=2))
    assert states(whole(made)) == {"PENDING"}
    made.apply(*mark(at(1), partition=1, partitions=2))
    assert states(whole(made)) == {"PENDING"}
    made.apply(*closing_mark(1, partition=1, partitions=2, offset=101))
    assert states(whole(made)) == {"COMPLETE"}


def test_a_window_waits_for_a_live_emitter_that_has_not_accounted_for_it() -> None:
    made = table(cell("emitters", 1), closing_mark(3, accounted={BLUE: at(0.9)}))
    assert states(scoped(made)) == {"PENDING"}
    made.apply(*closing_mark(3, offset=101, accounted={BLUE: at(1)}))
    assert states(scoped(made)) == {"COMPLETE"}


def test_a_window_waits_for_the_slowest_emitter_of_all_source_partitions() -> None:
    slow = closing_mark(3, partition=1, partitions=2, accounted={BLUE: at(0.5)})
    made = table(cell("emitters", 1), slow, closing_mark(3, partitions=2, accounted={BLUE: at(3)}))
    assert states(scoped(made)) == {"PENDING"}


def test_the_whole_waits_for_an_emitter_of_a_scope_that_has_no_cell_in_it() -> None:
    made = table(cell("emitters", 1), closing_mark(3, accounted={BLUE: at(3), GREEN: at(0.5)}))
    assert states(scoped(made)) == {"COMPLETE"}
    assert states(whole(made)) == {"PENDING"}


def test_a_loss_spoils_the_family_that_lost_something_and_no_other() -> None:
    made = table(cell("emitters", 1), flaw(loss("route_attempt", 2), loss("kernel_fallback")), closing_mark(1))
    found = window_evidence(scoped(made))
    assert found == {f: "LOSSY" if f == "route_attempt" else "COMPLETE" for f in ALL}
    (entry,) = [e for e in scoped(made)["evidence"] if e["family"] == "route_attempt"]
    assert (entry["missing"], entry["causes"]) == (2, ["gap"])


def test_what_a_host_dropped_is_told_by_cause() -> None:
    made = table(
        cell("emitters", 1),
        flaw(loss("kernel_fallback", 0, buffer_full=4), cause="dropped"),
        flaw(loss("kernel_fallback", 0, buffer_full=1, disk_failed=2), cause="dropped", from_seq=9, to_seq=10),
        closing_mark(1),
    )
    (entry,) = [e for e in scoped(made)["evidence"] if e["family"] == "kernel_fallback"]
    assert entry["state"] == "LOSSY"
    assert entry["dropped"] == [{"cause": "buffer_full", "count": 5}, {"cause": "disk_failed", "count": 2}]


def test_a_flaw_without_numbers_spoils_every_family() -> None:
    made = table(cell("emitters", 1), flaw(cause="silent", from_seq=-1, to_seq=-1), closing_mark(1))
    assert states(scoped(made)) == {"LOSSY"}


def test_an_unreadable_record_spoils_every_scope_and_is_counted_for_the_whole() -> None:
    unreadable = flaw(scope=None, emitter=None, from_seq=40, to_seq=42, cause="quarantined")
    made = table(cell("emitters", 1), cell("emitters", 1, scope=GREEN), unreadable, closing_mark(1))
    records = made.records((at(0), 60))
    assert all(states(record) == {"LOSSY"} for record in records.values())
    assert whole(made)["quarantined"] == 2


def test_a_flaw_of_one_scope_leaves_the_other_complete() -> None:
    made = table(cell("emitters", 1), cell("emitters", 1, scope=GREEN), flaw(), closing_mark(1))
    assert states(made.records((at(0), 60))[window_key(at(0), 60, GREEN, None)]) == {"COMPLETE"}
    assert states(whole(made)) == {"LOSSY"}


def test_a_filled_gap_heals_the_window() -> None:
    key, record = flaw(loss("route_attempt", 2))
    made = table(cell("emitters", 1), (key, record), closing_mark(1))
    assert states(scoped(made)) == {"LOSSY", "COMPLETE"}
    made.take_dirty()
    made.apply(key, None)
    assert made.take_dirty() == [(at(0), 60)]
    assert states(scoped(made)) == {"COMPLETE"}


def test_a_window_without_a_witness_is_absent_and_never_a_complete_zero() -> None:
    made = table(cell("emitters", 1, minute=0), closing_mark(2))
    made.take_dirty()
    assert states(whole(made, minute=1)) == {"ABSENT"}
    assert whole(made, minute=1)["attempts"] == 0


def test_no_data_at_all_is_no_window_at_all() -> None:
    """Z03: nothing in, nothing witnessed: there is no record that could be taken for a pass."""
    made = table(closing_mark(2))
    assert made.take_dirty() == []


def test_silence_is_filled_with_absent_windows_up_to_the_last_closed_one() -> None:
    made = table(cell("emitters", 1, minute=0), closing_mark(4.5))
    assert sorted(made.take_dirty()) == [(at(0), 60), (at(1), 60), (at(2), 60), (at(3), 60)]


def test_each_table_partition_fills_only_the_windows_that_are_routed_to_it() -> None:
    rules = TableRules(table_partitions=3)
    filled: list[tuple[int, int]] = []
    for partition in range(3):
        mine = [m for m in range(30) if partition_for(window_route(at(m), 60), 3) == partition]
        made = table(cell("emitters", 1, minute=mine[0]), closing_mark(30), rules=rules, partition=partition)
        filled += made.take_dirty()
        assert sorted(made) == [(at(m), 60) for m in mine]
    assert len(filled) == len(set(filled)) == 30


def test_the_last_window_closes_by_the_clock_of_the_broker_though_the_stream_is_quiet() -> None:
    """C09: one event, then silence; only the mark moves, at the same offset."""
    made = table(cell("route_attempt", 1), cell("emitters", 1), mark(at(0.5), offset=1))
    assert (at(0), 60) in made.take_dirty()
    assert states(whole(made)) == {"PENDING"}
    made.apply(*closing_mark(1, offset=1))
    assert made.take_dirty() == [(at(0), 60)]
    assert (whole(made)["attempts"], states(whole(made))) == (1, {"COMPLETE"})


def test_the_same_window_of_two_partitions_and_then_an_older_one_are_all_reported() -> None:
    """C10."""
    made = table(
        cell("route_attempt", 3, minute=5, partition=0),
        cell("route_attempt", 4, minute=5, partition=1),
        cell("emitters", 1, minute=5),
        closing_mark(6, partition=0, partitions=2),
        closing_mark(6, partition=1, partitions=2),
    )
    assert made.take_dirty() == [(at(5), 60)]
    assert (whole(made, 5)["attempts"], states(whole(made, 5))) == (7, {"COMPLETE"})
    made.apply(*cell("route_attempt", 2, minute=2, partition=1, offset=30, correction=("e1", 4)))
    made.apply(*cell("emitters", 1, minute=2, partition=1, offset=30, correction=("e1", 4)))
    assert (at(2), 60) in made.take_dirty()
    assert (whole(made, 2)["attempts"], states(whole(made, 2))) == (2, {"COMPLETE"})


def test_the_lifetime_window_never_closes() -> None:
    made = table(cell("route_attempt", 9, seconds=0), cell("emitters", 1, seconds=0), closing_mark(60))
    record = made.records((0, 0))[window_key(0, 0, BLUE, "search")]
    assert (record["attempts"], states(record)) == (9, {"PENDING"})


def test_a_settled_window_is_not_looked_at_again_for_every_mark() -> None:
    made = table(cell("emitters", 1), closing_mark(1))
    for window in made.take_dirty():
        made.records(window)
    made.apply(*mark(at(1.5), offset=102))
    assert made.take_dirty() == []


def test_windows_are_looked_at_again_when_somebody_accounts_for_less_than_before() -> None:
    made = table(cell("emitters", 1), closing_mark(1, accounted={BLUE: at(2)}))
    for window in made.take_dirty():
        made.records(window)
    made.apply(*closing_mark(1, offset=101, accounted={BLUE: at(0.5)}))
    assert made.take_dirty() == [(at(0), 60)]
    assert states(scoped(made)) == {"PENDING"}


def test_new_source_partitions_hold_windows_open_until_they_are_marked() -> None:
    made = table(cell("emitters", 1), closing_mark(1))
    assert states(whole(made)) == {"COMPLETE"}
    made.apply(*closing_mark(1, offset=101, partitions=2))
    assert states(whole(made)) == {"PENDING"}
    made.apply(*closing_mark(1, partition=1, partitions=2))
    assert states(whole(made)) == {"COMPLETE"}


def test_old_windows_are_forgotten_and_their_late_cells_passed_over() -> None:
    made = table(cell("emitters", 1, minute=0), cell("emitters", 1, minute=10), closing_mark(11))
    made.forget_before(at(5))
    made.apply(*cell("route_attempt", 1, minute=1, offset=99))
    made.take_dirty()
    assert min(start for start, _ in made) == at(5)
    assert len(made) == 6


def test_a_forgotten_cell_leaves_the_others_of_its_window() -> None:
    key, record = cell("route_attempt", 5, partition=1)
    made = table(cell("route_attempt", 3), (key, record))
    made.take_dirty()
    made.apply(key, None)
    assert made.take_dirty() == []
    assert scoped(made)["attempts"] == 3


def test_cells_of_upstreams_are_no_part_of_any_window() -> None:
    made = table(cell("upstream", 3, capability="primary", code="timeout", sessions=("s1",)))
    assert len(made) == 0


@pytest.mark.parametrize("limit", [1, 2])
def test_what_exceeds_the_limit_waits_for_the_next_call_and_the_newest_comes_first(limit: int) -> None:
    made = table(*(cell("route_attempt", 1, minute=m) for m in range(3)))
    taken = [window for _ in range(3) for window in made.take_dirty(limit)]
    assert taken == [(at(0) + m * MINUTE, 60) for m in (2, 1, 0)]
