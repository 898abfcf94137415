"""Numbers as the schema means them, checked before encoding, since the encoder is generous with them.

It would cut 1.5 down to 1, take True for 1, write an int of 40 bits that other readers refuse, and let a NaN through.
A schema becomes one function, built once; parts without numbers are not looked at.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["NumberCheck", "number_check"]

NumberCheck = Callable[[Any], str | None]
"""Given a value, the path of the first wrong number in it, or None. The value itself is not told."""

_RANGES = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
_INT_ONLY = {int}


def number_check(schema: Any) -> NumberCheck | None:
    """The check of a schema without logical types; None where it holds no number at all."""
    return _build(schema, {})


def _build(schema: Any, named: dict[str, NumberCheck | None]) -> NumberCheck | None:
    if isinstance(schema, list):
        return _union(schema, named)
    if isinstance(schema, str):
        return named[schema] if schema in named else _primitive(schema)
    kind = schema["type"]
    if kind == "record":
        check = _record(schema, named)
        named[schema["name"]] = check
        return check
    if kind == "array":
        return _array(schema["items"], named)
    if kind == "map":
        return _map(schema["values"], named)
    return _build(kind, named) if isinstance(kind, dict | list) else _primitive(kind)


def _primitive(name: str) -> NumberCheck | None:
    if name in _RANGES:
        low, high = _RANGES[name]
        return lambda value: None if type(value) is int and low <= value <= high else ""
    if name in ("double", "float"):
        return lambda value: None if type(value) in (float, int) and math.isfinite(value) else ""
    return None


def _union(branches: list[Any], named: dict[str, NumberCheck | None]) -> NumberCheck | None:
    # The contract's unions are all optional values: null and one other.
    checks = [check for branch in branches if (check := _build(branch, named)) is not None]
    if not checks:
        return None
    check = checks[0]
    return lambda value: None if value is None else check(value)


def _record(schema: dict[str, Any], named: dict[str, NumberCheck | None]) -> NumberCheck | None:
    checks = [(f["name"], check) for f in schema["fields"] if (check := _build(f["type"], named)) is not None]
    if not checks:
        return None

    def check_record(value: Any) -> str | None:
        for name, check in checks:
            # A missing field is the encoder's to refuse.
            if name in value and (wrong := check(value[name])) is not None:
                return f"{name}.{wrong}" if wrong else name
        return None

    return check_record


def _array(items: Any, named: dict[str, NumberCheck | None]) -> NumberCheck | None:
    check = _build(items, named)
    if check is None:
        return None
    if isinstance(items, str) and items in _RANGES:
        low, high = _RANGES[items]

        def check_column(values: Any) -> str | None:
            # Columns of instants are long; two passes in C are cheaper than a call for each item.
            if not values:
                return None
            whole = set(map(type, values)) == _INT_ONLY and low <= min(values) and max(values) <= high
            return None if whole else ""

        return check_column
    return lambda values: _first_wrong(check, values)


def _map(values: Any, named: dict[str, NumberCheck | None]) -> NumberCheck | None:
    check = _build(values, named)
    return None if check is None else lambda entries: _first_wrong(check, entries.values())


def _first_wrong(check: NumberCheck, values: Iterable[Any]) -> str | None:
    for value in values:
        wrong = check(value)
        if wrong is not None:
            return wrong
    return None
