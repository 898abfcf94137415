"""The shape of a payload: which fields of which types, and nothing of what is in them."""

from typing import Any

import pytest

from unmask.producers.shapes import DEEPEST, MOST_FIELDS, MOST_ITEMS, MOST_VALUES, PayloadShape, payload_shape, shape_of
from unmask.schemas.tokens import is_token

ANSWER = {
    "symbol": "EUR/USD",
    "prices": [{"bid": 1.08, "ask": 1.09, "venue": {"name": "x"}}, {"bid": 2, "ask": None}],
    "stale": False,
}


def test_a_shape_is_paths_and_types() -> None:
    assert shape_of(ANSWER) == (
        "$ object",
        "$.prices array",
        "$.prices[] object",
        "$.prices[].ask null",
        "$.prices[].ask number",
        "$.prices[].bid number",
        "$.prices[].venue object",
        "$.prices[].venue.name string",
        "$.stale boolean",
        "$.symbol string",
    )


def test_a_fingerprint_is_a_token() -> None:
    fingerprint = payload_shape(ANSWER)
    assert fingerprint is not None
    assert is_token(fingerprint)


SAME: list[tuple[Any, Any]] = [
    ({"a": 1}, {"a": 2.5}), ([1], [1, 2, 3]), ([{"a": 1}, {"b": "x"}], [{"b": "y"}, {"a": 3}]), ("a", "b"), ([1], (1,)),
    ({"a": 1, "b": 2}, {"b": 1, "a": 2}), (b"a", bytearray(b"b")), ({"a@b.org": 1}, {"c@d.org": 1}),
    ({"2026-01-01": 1, "2026-01-02": 2}, {"2026-02-01": 3}), ({"sha-0123456": 1}, {"sha-6543210": 1}),
    ({7: "a"}, {8: "b"}),
    ({f"k{n}": 1 for n in range(MOST_FIELDS + 1)}, {f"x{n}": 1 for n in range(MOST_FIELDS + 2)}),
    ({"x" * 65: 1}, {"y" * 65: 1}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_values_order_and_number_do_not_matter(one: Any, other: Any) -> None:
    assert payload_shape(one) == payload_shape(other) is not None


DRIFTED: list[tuple[Any, Any]] = [
    ({"a": 1, "b": 2}, {"a": 1}), ({"a": {"b": 1}}, {"a": 1}), ({"a": 1}, {"a": "1"}), ({"a": 1}, {"a": None}),
    ([1], []), ([{"a": 1, "b": 1}], [{"a": 1}]), ({"a": 1}, [{"a": 1}]), ("a", b"a"), ("a", {"text": "a"}), (True, 1),
    ({"a": {"b": 1}}, {"a": {}, "b": 1}), ({"a": 1}, {"A": 1}), ({"naïve": 1}, {"naive": 1}),
    ({"a": [[1]]}, {"a": [1]}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DRIFTED)
def test_a_field_or_type_that_is_missing_or_new_is_another_shape(one: Any, other: Any) -> None:
    first, second = payload_shape(one), payload_shape(other)
    assert None not in (first, second)
    assert first != second


@pytest.mark.parametrize("payload", [object(), {1, 2}, 1j, iter([1]), [0] * MOST_ITEMS * 0 + [[0] * 99] * 99])
def test_what_is_no_payload_or_too_much_has_no_shape(payload: Any) -> None:
    assert payload_shape(payload) is None
    assert shape_of(payload) is None


def test_only_the_beginning_of_an_array_is_looked_at() -> None:
    assert payload_shape([1] * MOST_ITEMS + ["x"]) == payload_shape([1])
    assert payload_shape([1] * MOST_VALUES * 10) == payload_shape([1])


def test_what_lies_deeper_than_is_looked_at_is_merged_and_a_cycle_ends_there() -> None:
    def nested(levels: int, inside: Any) -> Any:
        for _ in range(levels):
            inside = {"a": inside}
        return inside

    assert payload_shape(nested(DEEPEST + 3, 1)) == payload_shape(nested(DEEPEST + 5, "x"))
    assert payload_shape(nested(DEEPEST, 1)) != payload_shape(nested(DEEPEST, "x"))
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    assert payload_shape(cycle) == payload_shape(nested(DEEPEST + 3, 1))


def test_values_of_foreign_types_inside_of_a_payload_are_all_alike() -> None:
    assert shape_of({"a": object(), "b": 1j}) == ("$ object", "$.a other", "$.b other")


def test_the_parts_of_a_stream_are_merged() -> None:
    shape = PayloadShape()
    for part in ({"a": 1}, {"b": 1}, {"a": 2}):
        shape.add(part)
    assert shape.lines() == ("$ object", "$.a number", "$.b number")
    assert PayloadShape().fingerprint() is None


def test_classes_that_do_not_behave_are_no_payload() -> None:
    class Wild(dict[str, Any]):
        def __len__(self) -> int:
            raise RuntimeError

        def items(self) -> Any:
            raise RuntimeError

    assert payload_shape(Wild(a=1)) == payload_shape({"a": 1})
