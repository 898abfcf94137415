"""Models and records are two views of one value."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from unmask.schemas.history import RECORDS
from unmask.schemas.models import MODELS, Alert, from_avro, to_avro
from unmask.schemas.testing import sample


def test_every_record_has_a_model() -> None:
    assert tuple(MODELS) == RECORDS


@pytest.mark.parametrize("record", RECORDS)
def test_a_sample_survives_the_way_through_its_model_and_through_json(record: str) -> None:
    model = from_avro(MODELS[record], sample(record))
    assert to_avro(model) == sample(record)
    assert MODELS[record].model_validate_json(model.model_dump_json()) == model


def test_instants_are_datetimes_in_the_model_and_iso_text_in_json() -> None:
    alert = from_avro(Alert, sample("alert"))
    assert alert.since == datetime(2026, 1, 1, tzinfo=UTC)
    assert '"since":"2026-01-01T00:00:00Z"' in alert.model_dump_json()


def test_microseconds_are_only_taken_from_records() -> None:
    with pytest.raises(ValidationError, match="no unit"):
        Alert.model_validate(sample("alert"))


def test_absent_optional_fields_are_none() -> None:
    least = {key: sample("alert")[key] for key in ("alert_id", "kind", "state", "since", "causes", "facts", "revision")}
    alert = from_avro(Alert, least)
    assert alert.session_id is None
    assert to_avro(alert)["session_id"] is None
