"""The page's part on records, field by field."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unmask.schemas.describe.markdown import table
from unmask.schemas.history import RECORDS, latest, published

__all__ = ["records"]

# The schema could not use the set's own name, which a record's field has.
_SET_NAMES = {"EvidenceState": "Evidence"}


def records() -> str:
    """Every record and the parts that it is made of."""
    return "\n\n".join(("## Records", *map(_record, RECORDS)))


def _record(record: str) -> str:
    source = latest(record).source
    versions = ", ".join(f"v{schema.version} `{schema.fingerprint.hex()}`" for schema in published(record))
    name = f"`{source['namespace']}.{source['name']}`; versions and fingerprints: {versions}."
    sections = [f"### {record}", source["doc"], name, _fields(source)]
    for part in _parts(source["fields"]):
        sections += [f"**{part['name']}**: {part['doc']}", _fields(part)]
    return "\n\n".join(sections)


def _fields(schema: Mapping[str, Any]) -> str:
    rows = [(f"`{field['name']}`", _type(field["type"]), field["doc"]) for field in schema["fields"]]
    return table(("field", "type", "meaning"), rows)


def _type(schema: Any) -> str:
    if isinstance(schema, list):
        return f"{_type(next(branch for branch in schema if branch != 'null'))}, or null"
    if isinstance(schema, str):
        return schema
    match schema["type"]:
        case "array":
            return f"list of {_type(schema['items'])}"
        case "map":
            return f"map of {_type(schema['values'])}"
        case "record":
            return str(schema["name"])
        case "enum":
            return f"{_SET_NAMES.get(schema['name'], schema['name'])} (code)"
        case kind:
            return "instant" if schema.get("logicalType") == "timestamp-micros" else str(kind)


def _parts(fields: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The records inside a record, outermost first."""
    for field in fields:
        yield from _records_in(field["type"])


def _records_in(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, list):
        for branch in schema:
            yield from _records_in(branch)
    elif isinstance(schema, dict):
        if schema["type"] == "record":
            yield schema
            yield from _parts(schema["fields"])
        else:
            yield from _records_in(schema.get("items", schema.get("values")))
