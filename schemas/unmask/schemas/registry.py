"""The schema registry's framing: 00, the schema's id in four bytes, the body.

Subjects are the records' full names (`unmask.v1.Tally`), since one topic may carry several records. A writer's schema
that this installation does not know is fetched by its id and resolved, so that an old reader reads a new writer.
"""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError

from unmask.schemas import codec
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError, IncompatibleSchema, RegistryUnavailable
from unmask.schemas.history import RECORDS, PublishedSchema, foreign, latest, published

__all__ = ["RegistryFraming", "registry_client"]

_MAGIC = 0
_HEADER_LENGTH = 5
_NOT_FOUND = 404
_DEFAULTS: dict[str, Any] = {
    # The client's own defaults wait for ever and then again; here the caller decides how long to try.
    "timeout": 5.0,
    "max.retries": 0,
}
_Answer = TypeVar("_Answer")


def registry_client(url: str, **settings: Any) -> SchemaRegistryClient:
    """The registry's client with bounded waits; `settings` are its own, dotted."""
    return SchemaRegistryClient({**_DEFAULTS, **settings, "url": url})


class RegistryFraming:
    """Frames values by schema ids; reads single-object values too, so that a topic can change over."""

    def __init__(self, client: SchemaRegistryClient) -> None:
        self._client = client
        self._headers: dict[str, tuple[bytes, ...]] = {}
        self._schemas: dict[int, PublishedSchema] = {}

    def encode(self, record: str, value: dict[str, Any]) -> bytes:
        """The framed bytes; the first value registers the schemas. Raises EncodeError, RegistryUnavailable."""
        prefixes = self._headers.get(record)
        if prefixes is None:
            # All versions at once, oldest first: no later value that needs another one asks in the middle.
            prefixes = self._headers[record] = tuple(map(self._register, published(record)))
        return codec.framed(record, value, prefixes)

    def decode_any(self, records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
        """Record name and value. Raises DecodeError for bad bytes, RegistryUnavailable to be tried again."""
        if not data or data[0] != _MAGIC:
            return codec.decode_any(records, data)
        if len(data) < _HEADER_LENGTH:
            raise DecodeError(QuarantineReason.BAD_MAGIC, "the registry frame is shorter than its header")
        schema = self._schema(int.from_bytes(data[1:_HEADER_LENGTH], "big"))
        if schema.record not in records:
            raise DecodeError(
                QuarantineReason.UNKNOWN_FINGERPRINT,
                f"a {schema.record} does not belong here",
                schema.fingerprint.hex(),
            )
        return schema.record, codec.decode_body(schema, data, _HEADER_LENGTH)

    def _register(self, published_schema: PublishedSchema) -> bytes:
        source = published_schema.source
        schema = Schema(json.dumps(source), "AVRO")
        subject = _subject(source)
        schema_id = _asked(f"register {subject}", lambda: self._client.register_schema(subject, schema))
        return bytes([_MAGIC]) + int(schema_id).to_bytes(4, "big")

    def _schema(self, schema_id: int) -> PublishedSchema:
        known = self._schemas.get(schema_id)
        if known is None:
            known = self._schemas[schema_id] = self._fetch(schema_id)
        return known

    def _fetch(self, schema_id: int) -> PublishedSchema:
        answer = _asked(
            f"give the schema {schema_id}",
            lambda: self._client.get_schema(schema_id),
            missing=lambda: _unknown(schema_id, "the registry has no such schema"),
        )
        try:
            source = json.loads(answer.schema_str or "")
            record = _RECORD_OF.get(_subject(source))
            if record is not None:
                return foreign(record, source)
        except IncompatibleSchema as error:
            raise _unknown(schema_id, str(error)) from None
        except Exception as error:
            # Somebody else's schema: no Avro, or an Avro that cannot be parsed.
            raise _unknown(schema_id, f"the schema cannot be read ({type(error).__name__})") from None
        raise _unknown(schema_id, "the schema is not one of this contract")


def _subject(source: dict[str, Any]) -> str:
    namespace = source.get("namespace")
    return f"{namespace}.{source['name']}" if namespace else str(source["name"])


_RECORD_OF = {_subject(latest(record).source): record for record in RECORDS}


def _unknown(schema_id: int, detail: str) -> DecodeError:
    fingerprint = schema_id.to_bytes(4, "big").hex()
    return DecodeError(QuarantineReason.UNKNOWN_FINGERPRINT, f"schema id {schema_id}: {detail}", fingerprint)


def _asked(action: str, ask: Callable[[], _Answer], missing: Callable[[], DecodeError] | None = None) -> _Answer:
    """What the registry answers; where it says that there is no such thing, the error that `missing` makes."""
    try:
        return ask()
    except SchemaRegistryError as error:
        if missing is not None and error.http_status_code == _NOT_FOUND:
            raise missing() from None
        cause = f"HTTP {error.http_status_code}, code {error.error_code}"
        raise RegistryUnavailable(action, cause) from error
    except Exception as error:
        # Whatever the HTTP client calls a reset, a timeout, a page that is no JSON: the registry did not answer.
        raise RegistryUnavailable(action, type(error).__name__) from error
