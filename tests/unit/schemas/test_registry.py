"""The registry's framing, against a server that speaks the registry's REST interface."""

import copy
import json
import socket
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from unmask.schemas.codec import encode
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError, EncodeError, RegistryUnavailable
from unmask.schemas.history import _load, latest
from unmask.schemas.registry import RegistryFraming, registry_client
from unmask.schemas.testing import sample


class Registry(ThreadingHTTPServer):
    """Registers schemas, gives them by id, and fails on request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.schemas: list[str] = []
        self.subjects: list[str] = []
        self.requests: list[str] = []
        self.failures: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, schema: str) -> int:
        if schema not in self.schemas:
            self.schemas.append(schema)
        return self.schemas.index(schema) + 1


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def _failed(self) -> bool:
        self.server.requests.append(f"{self.command} {self.path}")
        failure = self.server.failures.pop(0) if self.server.failures else None
        if failure == "reset":
            # A reset instead of an orderly end, as when a proxy loses its peer.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            self.wfile = open("/dev/null", "wb")  # noqa: SIM115
        elif failure == "garbage":
            self._answer(200, raw=b"<html>")
        elif failure is not None:
            self._answer(int(failure), {"error_code": int(failure), "message": "no"})
        return failure is not None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self._failed():
            return
        subject = self.path.removeprefix("/subjects/").split("/versions")[0]
        self.server.subjects.append(subject)
        self._answer(200, {"id": self.server.add(body["schema"])})

    def do_GET(self) -> None:
        if self._failed():
            return
        schema_id = int(self.path.removeprefix("/schemas/ids/").split("?")[0])
        if not 1 <= schema_id <= len(self.server.schemas):
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})
            return
        self._answer(200, {"schema": self.server.schemas[schema_id - 1]})

    def _answer(self, status: int, body: object = None, raw: bytes | None = None) -> None:
        data = json.dumps(body).encode() if raw is None else raw
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def framing(registry: Registry) -> RegistryFraming:
    return RegistryFraming(registry_client(registry.url))


def another(registry: Registry) -> RegistryFraming:
    """A reader of its own, which has asked nothing yet."""
    return RegistryFraming(registry_client(registry.url))


def test_a_value_carries_the_id_of_its_schema_and_is_read_by_another(registry: Registry) -> None:
    registry.add('"string"')
    data = RegistryFraming(registry_client(registry.url)).encode("alert", sample("alert"))
    assert data[:5] == b"\x00\x00\x00\x00\x02"
    assert data[5:] == encode("alert", sample("alert"))[10:]
    assert registry.subjects == ["unmask.v1.Alert"]
    assert another(registry).decode_any(("window", "alert"), data) == ("alert", sample("alert"))


def test_the_registry_is_asked_once_for_each_schema(registry: Registry, framing: RegistryFraming) -> None:
    values = [framing.encode("alert", sample("alert", revision=n)) for n in range(5)]
    reader = another(registry)
    for data in values:
        reader.decode_any(("alert",), data)
    assert [request.split(" ")[0] for request in registry.requests] == ["POST", "GET"]


@pytest.mark.parametrize("failure", ["reset", "500", "503", "401", "garbage"])
def test_a_failed_call_is_retried_with_the_same_record_and_nothing_is_lost(
    registry: Registry, framing: RegistryFraming, failure: str
) -> None:
    """Case C02."""
    data = framing.encode("alert", sample("alert"))
    reader = another(registry)
    registry.failures = [failure]
    with pytest.raises(RegistryUnavailable, match="the record itself is not at fault"):
        reader.decode_any(("alert",), data)
    assert reader.decode_any(("alert",), data) == ("alert", sample("alert"))


def test_a_failed_registration_is_retried_too(registry: Registry, framing: RegistryFraming) -> None:
    registry.failures = ["reset", "404"]
    for _ in range(2):
        with pytest.raises(RegistryUnavailable, match=r"register unmask\.v1\.Alert"):
            framing.encode("alert", sample("alert"))
    assert framing.encode("alert", sample("alert"))[:1] == b"\x00"


def test_a_registry_that_is_not_there_is_unavailable() -> None:
    framing = RegistryFraming(registry_client("http://127.0.0.1:9"))
    with pytest.raises(RegistryUnavailable, match="SCHEMA_REGISTRY_URL"):
        framing.decode_any(("alert",), b"\x00\x00\x00\x00\x01abc")


def test_an_old_reader_reads_a_new_writers_value(registry: Registry, framing: RegistryFraming) -> None:
    """Case C04: what a later version adds is resolved away."""
    source = copy.deepcopy(latest("alert").source)
    source["fields"].append({"name": "added", "type": "string", "default": ""})
    kinds = next(f for f in source["fields"] if f["name"] == "kind")["type"]["symbols"]
    kinds.insert(0, "NEW_KIND")
    data = b"\x00" + registry.add(json.dumps(source)).to_bytes(4, "big") + body(source, kind="NEW_KIND", added="x")
    assert framing.decode_any(("alert",), data) == ("alert", sample("alert", kind="UNKNOWN_ALERT"))


def body(source: dict[str, Any], **changes: Any) -> bytes:
    from io import BytesIO

    from fastavro import schemaless_writer

    out = BytesIO()
    schemaless_writer(out, _load("alert", 0, source).plain, sample("alert", **changes), strict=True)
    return out.getvalue()


def unreadable(framing: RegistryFraming, data: bytes) -> DecodeError:
    with pytest.raises(DecodeError) as refused:
        framing.decode_any(("alert",), data)
    return refused.value


def test_an_id_that_the_registry_does_not_have_is_the_records_fault(framing: RegistryFraming) -> None:
    error = unreadable(framing, b"\x00\x00\x00\x00\x63abc")
    assert error.reason is QuarantineReason.UNKNOWN_FINGERPRINT
    assert error.fingerprint == "00000063"


@pytest.mark.parametrize("schema", ['"string"', "{", '{"type":"record","name":"Other","fields":[]}', "[]", "null"])
def test_somebody_elses_schema_is_the_records_fault(registry: Registry, framing: RegistryFraming, schema: str) -> None:
    data = b"\x00" + registry.add(schema).to_bytes(4, "big") + b"abc"
    assert unreadable(framing, data).reason is QuarantineReason.UNKNOWN_FINGERPRINT


def test_a_schema_that_cannot_be_resolved_is_told_with_the_reason(registry: Registry, framing: RegistryFraming) -> None:
    source = copy.deepcopy(latest("alert").source)
    source["fields"] = [f for f in source["fields"] if f["name"] != "kind"]
    data = b"\x00" + registry.add(json.dumps(source)).to_bytes(4, "big") + b"abc"
    assert "kind" in str(unreadable(framing, data))


def test_a_record_of_another_topic_is_refused(framing: RegistryFraming) -> None:
    data = framing.encode("window", sample("window"))
    assert unreadable(framing, data).reason is QuarantineReason.UNKNOWN_FINGERPRINT


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: data[:3], QuarantineReason.BAD_MAGIC),
        (lambda data: data[:5], QuarantineReason.TRUNCATED),
        (lambda data: data[:-1], QuarantineReason.TRUNCATED),
        (lambda data: data + b"12345", QuarantineReason.TRAILING_BYTES),
        (lambda _: b"", QuarantineReason.EMPTY_VALUE),
        (lambda _: b"{}", QuarantineReason.BAD_MAGIC),
    ],
)
def test_bad_bytes_are_refused_as_without_a_registry(
    framing: RegistryFraming, spoil: Any, reason: QuarantineReason
) -> None:
    assert unreadable(framing, spoil(framing.encode("alert", sample("alert")))).reason is reason


def test_values_from_before_the_registry_are_still_read(registry: Registry, framing: RegistryFraming) -> None:
    assert framing.decode_any(("alert",), encode("alert", sample("alert"))) == ("alert", sample("alert"))
    assert registry.requests == []


def test_a_bad_value_is_refused_as_without_a_registry(framing: RegistryFraming) -> None:
    with pytest.raises(EncodeError, match="extra"):
        framing.encode("alert", sample("alert", extra=1))
