"""Sample records, for tests of whoever reads or writes the contract: `sample("window", attempts=7)`.

Every field is set, every list and map has one entry, and the models accept all of it.
"""

from typing import Any

from unmask.schemas.history import PublishedSchema, latest, published
from unmask.schemas.verdict_digest import seal

__all__ = ["SAMPLE_INSTANT", "first_sample", "sample"]

SAMPLE_INSTANT = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z in microseconds."""

_TEXTS = {
    "event_type": "kernel_fallback.v1",
    "route_expected": "kernel",
    "runtime_route": "legacy",
    "masked_upstream_signature": "HTTP_503",
    "digest": "0" * 64,
    "verdict_digest": "0" * 64,
    "fingerprint": "00" * 8,
    "value": "00" * 64,
    "topic": "unmask.events",
}
_NUMBERS = {"window_seconds": 60, "degraded_operation_ratio": 0.5, "threshold": 0.05}


def sample(record: str, /, **changes: Any) -> dict[str, Any]:
    """A valid value of the record's latest version, as the codec takes it, with the given top-level fields changed.

    A verdict carries its own digest, changed fields included, unless `digest` or `signature` is given.
    """
    return _sample(latest(record), changes)


def first_sample(record: str, /, **changes: Any) -> dict[str, Any]:
    """`sample(record)` of the record's first version: nothing stands in it that a later one added."""
    return _sample(published(record)[0], changes)


def _sample(schema: PublishedSchema, changes: dict[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = _value(schema.source, schema.record, {})
    value.update(changes)
    if schema.record == "verdict" and not changes.keys() & {"digest", "signature"}:
        return seal(value)
    return value


def _value(schema: Any, field: str, named: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return _value(next(branch for branch in schema if branch != "null"), field, named)
    if isinstance(schema, str):
        return _value(named[schema], field, named) if schema in named else _primitive(schema, field)
    match schema["type"]:
        case "record":
            named[schema["name"]] = schema
            return {inner["name"]: _value(inner["type"], inner["name"], named) for inner in schema["fields"]}
        case "enum":
            named[schema["name"]] = schema
            return schema["symbols"][0]
        case "array":
            return [_value(schema["items"], field, named)]
        case "map":
            return {f"{field}_key": _value(schema["values"], field, named)}
        case kind:
            return SAMPLE_INSTANT if schema.get("logicalType") else _primitive(kind, field)


def _primitive(kind: str, field: str) -> Any:
    if kind == "string":
        return _TEXTS.get(field, f"{field}-1")
    if kind == "boolean":
        return False
    return _NUMBERS.get(field, 1)
