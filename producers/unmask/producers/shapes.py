"""The shape of a payload: field paths and types, no values. Its fingerprint tells when a substitute's is simpler.

A path is written `$.prices[].currency`. Items of an array are merged: their order and number do not matter, what
kinds there are does. Integers and other numbers are both `number`. Names that look like data and not like a field (an
address, a key with digits, one of very many) are merged under `*`, so that no value gets into a shape by that way.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

__all__ = ["DEEPEST", "MOST_FIELDS", "MOST_ITEMS", "MOST_VALUES", "PayloadShape", "payload_shape", "shape_of"]

DEEPEST = 12
"""Levels of nesting that are told apart; what is deeper is `deeper`."""
MOST_VALUES = 2_000
"""Values of one payload that are looked at; with more it has no shape."""
MOST_ITEMS = 100
"""Items of one array that are looked at, from its beginning."""
MOST_FIELDS = 64
"""Fields of one object; one with more maps data to data."""

# Letters of any script, few digits: `prix_total`, `@type`, `address2`. A dot, a space or an @ inside is data.
_LONGEST_FIELD = 64
_REMEMBERED = 1_024
_NESTED = ("object", "array")
_KINDS: dict[type, str] = {
    type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", bytes: "bytes",
    dict: "object", list: "array", tuple: "array",
}  # fmt: skip
_FIELD = re.compile(r"(?=(?:\D*\d){0,4}\D*\Z)(?:[^\W\d]|[_$@])[\w$:\-]*")

_known_fields: set[str] = set()


def payload_shape(payload: object) -> str | None:
    """The fingerprint of a payload's shape, a token; None where it has no shape. Never raises an Exception.

    No shape have: a payload whose own type is none of JSON's (nor bytes), and one with more than is looked at.
    """
    shape = PayloadShape()
    shape.add(payload)
    return shape.fingerprint()


def shape_of(payload: object) -> tuple[str, ...] | None:
    """The shape itself, for people: sorted lines of a path and a type. None where it has no shape."""
    shape = PayloadShape()
    shape.add(payload)
    return shape.lines()


class PayloadShape:
    """The shape of one payload, or of several merged: the parts of a stream, of which only the first ones count."""

    __slots__ = ("_found", "_parts", "_sound", "_values")

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._values = MOST_VALUES
        self._parts = MOST_ITEMS
        self._sound = True

    def add(self, payload: object) -> None:
        """Take up a payload. Never raises an Exception."""
        if not self._sound or not self._parts:
            return
        self._parts -= 1
        try:
            kind = _kind(payload)
            self._sound = kind != "other"
            self._visit("$", kind, payload, DEEPEST)
        except Exception:
            # More than is looked at, changed by another thread meanwhile, or of a class that does not behave.
            self._sound = False

    def lines(self) -> tuple[str, ...] | None:
        """Sorted lines of a path and a type; None where there is no shape."""
        return tuple(sorted(self._found)) if self._sound and self._found else None

    def fingerprint(self) -> str | None:
        """A token that is the same for the same lines; None where there is no shape."""
        lines = self.lines()
        if lines is None:
            return None
        return "shape1-" + hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _visit(self, path: str, kind: str, value: Any, depth: int) -> None:
        self._found.add(f"{path} {kind if depth or kind not in _NESTED else 'deeper'}")
        if kind not in _NESTED or not depth:
            return
        for step, item in _inside(value):
            self._values -= 1
            if self._values < 0:
                raise OverflowError
            inner = _KINDS.get(type(item)) or _kind(item)
            if inner in _NESTED:
                self._visit(path + step, inner, item, depth - 1)
            else:
                self._found.add(f"{path}{step} {inner}")


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        few = dict.__len__(value) <= MOST_FIELDS
        return ((_step(name) if few else ".*", item) for name, item in dict.items(value))
    items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
    return (("[]", item) for item in islice(items, MOST_ITEMS))


def _step(name: object) -> str:
    if not isinstance(name, str):
        return ".*"
    text = str.__str__(name)
    if text in _known_fields:
        return f".{text}"
    if len(text) > _LONGEST_FIELD or not _FIELD.fullmatch(text):
        return ".*"
    # Only what is a field's name is remembered: data that serves as a name is not to pile up.
    if len(_known_fields) < _REMEMBERED:
        _known_fields.add(text)
    return f".{text}"


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list | tuple) else "other"
