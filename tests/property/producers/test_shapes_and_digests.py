"""Whatever the payload: equal ones have equal digests, different ones different digests, and shapes hold no values."""

import copy
import json
import math
import random
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unmask.producers.equivalence import payload_digest
from unmask.producers.shapes import payload_shape, shape_of
from unmask.schemas.tokens import is_token

texts = st.text(st.characters(codec=None), max_size=8)
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), texts, st.binary(max_size=8),
    st.sampled_from([0, 0.0, -0.0, 1, 1.0, True, False, "", b"", "1", math.nan, math.inf]),
)  # fmt: skip
payloads: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
json_payloads: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=12,
)
fields = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
records = st.dictionaries(fields, st.one_of(st.integers(), st.text(max_size=8), st.booleans()), min_size=1, max_size=6)


def reordered(payload: Any, order: random.Random) -> Any:
    """The same payload with its members in another order, and its arrays as tuples."""
    if isinstance(payload, dict):
        names = list(payload)
        order.shuffle(names)
        return {name: reordered(payload[name], order) for name in names}
    return tuple(reordered(item, order) for item in payload) if isinstance(payload, list) else payload


def strictly_equal(one: Any, other: Any) -> bool:
    """Equality as it is meant: by type and by bit. Written by itself, to be compared with."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(strictly_equal(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(strictly_equal, one, other))
    return bool(one == other)


@settings(deadline=None)
@given(payloads, st.randoms(use_true_random=False))
def test_the_order_of_members_and_the_kind_of_sequence_do_not_matter(payload: Any, order: random.Random) -> None:
    assert payload_digest(payload) == payload_digest(reordered(payload, order)) is not None


@settings(deadline=None)
@given(payloads)
def test_a_copy_has_the_same_digest_and_shape(payload: Any) -> None:
    twin = copy.deepcopy(payload)
    assert payload_digest(payload) == payload_digest(twin)
    assert payload_shape(payload) == payload_shape(twin)


@settings(deadline=None)
@given(payloads, payloads)
def test_digests_are_equal_exactly_when_payloads_are(one: Any, other: Any) -> None:
    assert (payload_digest(one) == payload_digest(other)) == strictly_equal(one, other)


@settings(deadline=None)
@given(json_payloads)
def test_a_payload_that_went_through_json_is_the_same(payload: Any) -> None:
    again = json.loads(json.dumps(payload))
    assert payload_digest(payload) == payload_digest(again)
    assert payload_shape(payload) == payload_shape(again)


@settings(deadline=None)
@given(payloads, payloads)
def test_nesting_tells_payloads_apart(one: Any, other: Any) -> None:
    digests = {payload_digest(each) for each in ([one, other], [[one, other]], [[one], other], {"": [one, other]})}
    assert len(digests) == 4


@settings(deadline=None)
@given(st.recursive(st.builds(object), lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.integers(), inner))))
def test_nothing_at_all_makes_them_raise(payload: Any) -> None:
    digest = payload_digest(payload)
    assert digest is None or len(digest) == 64
    shape = payload_shape(payload)
    assert shape is None or is_token(shape)


@settings(deadline=None)
@given(st.lists(records, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_order_and_number_of_items_do_not_matter_to_a_shape(items: list[Any], order: random.Random) -> None:
    shuffled = items * 2
    order.shuffle(shuffled)
    assert payload_shape(items) == payload_shape(shuffled)


@settings(deadline=None)
@given(records, st.data())
def test_other_values_of_the_same_types_have_the_same_shape(record: dict[str, Any], data: st.DataObject) -> None:
    strategies = {bool: st.booleans(), int: st.integers(), str: st.text(max_size=20)}
    other = {name: data.draw(strategies[type(value)]) for name, value in record.items()}
    assert payload_shape(record) == payload_shape(other)


@settings(deadline=None)
@given(records, st.data())
def test_a_field_that_is_left_out_renamed_or_of_another_type_is_another_shape(
    record: dict[str, Any], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(record)))
    less = {each: value for each, value in record.items() if each != name}
    assert payload_shape(less) != payload_shape(record)
    new = data.draw(fields)
    assume(new not in record)
    assert payload_shape({**less, new: record[name]}) != payload_shape(record)
    assert payload_shape({**record, name: {"inside": 1}}) != payload_shape(record)


@settings(deadline=None)
@given(st.dictionaries(fields, st.text(alphabet="0123456789ÄÖÜ@ .", min_size=6), max_size=5), st.integers(10**9))
def test_no_value_is_in_a_shape(record: dict[str, Any], number: int) -> None:
    payload = {"items": [record, {"number": number}], f"{number}": 1, "someone@example.org": 2}
    lines = shape_of(payload)
    assert lines is not None
    spoken = "\n".join(lines)
    assert str(number) not in spoken
    assert "example" not in spoken
    assert not any(value in spoken for value in record.values())
