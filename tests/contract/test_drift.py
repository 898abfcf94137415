"""The .avsc files are the contract; the models say the same, field by field."""

import enum
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, get_args, get_origin

import pytest

from unmask.schemas import codes
from unmask.schemas.history import RECORDS, latest
from unmask.schemas.models import MODELS, Record
from unmask.schemas.scope import Scope

# A record's field already has the set's own name.
SET_NAMES = {"EvidenceState": "Evidence"}


def plain(annotation: Any) -> Any:
    """The annotation without constraints."""
    return plain(get_args(annotation)[0]) if get_origin(annotation) is typing.Annotated else annotation


def differences(schema: Any, annotation: Any, named: dict[str, Any], at: str) -> Iterator[str]:
    """In what a model's field is not what the schema says."""
    annotation = plain(annotation)
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    if get_origin(annotation) in (types.UnionType, typing.Union):
        yield from optional(schema, annotation, named, at)
    elif isinstance(schema, list):
        yield f"{at}: may be null in the schema, not in the model"
    elif isinstance(schema, str) or "logicalType" in schema:
        yield from primitive(schema, annotation, at)
    elif schema["type"] == "array":
        kind = get_args(annotation)
        if get_origin(annotation) is tuple and kind[1:] == (...,):
            yield from differences(schema["items"], kind[0], named, f"{at}[]")
        else:
            yield f"{at}: a list is a tuple of one kind in the model"
    elif schema["type"] == "map":
        if get_origin(annotation) is not dict or plain(get_args(annotation)[0]) is not str:
            yield f"{at}: a map is a dict of texts in the model"
        else:
            yield from differences(schema["values"], get_args(annotation)[1], named, f"{at}{{}}")
    elif schema["type"] == "enum":
        named[schema["name"]] = schema
        yield from code_set(schema, annotation, at)
    else:
        named[schema["name"]] = schema
        yield from record(schema, annotation, named, at)


def optional(schema: Any, annotation: Any, named: dict[str, Any], at: str) -> Iterator[str]:
    inner = [kind for kind in get_args(annotation) if kind is not type(None)]
    if not isinstance(schema, list) or schema[0] != "null" or len(schema) != 2 or len(inner) != 1:
        yield f"{at}: may be null in the model, not in the schema"
    else:
        yield from differences(schema[1], inner[0], named, at)


def primitive(schema: Any, annotation: Any, at: str) -> Iterator[str]:
    if isinstance(schema, dict):
        fits = schema["logicalType"] == "timestamp-micros" and annotation is datetime
    elif get_origin(annotation) is Literal:
        fits = schema == "string" and all(isinstance(text, str) for text in get_args(annotation))
    else:
        fits = annotation is {"string": str, "long": int, "int": int, "double": float, "boolean": bool}[schema]
    if not fits:
        yield f"{at}: {schema} is {annotation} in the model"


def code_set(schema: Mapping[str, Any], annotation: Any, at: str) -> Iterator[str]:
    expected = getattr(codes, SET_NAMES.get(schema["name"], schema["name"]))
    if annotation is not expected:
        yield f"{at}: {schema['name']} is {annotation} in the model"
    elif [code.value for code in expected] != schema["symbols"]:
        yield f"{at}: the symbols of {schema['name']} are not its codes in their order"


def record(schema: Mapping[str, Any], annotation: Any, named: dict[str, Any], at: str) -> Iterator[str]:
    if annotation is Scope:
        if [field["name"] for field in schema["fields"]] != list(Scope._fields):
            yield f"{at}: the parts of a scope differ"
        return
    if not (isinstance(annotation, type) and issubclass(annotation, Record)):
        yield f"{at}: {schema['name']} is {annotation} in the model"
        return
    if annotation.__name__ != schema["name"]:
        yield f"{at}: {schema['name']} is called {annotation.__name__}"
    names = [field["name"] for field in schema["fields"]]
    if names != list(annotation.model_fields):
        yield f"{at}: the schema has {names}, the model {list(annotation.model_fields)}"
        return
    hints = typing.get_type_hints(annotation, include_extras=True)
    for field in schema["fields"]:
        place = f"{at}.{field['name']}"
        yield from differences(field["type"], hints[field["name"]], named, place)
        info = annotation.model_fields[field["name"]]
        fixed = get_args(info.annotation)[0] if get_origin(info.annotation) is Literal else None
        default = info.get_default(call_default_factory=True)
        default = list(default) if isinstance(default, tuple) else default
        if "default" in field and (info.is_required() or default != field["default"]):
            yield f"{place}: the schema's default is {field['default']!r}"
        if "default" not in field and not info.is_required() and info.default != fixed:
            yield f"{place}: the schema has no default"


@pytest.mark.parametrize("name", RECORDS)
def test_a_model_has_the_schemas_names_order_types_nulls_defaults_and_symbols(name: str) -> None:
    assert list(differences(latest(name).source, MODELS[name], {}, name)) == []


class Other(Record):
    """Not what any schema says."""

    a: int
    b: str | None = None
    c: tuple[int, ...] = ()


A: dict[str, Any] = {"name": "a", "type": "long"}
B: dict[str, Any] = {"name": "b", "type": ["null", "string"], "default": None}
C: dict[str, Any] = {"name": "c", "type": {"type": "array", "items": "long"}, "default": []}


def drift(*fields: dict[str, Any]) -> list[str]:
    return list(differences({"type": "record", "name": "Other", "fields": list(fields)}, Other, {}, "Other"))


def test_what_has_not_drifted_is_not_complained_of() -> None:
    assert drift(A, B, C) == []


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ((A, B), "the schema has"),
        ((B, A, C), "the schema has"),
        (({**A, "type": "string"}, B, C), "string is"),
        ((A, {"name": "b", "type": "string"}, C), "may be null in the model"),
        (({**A, "type": ["null", "long"]}, B, C), "may be null in the schema"),
        (({**A, "default": 3}, B, C), "default is 3"),
        ((A, B, {"name": "c", "type": C["type"]}), "no default"),
        ((A, B, {**C, "type": {"type": "array", "items": "string"}}), "string is"),
        ((A, B, {**C, "type": {"type": "map", "values": "long"}}), "dict of texts"),
        ((A, {**B, "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]}, C), "timestamp-micros"),
    ],
)
def test_each_kind_of_drift_is_seen(fields: tuple[dict[str, Any], ...], complaint: str) -> None:
    assert any(complaint in difference for difference in drift(*fields))


def test_a_code_that_only_the_model_knows_is_seen() -> None:
    schema = {"type": "enum", "name": "Directive", "symbols": [code.value for code in codes.Directive][:-1]}
    assert list(differences(schema, codes.Directive, {}, "x")) != []
    assert issubclass(codes.Directive, enum.Enum)
