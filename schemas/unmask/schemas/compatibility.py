"""Whether a reader's schema can read a writer's, by Avro's rules of schema resolution, and every reason why not.

Stricter than Avro in one point: logical types must be equal, since microseconds read as milliseconds are no error to
Avro and a wrong window to us.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

__all__ = ["LEVELS", "Level", "can_read", "history_breaks"]

# What a reader's type takes beside its own.
_PROMOTED = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "string": {"bytes"},
    "bytes": {"string"},
}
_PRIMITIVES = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
_NO_DEFAULT = object()


class Level(StrEnum):
    """What must hold between the versions of a record."""

    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    """Every version reads all older ones: readers are upgraded first."""
    FULL_TRANSITIVE = "FULL_TRANSITIVE"
    """Every version reads every other one: nobody need be first."""


LEVELS: Mapping[str, Level] = {"verdict": Level.FULL_TRANSITIVE}
"""Records with another level than BACKWARD_TRANSITIVE."""


def can_read(reader: Any, writer: Any) -> list[str]:
    """Why `reader` cannot read what `writer` wrote, each with its place; empty where it can."""
    resolution = _Resolution(_names(reader, ""), _names(writer, ""))
    return list(resolution.compare(reader, writer, "", "", "$"))


def history_breaks(versions: Sequence[Any], level: Level) -> list[str]:
    """Every break of the level in a history of schemas, oldest first; empty where it holds."""
    breaks: list[str] = []
    for newer in range(1, len(versions)):
        for older in range(newer):
            pairs = [(newer, older)] if level is Level.BACKWARD_TRANSITIVE else [(newer, older), (older, newer)]
            for reader, writer in pairs:
                reasons = can_read(versions[reader], versions[writer])
                breaks.extend(f"v{reader + 1} cannot read v{writer + 1}: {reason}" for reason in reasons)
    return breaks


def _full_name(schema: Mapping[str, Any], namespace: str) -> str:
    name = str(schema["name"])
    inside = str(schema.get("namespace", namespace))
    return name if "." in name or not inside else f"{inside}.{name}"


def _namespace_of(full_name: str) -> str:
    return full_name.rpartition(".")[0]


def _names(schema: Any, namespace: str) -> dict[str, Any]:
    """All named types of a schema, by full name."""
    found: dict[str, Any] = {}
    if isinstance(schema, list):
        for branch in schema:
            found |= _names(branch, namespace)
    elif isinstance(schema, dict):
        kind = schema["type"]
        if kind in ("record", "enum", "fixed"):
            full = _full_name(schema, namespace)
            found[full] = {**schema, "name": full}
            namespace = _namespace_of(full)
        for inner in (schema.get("items"), schema.get("values"), kind if isinstance(kind, dict | list) else None):
            if inner is not None:
                found |= _names(inner, namespace)
        for field in schema.get("fields", ()):
            found |= _names(field["type"], namespace)
    return found


class _Resolution:
    """One comparison; remembers the pairs of records it is inside, so that recursive types end."""

    def __init__(self, reader_names: dict[str, Any], writer_names: dict[str, Any]) -> None:
        self._reader_names = reader_names
        self._writer_names = writer_names
        self._inside: set[tuple[str, str]] = set()

    def compare(self, reader: Any, writer: Any, reader_ns: str, writer_ns: str, at: str) -> Iterator[str]:
        reader = _resolved(reader, reader_ns, self._reader_names)
        writer = _resolved(writer, writer_ns, self._writer_names)
        if isinstance(writer, list):
            for branch in writer:
                yield from self.compare(reader, branch, reader_ns, writer_ns, at)
        elif isinstance(reader, list):
            # Any branch will do; a reason is told only where none does.
            tried = [list(self.compare(branch, writer, reader_ns, writer_ns, at)) for branch in reader]
            if all(tried):
                same_kind = [
                    reasons for branch, reasons in zip(reader, tried, strict=True) if self._alike(branch, writer)
                ]
                yield from (
                    same_kind[0] if same_kind else [f"{at}: no branch of the reader's union takes {_kind(writer)}"]
                )
        else:
            yield from self._compare_types(reader, writer, reader_ns, writer_ns, at)

    def _alike(self, branch: Any, writer: Any) -> bool:
        return _kind(_resolved(branch, "", self._reader_names)) == _kind(writer)

    def _compare_types(self, reader: Any, writer: Any, reader_ns: str, writer_ns: str, at: str) -> Iterator[str]:
        wanted, given = _kind(reader), _kind(writer)
        if wanted != given:
            if given not in _PROMOTED.get(wanted, ()):
                yield f"{at}: {given} cannot be read as {wanted}"
            return
        if _logical(reader) != _logical(writer):
            yield f"{at}: logical type {_logical(writer)} is not {_logical(reader)}"
        if wanted == "array":
            yield from self.compare(reader["items"], writer["items"], reader_ns, writer_ns, f"{at}[]")
        elif wanted == "map":
            yield from self.compare(reader["values"], writer["values"], reader_ns, writer_ns, f"{at}{{}}")
        elif wanted in ("record", "enum", "fixed"):
            if not _same_name(reader, writer):
                yield f"{at}: {writer['name']} is not {reader['name']}"
            elif wanted == "record":
                yield from self._compare_records(reader, writer, at)
            elif wanted == "enum":
                yield from _compare_enums(reader, writer, at)
            elif reader["size"] != writer["size"]:
                yield f"{at}: fixed of {writer['size']} bytes is not {reader['size']}"

    def _compare_records(self, reader: Any, writer: Any, at: str) -> Iterator[str]:
        pair = (reader["name"], writer["name"])
        if pair in self._inside:
            return
        self._inside.add(pair)
        written = {field["name"]: field for field in writer["fields"]}
        for field in reader["fields"]:
            names = [field["name"], *field.get("aliases", ())]
            source = next((written[name] for name in names if name in written), None)
            place = f"{at}.{field['name']}"
            if source is not None:
                spaces = (_namespace_of(reader["name"]), _namespace_of(writer["name"]))
                yield from self.compare(field["type"], source["type"], *spaces, place)
            elif field.get("default", _NO_DEFAULT) is _NO_DEFAULT:
                yield f"{place}: the writer lacks it and the reader has no default"
        self._inside.discard(pair)


def _resolved(schema: Any, namespace: str, names: Mapping[str, Any]) -> Any:
    """The schema with a reference replaced by what it names, and named types under their full names."""
    if isinstance(schema, str) and schema not in _PRIMITIVES:
        full = schema if "." in schema or not namespace else f"{namespace}.{schema}"
        return names[full if full in names else schema]
    if isinstance(schema, dict):
        if schema["type"] in ("record", "enum", "fixed"):
            return names[_full_name(schema, namespace)]
        if isinstance(schema["type"], dict | list):
            return _resolved(schema["type"], namespace, names)
    return schema


def _kind(schema: Any) -> str:
    return "union" if isinstance(schema, list) else schema if isinstance(schema, str) else str(schema["type"])


def _logical(schema: Any) -> str | None:
    return schema.get("logicalType") if isinstance(schema, dict) else None


def _same_name(reader: Any, writer: Any) -> bool:
    # Avro compares the last part of the name only; aliases may say that a type was renamed.
    short = writer["name"].rpartition(".")[2]
    known = [reader["name"], *reader.get("aliases", ())]
    return any(name.rpartition(".")[2] == short for name in known)


def _compare_enums(reader: Any, writer: Any, at: str) -> Iterator[str]:
    unknown = [symbol for symbol in writer["symbols"] if symbol not in reader["symbols"]]
    if unknown and "default" not in reader:
        yield f"{at}: symbols {', '.join(unknown)} are unknown and the enum type has no default"
