"""What is published stays, every version fits its history, and whatever may grow has a way out for old readers."""

from collections.abc import Iterator
from typing import Any

import pytest

from unmask.schemas.compatibility import LEVELS, Level, can_read, history_breaks
from unmask.schemas.history import RECORDS, latest, published
from unmask.schemas.models import MODELS
from unmask.schemas.pins import committed_pins, current_pins, updated_pins
from unmask.schemas.tokens import is_token

# Sets that are closed for good: a new symbol would change what a gate or a rate may rest on, so that an old reader
# must fail rather than guess.
CLOSED = {"EvidenceState", "VerdictKind", "Directive", "AlertState"}


def enums(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        for branch in schema:
            yield from enums(branch)
    elif isinstance(schema, dict):
        if schema.get("type") == "enum":
            yield schema
        for inner in (schema.get("type"), schema.get("items"), schema.get("values"), schema.get("fields")):
            yield from enums(inner)


def test_no_published_version_was_edited_or_removed() -> None:
    updated_pins(committed_pins(), current_pins())


def test_every_version_is_pinned() -> None:
    assert committed_pins() == current_pins(), "run python -m unmask.schemas.pins and commit the file"


@pytest.mark.parametrize("record", RECORDS)
def test_the_committed_history_holds_its_level(record: str) -> None:
    versions = [schema.source for schema in published(record)]
    assert history_breaks(versions, LEVELS.get(record, Level.BACKWARD_TRANSITIVE)) == []


@pytest.mark.parametrize("record", RECORDS)
def test_every_version_reads_itself(record: str) -> None:
    for schema in published(record):
        assert can_read(schema.source, schema.source) == []


def test_verdicts_are_held_to_the_full_level() -> None:
    assert LEVELS["verdict"] is Level.FULL_TRANSITIVE


@pytest.mark.parametrize("record", RECORDS)
def test_every_enum_that_may_grow_has_a_default_on_its_type(record: str) -> None:
    for schema in enums(latest(record).source):
        if schema["name"] in CLOSED:
            assert "default" not in schema
        else:
            assert schema["default"] in schema["symbols"], schema["name"]


def test_an_unknown_reason_is_an_unknown_refusal() -> None:
    (reason,) = (schema for schema in enums(latest("fallback").source) if schema["name"] == "ReasonCode")
    assert reason["default"] == "unknown_refusal"


def test_the_defaults_of_what_a_gate_asks_for_are_on_the_side_of_refusal() -> None:
    defaults = {schema["name"]: schema.get("default") for record in RECORDS for schema in enums(latest(record).source)}
    assert defaults["AdmissionAnswer"] == "NOT_READY"
    assert defaults["Equivalence"] == "unproven"


@pytest.mark.parametrize("record", RECORDS)
def test_one_name_means_one_type_in_all_records(record: str) -> None:
    for schema in enums(latest(record).source):
        for other in RECORDS:
            for same in enums(latest(other).source):
                if same["name"] == schema["name"]:
                    assert same["symbols"] == schema["symbols"]
                    assert same.get("default") == schema.get("default")


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_says_what_it_means(record: str) -> None:
    def undocumented(schema: Any) -> Iterator[str]:
        if isinstance(schema, list):
            for branch in schema:
                yield from undocumented(branch)
        elif isinstance(schema, dict):
            for field in schema.get("fields", ()):
                if not field.get("doc", "").endswith("."):
                    yield f"{schema['name']}.{field['name']}"
                yield from undocumented(field["type"])
            yield from undocumented(schema.get("items", schema.get("values")))

    assert list(undocumented(latest(record).source)) == []


def test_there_is_no_field_for_free_text() -> None:
    forbidden = {
        "reason_detail",
        "message",
        "error",
        "text",
        "detail",
        "url",
        "host",
        "hostname",
        "pid",
        "query",
        "prompt",
    }

    def names(schema: Any) -> Iterator[str]:
        if isinstance(schema, list):
            for branch in schema:
                yield from names(branch)
        elif isinstance(schema, dict):
            for field in schema.get("fields", ()):
                yield field["name"]
                yield from names(field["type"])
            yield from names(schema.get("items", schema.get("values")))

    found = {name for record in RECORDS for name in names(latest(record).source)}
    assert found & forbidden == set()
    assert all(map(is_token, found))


def test_every_record_has_a_model_of_its_name() -> None:
    for record in RECORDS:
        assert MODELS[record].__name__ == latest(record).source["name"]
