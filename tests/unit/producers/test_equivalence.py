"""Canonical digests: what is the same payload, what is another one, and what is neither."""

import threading
from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from unmask.producers.equivalence import DEEPEST, MOST_BYTES, MOST_VALUES, PayloadDigest, equivalence_of, payload_digest
from unmask.schemas.codes import Equivalence


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


SAME: list[tuple[Any, Any]] = [
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ([1, 2], (1, 2)),
    ({"a": [1, {"b": None}]}, OrderedDict(a=(1, {"b": None}))),
    (float("nan"), float("nan")),
    (b"ab", bytearray(b"ab")),
    (b"ab", memoryview(b"ab")),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (10**400, 10**400),
    ("\ud800", "\ud800"),
    ({}, {}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_payload_has_the_same_digest(one: Any, other: Any) -> None:
    assert payload_digest(one) == payload_digest(other) is not None


DIFFERENT: list[tuple[Any, Any]] = [
    (1, 1.0), (1, True), (0, False), (0, None), ("1", 1), ("", None), ([], {}), ([], None), ([], ""), (0.0, -0.0),
    (float("nan"), float("inf")), ("é", "e\u0301"), ("a", b"a"), ("a", "A"), ([1, 2], [2, 1]), ([[1], 2], [[1, 2]]),
    ([[], []], [[[]]]), ({"a": 1}, {"a": 1, "b": None}), ({"a": {"b": 1}}, {"a": {}, "b": 1}), ("ab", ["a", "b"]),
    (["ab", "c"], ["a", "bc"]), ({"a": "b"}, ["a", "b"]), (2**63, -(2**63)), (255, -1), (128, -128),
    ("\U0001f600", "\ud83d\ude00"),
    (0.1 + 0.2, 0.3), (1e308 * 10, -1e308 * 10), ("null", None), ({"a": 1}, {"A": 1}), (" a", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_payload_has_another_digest(one: Any, other: Any) -> None:
    first, second = payload_digest(one), payload_digest(other)
    assert None not in (first, second)
    assert first != second


def _cycle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class Surprise(dict[str, int]):
    def items(self) -> Any:
        return {"other": 1}.items()


class Key(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


NEITHER: list[Any] = [
    object(), {1: "a"}, {None: 1}, {("a",): 1}, {1, 2}, Decimal("1"), datetime(2026, 1, 1, tzinfo=UTC), 1j, _cycle(),
    _deep(DEEPEST + 1), [None] * MOST_VALUES, "x" * (MOST_BYTES + 1), b"x" * (MOST_BYTES + 1),
    1 << 8 * (MOST_BYTES + 1), ["x" * (MOST_BYTES // 2 + 1)] * 2, {Key("a"): 1, Key("a"): 2}, [{"a": object()}],
    threading.Lock(), {"a": 1, 1: "a"}, (number for number in (1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("payload", NEITHER, ids=lambda payload: type(payload).__name__)
def test_what_has_no_canonical_form_or_is_too_much_has_no_digest(payload: Any) -> None:
    assert payload_digest(payload) is None


def test_as_much_as_is_looked_at_has_a_digest() -> None:
    assert payload_digest(_deep(DEEPEST)) is not None
    assert payload_digest([None] * (MOST_VALUES - 1)) is not None
    assert payload_digest("x" * MOST_BYTES) is not None


def test_a_payload_is_read_as_what_it_is_and_not_as_its_class_pretends() -> None:
    assert payload_digest(Surprise(a=1)) == payload_digest({"a": 1})
    assert payload_digest({Key("a"): 1}) == payload_digest({"a": 1})


def test_a_payload_that_changes_later_keeps_the_digest_of_its_time() -> None:
    payload = {"a": 1}
    before = payload_digest(payload)
    payload["a"] = 2
    assert before == payload_digest({"a": 1}) != payload_digest(payload)


def test_the_parts_of_a_stream_have_one_digest() -> None:
    def digest(*parts: Any) -> str | None:
        made = PayloadDigest()
        for part in parts:
            made.add(part)
        return made.value()

    assert digest("ab", "c") == digest("ab", "c") != digest("a", "bc")
    assert digest() != digest("") != digest("", "")
    assert digest("a", object(), "b") is None


def test_equality_is_proven_by_two_digests_and_by_nothing_less() -> None:
    assert equivalence_of("x", "x") is Equivalence.BIT_FOR_BIT
    assert equivalence_of("x", "y") is Equivalence.DIFFERENT
    assert {equivalence_of(None, "x"), equivalence_of("x", None), equivalence_of(None, None)} == {Equivalence.UNPROVEN}
