"""Single-object encoding is strict in both directions, and no error tells what it was given."""

import traceback
from datetime import UTC, datetime
from typing import Any

import pytest

from unmask.schemas.codec import HEADER_LENGTH, decode, decode_any, encode, header, headers
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError, EncodeError, UnknownFingerprint
from unmask.schemas.history import RECORDS, published
from unmask.schemas.testing import first_sample, sample

SECRET = "https://example.com/?key=sk-live-secret"


def crc_64_avro(data: bytes) -> int:
    """The fingerprint as the Avro specification writes it down."""
    empty = 0xC15D213AA4D7A795
    table = []
    for n in range(256):
        fp = n
        for _ in range(8):
            fp = (fp >> 1) ^ (empty & -(fp & 1))
        table.append(fp & 0xFFFFFFFFFFFFFFFF)
    fp = empty
    for byte in data:
        fp = (fp >> 8) ^ table[(fp ^ byte) & 0xFF]
    return fp


def reason(records: str | tuple[str, ...], data: bytes | None) -> QuarantineReason:
    with pytest.raises(DecodeError) as refused:
        decode_any((records,) if isinstance(records, str) else records, data)
    return refused.value.reason


@pytest.mark.parametrize("record", RECORDS)
def test_a_value_survives_the_way(record: str) -> None:
    assert decode(record, encode(record, sample(record))) == sample(record)


@pytest.mark.parametrize("record", RECORDS)
def test_the_header_is_the_specifications(record: str) -> None:
    from fastavro.schema import to_parsing_canonical_form

    expected = [
        b"\xc3\x01" + crc_64_avro(to_parsing_canonical_form(schema.source).encode()).to_bytes(8, "little")
        for schema in published(record)
    ]
    assert list(headers(record)) == expected
    assert header(record) == expected[0]


@pytest.mark.parametrize("record", RECORDS)
def test_a_value_that_says_nothing_new_has_the_first_versions_header(record: str) -> None:
    assert encode(record, first_sample(record))[:HEADER_LENGTH] == header(record)


def test_the_specifications_fingerprint_is_computed_right() -> None:
    assert crc_64_avro(b'"int"') == 0x7275D51A3F395C8F


@pytest.mark.parametrize(
    "changes",
    [
        {"extra": 1},
        {"masked_errors": [{**sample("event_batch")["masked_errors"][0], "raw_text": SECRET}]},
        {"emitter": {**sample("event_batch")["emitter"], "host_name": SECRET}},
    ],
)
def test_unknown_keys_are_refused_at_any_depth(changes: dict[str, Any]) -> None:
    with pytest.raises(EncodeError, match="not a event_batch"):
        encode("event_batch", sample("event_batch", **changes))


def test_unknown_keys_are_refused_inside_optional_parts() -> None:
    scope = {**sample("alert")["scope"], "extra": SECRET}
    with pytest.raises(EncodeError):
        encode("alert", sample("alert", scope=scope))


@pytest.mark.parametrize("field", ["size", "key"])
def test_missing_keys_are_refused_also_where_a_reader_would_have_a_default(field: str) -> None:
    value = sample("quarantine")
    del value[field]
    with pytest.raises(EncodeError, match=field):
        encode("quarantine", value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("field", ["degraded_operation_ratio", "threshold"])
def test_nan_and_infinity_are_refused(field: str, bad: float) -> None:
    with pytest.raises(EncodeError, match=field):
        encode("verdict", sample("verdict", signature=None, **{field: bad}))


@pytest.mark.parametrize(
    "instant",
    [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00Z", 1.5, True, None],  # noqa: DTZ001
)
def test_instants_are_integers_and_nothing_that_a_zone_could_shift(instant: object) -> None:
    """Case C06: a naive datetime would be read as local time."""
    with pytest.raises(EncodeError):
        encode("quarantine", sample("quarantine", broker_time=instant))


@pytest.mark.parametrize(
    ("field", "number"),
    [("offset", 1.5), ("offset", True), ("offset", 2**63), ("partition", 2**31), ("partition", -(2**31) - 1)],
)
def test_numbers_are_not_bent_into_shape(field: str, number: object) -> None:
    with pytest.raises(EncodeError):
        encode("quarantine", sample("quarantine", **{field: number}))


def test_a_column_of_instants_is_checked_too() -> None:
    group = {**sample("event_batch")["route_attempts"][0], "occurred_at": [1, 2.5], "run_id": []}
    with pytest.raises(EncodeError, match=r"route_attempts\.occurred_at"):
        encode("event_batch", sample("event_batch", route_attempts=[group]))


@pytest.mark.parametrize("changes", [{"reason": SECRET}, {"size": SECRET}, {"key": {"a": SECRET}}, {SECRET: 1}])
def test_no_refusal_carries_the_value_not_even_in_its_traceback(changes: dict[str, Any]) -> None:
    """Case L01."""
    with pytest.raises(EncodeError) as refused:
        encode("quarantine", {**sample("quarantine"), **changes})
    assert "secret" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("data", [None, b""])
def test_no_bytes_are_an_empty_value(data: bytes | None) -> None:
    assert reason("verdict", data) is QuarantineReason.EMPTY_VALUE


@pytest.mark.parametrize(
    "data", [b"\xc3", b"\xc3\x01", b"\xc3\x01" + bytes(7), b"{}", b"\x00" * 30, b"\xc3\x02" + bytes(30)]
)
def test_what_does_not_begin_with_a_header_has_bad_magic(data: bytes) -> None:
    assert reason("verdict", data) is QuarantineReason.BAD_MAGIC


def test_a_registry_frame_is_told_from_rubbish() -> None:
    with pytest.raises(DecodeError, match="SCHEMA_REGISTRY_URL"):
        decode("verdict", b"\x00\x00\x00\x00\x01abc")


def test_an_unknown_fingerprint_is_named() -> None:
    with pytest.raises(UnknownFingerprint, match="0102030405060708"):
        decode("verdict", b"\xc3\x01\x01\x02\x03\x04\x05\x06\x07\x08body")


def test_a_record_of_another_topic_is_unknown_here() -> None:
    assert reason(("window", "alert"), encode("verdict", sample("verdict"))) is QuarantineReason.UNKNOWN_FINGERPRINT


def test_several_records_may_share_a_topic() -> None:
    for record in ("tally", "evidence_flaw", "evidence_mark"):
        found, value = decode_any(("tally", "evidence_flaw", "evidence_mark"), encode(record, sample(record)))
        assert (found, value) == (record, sample(record))


@pytest.mark.parametrize("record", RECORDS)
def test_every_cut_is_refused_also_inside_a_string(record: str) -> None:
    """Case C05."""
    data = encode(record, sample(record))
    for length in range(HEADER_LENGTH, len(data)):
        assert reason(record, data[:length]) is QuarantineReason.TRUNCATED


def test_a_header_alone_is_truncated() -> None:
    assert reason("verdict", header("verdict")) is QuarantineReason.TRUNCATED


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("extra", [b"\x00", b"12345"])
def test_bytes_after_the_record_are_refused(record: str, extra: bytes) -> None:
    """Case C05."""
    assert reason(record, encode(record, sample(record)) + extra) is QuarantineReason.TRAILING_BYTES


def test_a_body_that_is_not_of_its_schema_is_undecodable() -> None:
    data = bytearray(encode("quarantine", sample("quarantine")))
    data[HEADER_LENGTH + 1] = 0xFF
    assert reason("quarantine", bytes(data)) is QuarantineReason.UNDECODABLE


def test_a_length_of_exabytes_is_refused_without_memory_for_it() -> None:
    assert reason("quarantine", header("quarantine") + b"\xfe" + b"\xff" * 8 + b"\x01") is QuarantineReason.TRUNCATED
