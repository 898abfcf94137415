"""Snapshots in any order, any number of times, make the same windows."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.table_records import BLUE, GREEN, at, cell, closing_mark, flaw, loss

from unmask.streams.tables.evidence import FAMILIES, family_evidence, flaw_of
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.window_table import WindowTable

RULES = TableRules(table_partitions=1)
MEASURES = (
    "route_attempt", "kernel_fallback", "masked_error", "emitters", "late", "route_selection", "delegation_progress",
    "delegation_effect", "witnesses",
)  # fmt: skip
Keyed = tuple[str, dict[str, Any]]


@st.composite
def snapshots(draw: st.DrawFn) -> list[Keyed]:
    """For every cell a few snapshots, whose count grows with the offset, as the ledger's do."""
    keyed: list[Keyed] = []
    for _ in range(draw(st.integers(1, 6))):
        place: dict[str, Any] = {
            "measure": draw(st.sampled_from(MEASURES)),
            "partition": draw(st.integers(0, 2)),
            "minute": draw(st.integers(0, 3)),
            "scope": draw(st.sampled_from((BLUE, GREEN))),
            "capability": draw(st.sampled_from(("search", "sum"))),
            "correction": draw(st.none() | st.tuples(st.sampled_from(("e1", "e2")), st.integers(1, 3))),
        }
        count = 0
        for offset in sorted(draw(st.sets(st.integers(0, 10**12), min_size=1, max_size=4))):
            # An offset says how far the partition had been read: at one offset a cell has one count.
            if any(key == cell(count=0, **place)[0] for key, _ in keyed) and not count:
                break
            count += draw(st.integers(0, 10**9))
            keyed.append(cell(count=count, offset=offset, **place))
    for partition in range(3):
        keyed.append(closing_mark(2.5, partition=partition, partitions=3))
        keyed.append(closing_mark(3.5, partition=partition, partitions=3, offset=200))
    return keyed


def windows(keyed: list[Keyed]) -> dict[str, dict[str, Any]]:
    table = WindowTable(0, RULES)
    for key, record in keyed:
        table.apply(key, record)
    table.take_dirty()
    return {key: record for window in table for key, record in table.records(window).items()}


@given(snapshots(), st.randoms(use_true_random=False))
def test_any_order_and_any_repetition_make_the_same_windows(keyed: list[Keyed], random: Any) -> None:
    shuffled = keyed + random.choices(keyed, k=len(keyed))
    random.shuffle(shuffled)
    assert windows(shuffled) == windows(keyed)


@given(snapshots())
def test_a_window_counts_the_newest_snapshot_of_every_cell_once(keyed: list[Keyed]) -> None:
    newest: dict[str, dict[str, Any]] = {}
    for key, record in keyed:
        if key.startswith("c") and record["offset"] >= newest.get(key, record)["offset"]:
            newest[key] = record
    counted = Counter[str]()
    for record in newest.values():
        counted[record["measure"]] += record["count"]
    expected = counted["route_attempt"]
    found = windows(keyed)
    for measure, field in (
        ("route_selection", "selections"),
        ("delegation_progress", "delegation_calls"),
        ("delegation_effect", "delegation_effects"),
    ):
        assert sum(sum(r[field].values()) for r in found.values() if r["scope"] is None) == counted[measure]
        assert sum(sum(r[field].values()) for r in found.values() if r["capability"] is not None) == 0
    assert sum(r["attempts"] for r in found.values() if r["scope"] is None) == expected
    assert sum(r["attempts"] for r in found.values() if r["scope"] and r["capability"] is None) == expected
    assert sum(r["attempts"] for r in found.values() if r["capability"] is not None) == expected


losses = st.lists(
    st.builds(
        loss, st.sampled_from(FAMILIES), st.integers(0, 3), buffer_full=st.integers(0, 2), disk_failed=st.integers(0, 2)
    ),
    max_size=4,
    unique_by=lambda entry: entry["family"],
)
flaws = st.lists(st.builds(lambda ls: flaw_of(flaw(*ls)[1]), losses), max_size=4)


EVERYBODY = dict.fromkeys(FAMILIES, 1)


def states(
    found: list[Any], *, pending: bool = False, witnesses: int = 1, told_by: dict[str, int] = EVERYBODY
) -> list[str]:
    entries = family_evidence(pending=pending, flaws=found, witnesses=witnesses, told_by=told_by)
    return [entry["state"] for entry in entries]


@given(flaws, flaws)
def test_more_flaws_never_make_evidence_better(first: list[Any], more: list[Any]) -> None:
    for before, after in zip(states(first), states(first + more), strict=True):
        assert after == "LOSSY" or (before, after) == ("COMPLETE", "COMPLETE")


@given(flaws, st.integers(0, 3))
def test_evidence_is_pending_exactly_while_somebody_may_still_send(found: list[Any], witnesses: int) -> None:
    assert set(states(found, pending=True, witnesses=witnesses)) == {"PENDING"}
    assert "PENDING" not in states(found, witnesses=witnesses)


@given(flaws)
def test_without_a_witness_nothing_is_ever_complete(found: list[Any]) -> None:
    assert set(states(found, witnesses=0, told_by={})) <= {"LOSSY", "ABSENT"}


@given(flaws, st.sets(st.sampled_from(FAMILIES[4:])), st.booleans())
def test_a_family_that_was_added_stands_in_it_exactly_where_it_was_witnessed_or_lost_something(
    found: list[Any], told_by: set[str], pending: bool
) -> None:
    entries = family_evidence(pending=pending, flaws=found, witnesses=1, told_by=dict.fromkeys(told_by, 2))
    lost = {family for flaw in found for family, entry in flaw.losses.items() if entry.any}
    assert [entry["family"] for entry in entries] == [
        family for family in FAMILIES if family in FAMILIES[:4] or family in told_by or family in lost
    ]
    assert all(entry["family"] in told_by for entry in entries[4:] if entry["state"] == "COMPLETE")


@given(flaws, st.randoms(use_true_random=False))
def test_the_order_of_flaws_decides_nothing(found: list[Any], random: Any) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    assert family_evidence(pending=False, flaws=shuffled, witnesses=1) == family_evidence(
        pending=False, flaws=found, witnesses=1
    )


@given(st.integers(0, 600), st.integers(0, 600))
def test_a_window_that_a_mark_has_closed_stays_closed(first: int, later: int) -> None:
    table = WindowTable(0, RULES)
    table.apply(*cell("emitters", 1))
    for minutes in (first, first + later):
        table.apply(*closing_mark(minutes / 10, offset=100 + minutes))
        if minutes >= 10:
            assert {e["state"] for e in table.records((at(0), 60))[f"60|{at(0) // 10**6}|*|*|*"]["evidence"]} == {
                "COMPLETE"
            }
