"""Whatever says nothing new is, byte for byte, what it was before; whatever says something is the newest version."""

from io import BytesIO
from typing import Any

import pytest
from fastavro import schemaless_reader, schemaless_writer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.record_values import anything

from unmask.schemas.codec import HEADER_LENGTH, decode, encode, headers
from unmask.schemas.growth import carrier, with_defaults
from unmask.schemas.history import RECORDS, PublishedSchema, latest, published

GROWN = [record for record in RECORDS if len(published(record)) > 1]
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def written(schema: PublishedSchema, value: dict[str, Any]) -> bytes:
    """The body as fastavro alone writes it."""
    out = BytesIO()
    schemaless_writer(out, schema.plain, value, strict=True)
    return out.getvalue()


def resolved(schema: PublishedSchema, body: bytes) -> Any:
    """The body as fastavro alone reads it with the newest version, by Avro's rules."""
    return schemaless_reader(BytesIO(body), schema.plain, latest(schema.record).plain)


def fields(schema: PublishedSchema) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in schema.source["fields"]}


def oldest(record: str, value: dict[str, Any]) -> PublishedSchema:
    """Found by trying: the first version that writes the value without losing any of it."""
    for schema in published(record):
        known = {name: item for name, item in value.items() if name in fields(schema)}
        try:
            if resolved(schema, written(schema, known)) == value:
                return schema
        except ValueError:
            # A symbol that came later.
            continue
    raise AssertionError("no version carries it")


@pytest.mark.parametrize("record", GROWN)
@few
@given(data=st.data())
def test_a_value_of_an_old_version_has_the_bytes_that_it_always_had(record: str, data: st.DataObject) -> None:
    first = published(record)[0]
    value = data.draw(anything(first.source, {}))
    assert encode(record, value) == headers(record)[0] + written(first, value)
    silent = {name: field["default"] for name, field in fields(latest(record)).items() if name not in value}
    assert encode(record, value | silent) == encode(record, value)


@pytest.mark.parametrize("record", GROWN)
@few
@given(data=st.data())
def test_a_value_is_written_in_the_oldest_version_that_carries_it_and_read_back(
    record: str, data: st.DataObject
) -> None:
    value = data.draw(anything(latest(record).source, {}))
    # Mostly values say something everywhere; some fields are made silent, so that both kinds are drawn.
    for name, field in fields(latest(record)).items():
        if name not in fields(published(record)[0]) and data.draw(st.booleans()):
            value[name] = field["default"]
    bytes_ = encode(record, value)
    schema = oldest(record, value)
    assert bytes_[:HEADER_LENGTH] == headers(record)[schema.version - 1]
    assert decode(record, bytes_) == value
    assert carrier(record, value)[0] is schema


@pytest.mark.parametrize("record", GROWN)
@few
@given(data=st.data())
def test_filling_in_defaults_is_avros_resolution(record: str, data: st.DataObject) -> None:
    for schema in published(record):
        value = data.draw(anything(schema.source, {}))
        body = written(schema, value)
        expected = resolved(schema, body)
        assert with_defaults(schema, dict(value)) == expected
        assert decode(record, headers(record)[schema.version - 1] + body) == expected
