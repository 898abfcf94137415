"""Whatever a schema allows survives encoding, and whatever a model allows survives the way over the wire."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unmask.schemas.codec import HEADER_LENGTH, decode, encode
from unmask.schemas.errors import DecodeError
from unmask.schemas.history import RECORDS, latest
from unmask.schemas.models import MODELS, from_avro, to_avro
from unmask.schemas.signatures import SIGNATURE_WORDS
from unmask.schemas.testing import sample
from unmask.schemas.tokens import TOKEN_PATTERN, is_token

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
COUNT = st.integers(0, 2**63 - 1)
# The years 1 to 9999, in microseconds.
INSTANT = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
TOKEN = st.from_regex(TOKEN_PATTERN, fullmatch=True).filter(is_token)
DIGEST = st.text("0123456789abcdef", min_size=64, max_size=64)
TEXTS = {
    "event_type": st.just("kernel_fallback.v1"),
    "route_expected": st.just("kernel"),
    "runtime_route": st.just("legacy"),
    "masked_upstream_signature": st.one_of(
        st.sampled_from(sorted(SIGNATURE_WORDS)),
        st.integers(100, 599).map(lambda status: f"HTTP_{status}"),
        st.integers(0, 9_999_999).map(lambda ms: f"TIMEOUT_{ms}ms"),
    ),
    "digest": DIGEST,
    "verdict_digest": DIGEST,
    "fingerprint": DIGEST,
    "value": DIGEST,
}
NUMBERS = {
    "batch_seq": st.integers(1, 2**63 - 1),
    "heartbeat_ms": st.integers(1, 2**63 - 1),
    "from_seq": LONG,
    "to_seq": LONG,
    "facts": LONG,
}


def anything(schema: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Whatever Avro lets the schema hold."""
    return build(schema, "", named, free=True)


def allowed(schema: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Only what the contract's rules allow."""
    return build(schema, "", named, free=False)


def build(schema: Any, field: str, named: dict[str, Any], *, free: bool) -> st.SearchStrategy[Any]:
    if isinstance(schema, list):
        return st.none() | build(schema[1], field, named, free=free)
    if isinstance(schema, str):
        return build(named[schema], field, named, free=free) if schema in named else primitive(schema, field, free=free)
    if "logicalType" in schema:
        return LONG if free else INSTANT
    if schema["type"] == "enum":
        named[schema["name"]] = schema
        return st.sampled_from(schema["symbols"])
    if schema["type"] == "array":
        return st.lists(build(schema["items"], field, named, free=free), max_size=3)
    if schema["type"] == "map":
        keys = st.text(max_size=8) if free else TOKEN
        return st.dictionaries(keys, build(schema["values"], field, named, free=free), max_size=3)
    named[schema["name"]] = schema
    fields = {f["name"]: build(f["type"], f["name"], named, free=free) for f in schema["fields"]}
    value = st.fixed_dictionaries(fields)
    return value if free or schema["name"] != "AttemptGroup" else value.map(with_equal_columns)


def with_equal_columns(group: dict[str, Any]) -> dict[str, Any]:
    columns = len(group["occurred_at"])
    return {**group, "run_id": (group["run_id"] + [""] * columns)[:columns]}


def primitive(kind: str, field: str, *, free: bool) -> st.SearchStrategy[Any]:
    if kind == "string":
        return st.text(max_size=12) if free else TEXTS.get(field, TOKEN)
    if kind == "boolean":
        return st.booleans()
    if kind == "double":
        return st.floats(allow_nan=False, allow_infinity=False) if free else st.floats(0, 1)
    if free:
        return INT if kind == "int" else LONG
    return st.integers(0, 2**31 - 1) if kind == "int" else NUMBERS.get(field, COUNT)


few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("record", RECORDS)
@few
@given(data=st.data())
def test_any_value_of_a_schema_survives_encoding(record: str, data: st.DataObject) -> None:
    value = data.draw(anything(latest(record).source, {}))
    assert decode(record, encode(record, value)) == value


@pytest.mark.parametrize("record", RECORDS)
@few
@given(data=st.data())
def test_any_allowed_value_survives_the_way_through_model_wire_and_json(record: str, data: st.DataObject) -> None:
    value = data.draw(allowed(latest(record).source, {}))
    model = from_avro(MODELS[record], value)
    assert to_avro(model) == value
    assert from_avro(MODELS[record], decode(record, encode(record, to_avro(model)))) == model
    assert MODELS[record].model_validate_json(model.model_dump_json()) == model


@pytest.mark.parametrize("record", RECORDS)
@few
@given(data=st.data())
def test_no_bytes_raise_anything_but_a_named_error(record: str, data: st.DataObject) -> None:
    """Case C01: random bytes behind a genuine header."""
    genuine = encode(record, sample(record))
    cut = data.draw(st.integers(0, len(genuine) - HEADER_LENGTH))
    bad = genuine[: HEADER_LENGTH + cut] + data.draw(st.binary(max_size=40))
    with suppress(DecodeError):
        # By chance the bytes may be a record again; then it is a whole one.
        assert set(decode(record, bad)) == set(sample(record))


@few
@given(st.binary(max_size=60))
def test_random_bytes_are_refused_by_name(data: bytes) -> None:
    """Case C01."""
    with pytest.raises(DecodeError):
        decode("event_batch", data)
