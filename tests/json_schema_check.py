"""Checks a document against a JSON schema, without the code that made either: the keywords that ours uses."""

import re
from typing import Any

__all__ = ["violations"]

_KNOWN = {
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "const", "default", "description", "enum", "items",
    "minimum", "pattern", "properties", "required", "title", "type",
}  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def violations(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, at: str = "$") -> list[str]:
    """Where the value breaks the schema; empty where it keeps it. A keyword that is not known here is one as well."""
    root = schema if root is None else root
    unknown = schema.keys() - _KNOWN
    if unknown:
        return [f"{at}: keywords {sorted(unknown)} are not checked here"]
    if "$ref" in schema:
        return violations(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "anyOf" in schema:
        if any(not violations(value, option, root, at) for option in schema["anyOf"]):
            return []
        return [f"{at}: {value!r} is none of the alternatives"]
    found = []
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{at}: {value!r} is no {kind}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is not one of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{at}: {value!r} is below {schema['minimum']}")
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        found.append(f"{at}: {value!r} does not match")
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            found += violations(item, schema["items"], root, f"{at}[{index}]")
    if isinstance(value, dict):
        found += _properties(value, schema, root, at)
    return found


def _properties(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], at: str) -> list[str]:
    properties = schema.get("properties", {})
    found = [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
    for name, item in value.items():
        if name in properties:
            found += violations(item, properties[name], root, f"{at}.{name}")
        elif isinstance(schema.get("additionalProperties"), dict):
            found += violations(item, schema["additionalProperties"], root, f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            found.append(f"{at}: {name} is too much")
    return found
