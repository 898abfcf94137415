"""Models refuse what must never stand in a record, and do not tell what they refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from unmask.schemas.models import MODELS, AttemptGroup, EventBatch, Quarantined, Verdict, Window, from_avro
from unmask.schemas.scope import Scope
from unmask.schemas.testing import sample


def refused(record: str, **changes: Any) -> str:
    with pytest.raises(ValidationError) as error:
        from_avro(MODELS[record], {**sample(record), **changes})
    return "; ".join(detail["msg"] for detail in error.value.errors())


@pytest.mark.parametrize(
    "text", ["", "a b", "user@example.com", "https://x/y", "a" * 65, "ghp_abcdefghijklmnopqrstuvwx"]
)
def test_free_text_and_credentials_are_refused(text: str) -> None:
    """Case L01."""
    assert "not a bounded token" in refused("fallback", capability=text)
    assert "not a bounded token" in refused("window", fallbacks_by_reason={text: 1})
    assert "not a bounded token" in refused("alert", causes=[text])


def test_a_signature_is_of_the_grammar() -> None:
    (masked,) = sample("verdict")["masked"]
    assert "grammar" in refused("verdict", masked=[{**masked, "masked_upstream_signature": "ValueError"}])


def test_a_scope_is_its_five_tokens() -> None:
    scope = sample("fallback")["scope"]
    assert "exactly the parts" in refused("fallback", scope={**scope, "extra": "x"})
    assert "exactly the parts" in refused("fallback", scope={})
    assert "by its names" in refused("fallback", scope=list(scope.values()))
    assert "texts" in refused("fallback", scope={**scope, "switchboard": 5})
    assert "not a bounded token" in refused("fallback", scope={**scope, "switchboard": "a b"})


def test_a_scope_is_the_same_tuple_that_keys_are_made_of() -> None:
    window = from_avro(Window, sample("window"))
    assert isinstance(window.scope, Scope)
    assert window.scope == Scope(**sample("window")["scope"])
    assert window.model_dump(mode="json")["scope"] == sample("window")["scope"]
    assert Window.model_validate(window.model_dump()) == window


@pytest.mark.parametrize("number", [-1, 1.0, "1", True, 2**63])
def test_counts_are_whole_and_not_negative(number: object) -> None:
    assert refused("window", attempts=number)


@pytest.mark.parametrize("ratio", [float("nan"), float("inf"), -0.1, 1.1, "0.5"])
def test_ratios_are_between_zero_and_one_and_never_nan(ratio: object) -> None:
    """Case Z02."""
    assert refused("verdict", degraded_operation_ratio=ratio)


def test_a_ratio_of_nothing_is_none() -> None:
    verdict = from_avro(Verdict, sample("verdict", degraded_operation_ratio=None, operations=0, degraded_operations=0))
    assert verdict.degraded_operation_ratio is None


@pytest.mark.parametrize("flag", [1, "true", None])
def test_flags_are_flags(flag: object) -> None:
    assert refused("event_batch", closing=flag)


def test_unknown_fields_are_refused() -> None:
    assert refused("window", rate=0.5)


def test_unknown_codes_are_refused() -> None:
    assert refused("fallback", reason_code="weather")


def test_models_do_not_change() -> None:
    record = from_avro(Quarantined, sample("quarantine"))
    with pytest.raises(ValidationError):
        record.size = 5


def test_run_ids_of_a_group_are_none_or_one_for_each_attempt() -> None:
    group = sample("event_batch")["route_attempts"][0]
    for run_ids in ([], [""], ["run-1"]):
        assert from_avro(AttemptGroup, {**group, "run_id": run_ids}).run_id == tuple(run_ids)
    with pytest.raises(ValidationError, match="as long as"):
        from_avro(AttemptGroup, {**group, "run_id": ["run-1", "run-2"]})


def test_batches_are_numbered_from_one() -> None:
    assert refused("event_batch", batch_seq=0)


@pytest.mark.parametrize("field", ["event_type", "route_expected", "runtime_route"])
def test_a_fallback_says_what_it_is(field: str) -> None:
    assert refused("fallback", **{field: "other"})


def test_a_topic_name_is_one_that_kafka_takes() -> None:
    assert refused("quarantine", topic="a/b")
    assert refused("quarantine", digest="zz")


def test_an_empty_batch_is_a_heartbeat() -> None:
    lists = (
        "route_attempts",
        "kernel_fallbacks",
        "masked_errors",
        "session_openings",
        "session_teardowns",
        "route_selections",
        "delegation_progress",
        "delegation_effects",
    )
    empty = from_avro(EventBatch, sample("event_batch", **{name: [] for name in lists}))
    assert empty.heartbeat
    for name in lists:
        others: dict[str, list[object]] = {other: [] for other in lists if other != name}
        assert not from_avro(EventBatch, sample("event_batch", **others)).heartbeat
