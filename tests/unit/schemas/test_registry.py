"""The registry's framing, against a server that speaks the registry's REST interface."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.schema_registry import Registry, running_registry

from unmask.schemas.codec import encode
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError, EncodeError, RegistryUnavailable
from unmask.schemas.history import _load, foreign, latest, published
from unmask.schemas.registry import RegistryFraming, registry_client
from unmask.schemas.testing import first_sample, sample


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as server:
        yield server


@pytest.fixture
def framing(registry: Registry) -> RegistryFraming:
    return RegistryFraming(registry_client(registry.url))


def another(registry: Registry) -> RegistryFraming:
    """A reader of its own, which has asked nothing yet."""
    return RegistryFraming(registry_client(registry.url))


def test_a_value_carries_the_id_of_its_schema_and_is_read_by_another(registry: Registry) -> None:
    registry.add('"string"')
    data = RegistryFraming(registry_client(registry.url)).encode("quarantine", sample("quarantine"))
    assert data[:5] == b"\x00\x00\x00\x00\x02"
    assert data[5:] == encode("quarantine", sample("quarantine"))[10:]
    assert registry.subjects == ["unmask.v1.Quarantined"]
    assert another(registry).decode_any(("alert", "quarantine"), data) == ("quarantine", sample("quarantine"))


def test_a_value_carries_the_id_of_the_oldest_version_that_carries_it(
    registry: Registry, framing: RegistryFraming
) -> None:
    registry.add('"string"')
    first, second = framing.encode("alert", first_sample("alert")), framing.encode("alert", sample("alert"))
    assert [first[:5], second[:5]] == [b"\x00\x00\x00\x00\x02", b"\x00\x00\x00\x00\x03"]
    assert first[5:] == encode("alert", first_sample("alert"))[10:]
    assert second[5:] == encode("alert", sample("alert"))[10:]
    reader = another(registry)
    assert reader.decode_any(("alert",), first) == ("alert", first_sample("alert", delegation_id=None))
    assert reader.decode_any(("alert",), second) == ("alert", sample("alert"))


def test_all_versions_are_registered_at_the_first_value_oldest_first(
    registry: Registry, framing: RegistryFraming
) -> None:
    """No later value that needs another version can find the registry away."""
    framing.encode("alert", first_sample("alert"))
    fingerprints = [foreign("alert", json.loads(schema)).fingerprint for schema in registry.schemas]
    assert fingerprints == [schema.fingerprint for schema in published("alert")]
    registry.failures = ["reset"] * 10
    framing.encode("alert", sample("alert"))


def test_the_registry_is_asked_once_for_each_schema(registry: Registry, framing: RegistryFraming) -> None:
    values = [framing.encode("alert", sample("alert", revision=n)) for n in range(5)]
    values += [framing.encode("alert", first_sample("alert", revision=n)) for n in range(5)]
    reader = another(registry)
    for data in values:
        reader.decode_any(("alert",), data)
    assert [request.split(" ")[0] for request in registry.requests] == ["POST", "POST", "GET", "GET"]


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
