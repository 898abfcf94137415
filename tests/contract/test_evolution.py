"""A later version is read by an earlier reader, and no total changes by it."""

import copy
from collections import Counter
from io import BytesIO
from typing import Any

import pytest
from fastavro import schemaless_writer

from unmask.schemas.codec import decode_body
from unmask.schemas.compatibility import Level, can_read, history_breaks
from unmask.schemas.errors import DecodeError
from unmask.schemas.history import PublishedSchema, foreign, latest
from unmask.schemas.models import EventBatch, from_avro
from unmask.schemas.testing import sample


def find(schema: Any, name: str) -> dict[str, Any]:
    """The named type inside a schema."""
    found = _find(schema, name)
    assert found is not None
    return found


def _find(schema: Any, name: str) -> dict[str, Any] | None:
    if isinstance(schema, dict):
        if schema.get("name") == name and schema.get("type") in ("record", "enum"):
            return schema
        schema = list(schema.values())
    if isinstance(schema, list):
        return next((hit for inner in schema if (hit := _find(inner, name)) is not None), None)
    return None


def version_2(record: str) -> dict[str, Any]:
    source: dict[str, Any] = copy.deepcopy(latest(record).source)
    return source


def written(schema: PublishedSchema, value: dict[str, Any]) -> bytes:
    out = BytesIO()
    schemaless_writer(out, schema.plain, value, strict=True)
    return out.getvalue()


def test_a_new_reason_is_counted_as_an_unknown_refusal_and_the_total_stays() -> None:
    """Case C04."""
    source = version_2("event_batch")
    find(source, "ReasonCode")["symbols"].insert(0, "budget_frozen")
    fallback = sample("event_batch")["kernel_fallbacks"][0]
    sent = ["budget_frozen", "timeout", "budget_frozen", "rate_limited", "unknown_refusal"]
    value = sample("event_batch", kernel_fallbacks=[{**fallback, "reason_code": reason} for reason in sent])
    schema = foreign("event_batch", source)
    read = decode_body(schema, written(schema, value), 0)
    counted = Counter(event["reason_code"] for event in read["kernel_fallbacks"])
    assert counted == {"unknown_refusal": 3, "timeout": 1, "rate_limited": 1}
    assert counted.total() == len(sent)
    assert read["accounts"] == value["accounts"]
    assert len(from_avro(EventBatch, read).kernel_fallbacks) == len(sent)


def test_a_default_on_the_field_alone_would_not_have_helped() -> None:
    """Case C04: why every enum that may grow has its default on the type."""
    reader = version_2("fallback")
    enum = find(reader, "ReasonCode")
    del enum["default"]
    next(field for field in reader["fields"] if field["name"] == "reason_code")["default"] = "unknown_refusal"
    writer = version_2("fallback")
    find(writer, "ReasonCode")["symbols"].append("budget_frozen")
    assert can_read(reader, writer) == [
        "$.reason_code: symbols budget_frozen are unknown and the enum type has no default"
    ]


def test_a_new_family_is_unknown_to_an_old_reader_and_does_not_mix_with_those_it_knows() -> None:
    source = version_2("event_batch")
    find(source, "Family")["symbols"].append("prompt_rewrite")
    account = sample("event_batch")["accounts"][0]
    accounts = [{**account, "family": family} for family in ("kernel_fallback", "prompt_rewrite")]
    schema = foreign("event_batch", source)
    read = decode_body(schema, written(schema, sample("event_batch", accounts=accounts)), 0)
    assert [account["family"] for account in read["accounts"]] == ["kernel_fallback", "unknown_family"]


def test_a_new_field_is_left_out_by_an_old_reader() -> None:
    source = version_2("event_batch")
    find(source, "KernelFallback")["fields"].append({"name": "hop", "type": "int", "default": 0})
    fallback = {**sample("event_batch")["kernel_fallbacks"][0], "hop": 3}
    schema = foreign("event_batch", source)
    read = decode_body(schema, written(schema, sample("event_batch", kernel_fallbacks=[fallback])), 0)
    assert read == sample("event_batch")


def test_an_old_value_is_read_by_a_new_reader_with_the_default() -> None:
    source = version_2("quarantine")
    source["fields"].append({"name": "attempts", "type": "int", "default": 1})
    assert history_breaks([latest("quarantine").source, source], Level.BACKWARD_TRANSITIVE) == []


def test_truncation_and_trailing_bytes_are_seen_while_resolving_too() -> None:
    """Case C05."""
    source = version_2("event_batch")
    find(source, "ReasonCode")["symbols"].insert(0, "budget_frozen")
    schema = foreign("event_batch", source)
    data = written(schema, sample("event_batch"))
    for bad in (data[:-1], data[: len(data) // 2], data + b"12345"):
        with pytest.raises(DecodeError):
            decode_body(schema, bad, 0)


@pytest.mark.parametrize(
    ("change", "break_"),
    [
        (lambda v: v["fields"].append({"name": "grade", "type": "string"}), "v2 cannot read v1: $.grade"),
        (lambda v: v["fields"].pop(0), "v1 cannot read v2: $.contract"),
        (lambda v: find(v, "Directive")["symbols"].append("WAIT"), "v1 cannot read v2: $.directive"),
        (lambda v: find(v, "VerdictKind")["symbols"].remove("HARD_FAILURE"), "v2 cannot read v1: $.verdict"),
    ],
)
def test_a_verdict_that_would_leave_anybody_behind_is_not_published(change: Any, break_: str) -> None:
    source = version_2("verdict")
    change(source)
    breaks = history_breaks([latest("verdict").source, source], Level.FULL_TRANSITIVE)
    assert any(found.startswith(break_) for found in breaks), breaks


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v["fields"].append({"name": "grade", "type": ["null", "string"], "default": None}),
        lambda v: find(v, "Finding")["symbols"].append("NEW_FINDING"),
    ],
)
def test_a_verdict_may_gain_optional_fields_and_findings(change: Any) -> None:
    source = version_2("verdict")
    change(source)
    assert history_breaks([latest("verdict").source, source], Level.FULL_TRANSITIVE) == []
