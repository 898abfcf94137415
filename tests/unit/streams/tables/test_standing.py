"""What stands on the windows topic, and what may take its place."""

from tests.table_records import at, cell

from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.standing import Standing, Stood, content_digest, is_scoped, weight_of
from unmask.streams.tables.window_table import WindowTable

A, B = b"a", b"b"
K = "60|1800|line|digest|*"
WINDOW = (1_800_000_000, 60)


def standing(revision: int = 10, digest: bytes = A, weight: int = 5) -> Standing:
    made = Standing()
    made.note(K, Stood(revision, digest, weight))
    return made


def test_what_is_not_there_is_published() -> None:
    assert Standing().must_publish(K, Stood(1, A, 0))


def test_what_stands_already_is_not_published_again() -> None:
    assert not standing().must_publish(K, Stood(99, A, 5))


def test_an_older_record_is_overwritten() -> None:
    assert standing().must_publish(K, Stood(11, B, 5))


def test_a_newer_record_is_not() -> None:
    assert not standing(revision=12).must_publish(K, Stood(11, B, 9))


def test_a_record_that_counts_less_is_withheld_and_told_of() -> None:
    made = standing(weight=5)
    assert not made.must_publish(K, Stood(11, B, 4))
    assert made.withheld == 1


def test_a_tombstone_makes_room() -> None:
    made = standing()
    made.note(K, None)
    assert made.must_publish(K, Stood(1, B, 0))


def test_the_digest_does_not_depend_on_the_order_of_fields() -> None:
    assert content_digest({"x": 1, "y": 2, "revision": 3}, "revision") == content_digest({"y": 2, "x": 1})


def test_the_keys_of_a_window_are_those_that_stand() -> None:
    made = standing()
    made.note("60|1860|line|digest|*", Stood(10, A, 5))
    assert made.of_window(WINDOW) == [K]
    made.forget([K])
    assert made.of_window(WINDOW) == []


def test_a_key_of_a_scope_is_told_from_that_of_the_whole_window() -> None:
    assert is_scoped(K)
    assert not is_scoped("60|1800|*|*|*")


def test_everything_that_a_window_counts_has_a_weight() -> None:
    table = WindowTable(0, TableRules(table_partitions=1))
    for number, measure in enumerate(("route_selection", "delegation_progress", "delegation_effect", "emitters")):
        table.apply(*cell(measure, 10**number))
    assert {weight_of(record) for record in table.records((at(0), 60)).values()} == {1111}
