"""Whatever a schema allows survives encoding, and whatever a model allows survives the way over the wire."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.record_values import allowed, anything

from unmask.schemas.codec import HEADER_LENGTH, decode, encode
from unmask.schemas.errors import DecodeError
from unmask.schemas.history import RECORDS, latest
from unmask.schemas.models import MODELS, from_avro, to_avro
from unmask.schemas.testing import sample

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
