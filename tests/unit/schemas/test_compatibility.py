"""The checker follows Avro's rules of resolution, in both directions of every pair, and names every reason."""

import re
from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from unmask.schemas.compatibility import Level, can_read, history_breaks


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def enum(*symbols: str, name: str = "E", **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


A = field("a", "long")
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
NODE = record(field("next", ["null", "Node"]), A, name="Node")

READABLE: list[tuple[str, Any, Any, Any]] = [
    ("the same", record(A), record(A), {"a": 1}),
    ("reader has a new field with a default", record(A, field("b", "string", default="")), record(A), {"a": 1}),
    ("reader has a new optional field", record(A, field("b", ["null", "string"], default=None)), record(A), {"a": 1}),
    ("writer has a field more", record(A), record(A, field("b", "string")), {"a": 1, "b": "x"}),
    ("fields in another order", record(A, field("b", "int")), record(field("b", "int"), A), {"a": 1, "b": 2}),
    ("int as long", record(A), record(field("a", "int")), {"a": 1}),
    ("int as double", "double", "int", 1),
    ("long as float", "float", "long", 1),
    ("float as double", "double", "float", 1.0),
    ("string as bytes", "bytes", "string", "x"),
    ("bytes as string", "string", "bytes", b"x"),
    ("value as optional value", ["null", "long"], "long", 1),
    ("value as optional wider value", ["null", "long"], "int", 1),
    ("union as wider union", ["null", "long", "string"], ["null", "long"], 1),
    ("single branch of a union", "long", ["long"], 1),
    ("enum with a symbol less", enum("A", "B"), enum("A"), "A"),
    ("enum with a symbol more and a type default", enum("A", default="A"), enum("A", "B"), "B"),
    ("array", array("long"), array("int"), [1]),
    ("map", {"type": "map", "values": "long"}, {"type": "map", "values": "int"}, {"x": 1}),
    ("fixed", {"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 2}, b"ab"),
    ("renamed field with an alias", record(field("b", "long", aliases=["a"])), record(A), {"a": 1}),
    ("renamed record with an alias", record(A, name="S", aliases=["R"]), record(A), {"a": 1}),
    ("recursive", NODE, NODE, {"next": {"next": None, "a": 1}, "a": 2}),
    ("instants", MICROS, MICROS, 5),
]

UNREADABLE: list[tuple[str, Any, Any, str]] = [
    ("reader has a new field without a default", record(A, field("b", "string")), record(A), r"\$\.b: .*no default"),
    ("long as int", record(field("a", "int")), record(A), r"\$\.a: long cannot be read as int"),
    ("double as long", "long", "double", "double cannot"),
    ("string as long", "long", "string", "string cannot"),
    ("optional value as value", "long", ["null", "long"], "null cannot"),
    ("wider union as union", ["null", "long"], ["null", "long", "string"], "no branch"),
    ("enum with a symbol more and no default", enum("A"), enum("A", "B"), "B are unknown"),
    ("a default on the field does not help", record(field("e", enum("A"), default="A")),
     record(field("e", enum("A", "B"), default="A")), r"\$\.e: symbols B are unknown"),
    ("enum of another name", enum("A", name="X"), enum("A"), "E is not X"),
    ("record of another name", record(A, name="X"), record(A), "R is not X"),
    ("array of another kind", array("int"), array("string"), r"\$\[\]"),
    ("map of another kind", {"type": "map", "values": "int"}, {"type": "map", "values": "string"}, r"\$\{\}"),
    ("array as map", {"type": "map", "values": "int"}, array("int"), "array cannot be read as map"),
    ("fixed of another size", {"type": "fixed", "name": "F", "size": 2},
     {"type": "fixed", "name": "F", "size": 3}, "fixed of 3 bytes is not 2"),
    ("deep inside an optional record", record(field("r", ["null", record(field("x", "int"), name="S")])),
     record(field("r", ["null", record(field("x", "string"), name="S")])), r"\$\.r\.x"),
    ("through a reference by name", record(field("p", enum("A")), field("q", "E")),
     record(field("p", enum("A", "B")), field("q", "E")), r"\$\.q"),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "writer", "value"), [row[1:] for row in READABLE], ids=[row[0] for row in READABLE])
def test_what_is_called_readable_is_read_by_the_library(reader: Any, writer: Any, value: Any) -> None:
    assert can_read(reader, writer) == []
    out = BytesIO()
    schemaless_writer(out, parse_schema(writer), value)
    out.seek(0)
    schemaless_reader(out, parse_schema(writer), parse_schema(reader))


@pytest.mark.parametrize(
    ("reader", "writer", "reason"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)
def test_what_cannot_be_read_is_named_with_its_place(reader: Any, writer: Any, reason: str) -> None:
    reasons = can_read(reader, writer)
    assert any(re.search(reason, found) for found in reasons), reasons


def test_microseconds_are_not_read_as_milliseconds() -> None:
    assert can_read(record(field("t", MILLIS)), record(field("t", MICROS))) == [
        "$.t: logical type timestamp-micros is not timestamp-millis"
    ]
    assert can_read(record(field("t", "long")), record(field("t", MICROS))) != []


def test_names_are_compared_without_their_namespace_and_found_within_it() -> None:
    inner = enum("A")
    old = record(field("p", inner), field("q", "E"), namespace="one.v1")
    new = record(field("p", inner), field("q", "one.v2.E"), namespace="one.v2")
    assert can_read(new, old) == []


def test_all_reasons_are_told_not_only_the_first() -> None:
    reader = record(field("a", "int"), field("b", "string"))
    assert len(can_read(reader, record(A))) == 2


def test_backward_asks_new_readers_only_and_full_asks_all() -> None:
    old = record(field("e", enum("A")))
    new = record(field("e", enum("A", "B")))
    assert history_breaks([old, new], Level.BACKWARD_TRANSITIVE) == []
    assert history_breaks([old, new], Level.FULL_TRANSITIVE) == [
        "v1 cannot read v2: $.e: symbols B are unknown and the enum type has no default"
    ]


def test_transitive_means_all_older_versions_not_only_the_one_before() -> None:
    first = record(A)
    second = record(field("a", "long"), field("b", "string", default=""))
    third = record(field("a", "long"), field("b", "string"))
    assert history_breaks([second, third], Level.BACKWARD_TRANSITIVE) == []
    assert history_breaks([first, second, third], Level.BACKWARD_TRANSITIVE) == [
        "v3 cannot read v1: $.b: the writer lacks it and the reader has no default"
    ]
