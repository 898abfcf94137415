"""The published schemas: every version of every record, from the committed .avsc files.

The files are the contract. Record `name`'s versions are avsc/<name>/v1.avsc, v2.avsc, ...; all are read, and a value
is written in the oldest that carries it (see growth). UNMASK_EXTRA_SCHEMAS may name a folder of the same shape with
later versions than this installation has: they are read too, so that an old reader can be taught a new writer's schema
without an upgrade.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from fastavro import parse_schema
from fastavro.schema import fingerprint, to_parsing_canonical_form

from unmask.schemas.compatibility import can_read
from unmask.schemas.errors import IncompatibleSchema

__all__ = ["RECORDS", "PublishedSchema", "foreign", "latest", "published", "readable", "without_logical_types"]

RECORDS = (
    "event_batch",
    "fallback",
    "tally",
    "evidence_flaw",
    "evidence_mark",
    "session_tally",
    "window",
    "verdict",
    "alert",
    "quarantine",
    "admission",
    "parity",
    "effect_request",
    "effect_decision",
)
_EXTRA = "UNMASK_EXTRA_SCHEMAS"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedSchema:
    """One version of one record; loaded once, and equal to itself alone."""

    record: str
    version: int
    """1, 2, 3 ...; 0 where only a registry knows it."""
    source: dict[str, Any]
    """The .avsc file as it stands."""
    unparsed: Any
    """The source without logical types."""
    plain: Any
    """Parsed, without logical types: the same bytes, with integers where the file says timestamps."""
    fingerprint: bytes
    """CRC-64-AVRO of the parsing canonical form, 8 bytes, little-endian as in single-object headers."""


def without_logical_types(schema: Any) -> Any:
    """The schema with plain types: the bytes are equal, and decoding a long is 3 µs cheaper than a timestamp."""
    if isinstance(schema, dict):
        if set(schema) == {"type", "logicalType"}:
            return schema["type"]
        return {key: without_logical_types(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [without_logical_types(value) for value in schema]
    return schema


def _load(record: str, version: int, source: dict[str, Any]) -> PublishedSchema:
    plain = without_logical_types(source)
    crc = fingerprint(to_parsing_canonical_form(parse_schema(source)), "CRC-64-AVRO")
    return PublishedSchema(record, version, source, plain, parse_schema(plain), bytes.fromhex(crc))


def _load_folder(record: str, folder: Traversable) -> dict[int, PublishedSchema]:
    files = {int(entry.name[1:-5]): entry for entry in folder.iterdir() if entry.name.endswith(".avsc")}
    return {version: _load(record, version, json.loads(files[version].read_text("utf-8"))) for version in sorted(files)}


@cache
def published(record: str) -> tuple[PublishedSchema, ...]:
    """All versions of a record, oldest first. Raises KeyError for a name that is not in RECORDS."""
    if record not in RECORDS:
        raise KeyError(record)
    return tuple(_load_folder(record, resources.files("unmask.schemas").joinpath("avsc", record)).values())


def latest(record: str) -> PublishedSchema:
    """The newest version: what every value is read as. It is written in the oldest that carries it: see growth."""
    return published(record)[-1]


@cache
def readable(record: str) -> tuple[PublishedSchema, ...]:
    """The published versions and those that UNMASK_EXTRA_SCHEMAS adds. Raises IncompatibleSchema."""
    known = published(record)
    extra = os.environ.get(_EXTRA)
    folder = Path(extra, record) if extra else None
    if folder is None or not folder.is_dir():
        return known
    added = _load_folder(record, folder)
    return known + tuple(_checked(schema) for schema in added.values() if schema.version > known[-1].version)


def foreign(record: str, source: Mapping[str, Any]) -> PublishedSchema:
    """A writer's schema that was handed over by a registry. Raises IncompatibleSchema where it cannot be read here."""
    schema = _checked(_load(record, 0, dict(source)))
    # Mostly one of our own, of which the bytes are read without being resolved.
    return next((known for known in published(record) if known.fingerprint == schema.fingerprint), schema)


def _checked(schema: PublishedSchema) -> PublishedSchema:
    reasons = can_read(latest(schema.record).source, schema.source)
    if reasons:
        raise IncompatibleSchema(schema.record, reasons)
    return schema
