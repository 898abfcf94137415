"""Avro single-object encoding: C3 01, the schema's fingerprint, the body. Strict in both directions.

Refused by name: unknown keys, numbers of another kind, NaN and infinities, naive datetimes (instants are integers
here), unknown fingerprints, trailing bytes, truncated bodies, empty values. No error quotes what it was given.
"""

import re
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import Any

from fastavro import schemaless_reader, schemaless_writer

from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError, EncodeError, UnknownFingerprint
from unmask.schemas.growth import Filling, by_fields, carrier, filling
from unmask.schemas.history import PublishedSchema, latest, published, readable
from unmask.schemas.numbers_check import NumberCheck, number_check

__all__ = [
    "HEADER_LENGTH",
    "MAGIC",
    "decode",
    "decode_any",
    "decode_body",
    "encode",
    "framed",
    "header",
    "headers",
]

MAGIC = b"\xc3\x01"
HEADER_LENGTH = 10
_REGISTRY_MAGIC = 0
# The encoder's words quote values; of these only the field's name, which is the schema's or the code's, is told.
_FIELD = re.compile(r"(?:on field|^Field|specifies:) (\w+)")


@cache
def header(record: str) -> bytes:
    """The 10 bytes that open every value of the record's first version."""
    return headers(record)[0]


@cache
def headers(record: str) -> tuple[bytes, ...]:
    """The 10 bytes that open the values of each published version, oldest first."""
    return tuple(MAGIC + schema.fingerprint for schema in published(record))


@cache
def _by_fingerprint(records: tuple[str, ...]) -> dict[bytes, PublishedSchema]:
    return {schema.fingerprint: schema for record in records for schema in readable(record)}


@cache
def _number_check(schema: PublishedSchema) -> NumberCheck | None:
    return number_check(schema.unparsed)


def encode(record: str, value: dict[str, Any]) -> bytes:
    """The bytes of a value, in the oldest version of the record that carries it; instants are microseconds.

    Raises EncodeError where the value has keys that the schema lacks, misses keys, or holds a NaN or a wrong type.
    """
    return framed(record, value, headers(record))


def framed(record: str, value: dict[str, Any], prefixes: Sequence[bytes]) -> bytes:
    """The value's body behind the prefix of the version in which it is written (oldest first). Raises EncodeError."""
    try:
        schema, told = by_fields(record, value)
    except (TypeError, AttributeError) as error:
        raise EncodeError(_complaint(record, error)) from None
    try:
        return _written(schema, told, prefixes[schema.version - 1])
    except EncodeError:
        # The value is wrong, or holds a symbol that a later version added.
        later, told = _carrier(record, value)
        if later is schema:
            raise
        return _written(later, told, prefixes[later.version - 1])


def _carrier(record: str, value: dict[str, Any]) -> tuple[PublishedSchema, dict[str, Any]]:
    try:
        return carrier(record, value)
    except (TypeError, AttributeError, ValueError) as error:
        raise EncodeError(_complaint(record, error)) from None


def _written(schema: PublishedSchema, value: dict[str, Any], prefix: bytes) -> bytes:
    record = schema.record
    out = BytesIO()
    out.write(prefix)
    try:
        schemaless_writer(out, schema.plain, value, strict=True)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        # Without its cause: that would carry the value into logs.
        raise EncodeError(_complaint(record, error)) from None
    check = _number_check(schema)
    if check is not None and (wrong := check(value)) is not None:
        raise EncodeError(
            f"not a {record}: field {wrong or '(top)'} is no number of its type "
            "(a NaN or infinity: leave the ratio out; a fraction, a bool or too many bits: correct it)"
        )
    return out.getvalue()


def decode(record: str, data: bytes | None) -> dict[str, Any]:
    """The value in `data`, as the record's latest version has it. Raises DecodeError."""
    return decode_any((record,), data)[1]


def decode_any(records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
    """Record name and value of `data`, which may be any of `records`. Raises DecodeError."""
    if not data:
        raise DecodeError(QuarantineReason.EMPTY_VALUE, "the value has no bytes")
    if data[:2] != MAGIC or len(data) < HEADER_LENGTH:
        detail = "the value does not begin with a single-object header"
        if data[0] == _REGISTRY_MAGIC:
            detail += "; if it was written through a schema registry, set SCHEMA_REGISTRY_URL here too"
        raise DecodeError(QuarantineReason.BAD_MAGIC, detail)
    schema = _by_fingerprint(records).get(data[2:HEADER_LENGTH])
    if schema is None:
        raise UnknownFingerprint(data[2:HEADER_LENGTH].hex())
    return schema.record, decode_body(schema, data, HEADER_LENGTH)


def decode_body(schema: PublishedSchema, data: bytes, start: int) -> dict[str, Any]:
    """The value whose body begins at `start`, written with `schema`. Raises DecodeError."""
    body = BytesIO(data)
    body.seek(start)
    reader, lacking = _reading(schema)
    fingerprint = schema.fingerprint.hex()
    try:
        value: Any = schemaless_reader(body, schema.plain, reader)
    except EOFError:
        raise DecodeError(QuarantineReason.TRUNCATED, "the body ends early", fingerprint) from None
    except Exception as error:
        # A number that is cut in two ends on a byte that announces another one.
        if isinstance(error, IndexError) and body.tell() == len(data) and data[-1] & 0x80:
            raise DecodeError(QuarantineReason.TRUNCATED, "the body ends inside a number", fingerprint) from None
        # fastavro raises many kinds for bad bytes; whatever it is, the bytes are not of this schema.
        raise DecodeError(QuarantineReason.UNDECODABLE, "the body is not of its schema", fingerprint) from None
    if body.tell() != len(data):
        raise DecodeError(QuarantineReason.TRAILING_BYTES, "bytes follow the body", fingerprint)
    if not isinstance(value, dict):
        raise DecodeError(QuarantineReason.UNDECODABLE, "the body is not a record", fingerprint)
    if lacking is not None:
        lacking.fill(value)
    return value


@cache
def _reading(schema: PublishedSchema) -> tuple[Any, Filling | None]:
    """What a body is resolved to, or what it lacks; neither for one of the newest version.

    Resolving is slow, so that values of our own versions go without; only what came after these is resolved.
    """
    if any(schema is own for own in published(schema.record)):
        return None, filling(schema)
    return latest(schema.record).plain, None


def _complaint(record: str, error: Exception) -> str:
    field = _FIELD.search(str(error))
    where = f"at field {field.group(1)}, " if field else ""
    return f"not a {record}: {where}{type(error).__name__} while encoding; correct the value's keys and types"
