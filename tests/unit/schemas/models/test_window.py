"""A window's rate exists only where both of its counts are proven; it is never a number that means nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from unmask.schemas.codes import DropCause, Evidence, Family
from unmask.schemas.models import Window, from_avro
from unmask.schemas.testing import sample

FAMILIES = ("route_attempt", "kernel_fallback", "masked_error", "session_teardown")


def evidence(**states: str) -> list[dict[str, Any]]:
    return [
        {"family": family, "state": states.get(family, "COMPLETE"), "causes": [], "missing": 0, "dropped": []}
        for family in FAMILIES
    ]


def window(**changes: Any) -> Window:
    return from_avro(Window, sample("window", **{"evidence": evidence(), **changes}))


def test_the_rate_is_fallbacks_per_attempt() -> None:
    assert window(attempts=8, fallbacks_total=2).fallback_rate == 0.25
    assert window(attempts=8, fallbacks_total=0).fallback_rate == 0.0


def test_without_attempts_there_is_no_rate() -> None:
    """Case Z02."""
    assert window(attempts=0, fallbacks_total=0).fallback_rate is None
    assert window(attempts=0, fallbacks_total=3).fallback_rate is None


@pytest.mark.parametrize("state", ["LOSSY", "PENDING", "ABSENT"])
@pytest.mark.parametrize("family", ["route_attempt", "kernel_fallback"])
def test_without_proof_of_both_counts_there_is_no_rate(family: str, state: str) -> None:
    assert window(attempts=8, evidence=evidence(**{family: state})).fallback_rate is None


def test_loss_of_another_family_does_not_take_the_rate_away() -> None:
    assert window(attempts=8, fallbacks_total=2, evidence=evidence(masked_error="LOSSY")).fallback_rate == 0.25


def test_a_family_that_nobody_speaks_of_is_absent_and_not_complete() -> None:
    silent = window(attempts=8, evidence=[])
    assert silent.evidence_of(Family.ROUTE_ATTEMPT) is Evidence.ABSENT
    assert silent.evidence_state is Evidence.ABSENT
    assert silent.fallback_rate is None


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        ({}, Evidence.COMPLETE),
        ({"masked_error": "ABSENT"}, Evidence.ABSENT),
        ({"masked_error": "ABSENT", "kernel_fallback": "LOSSY"}, Evidence.LOSSY),
        ({"masked_error": "PENDING", "kernel_fallback": "LOSSY"}, Evidence.PENDING),
    ],
)
def test_the_whole_proves_no_more_than_its_worst_family(states: dict[str, str], whole: Evidence) -> None:
    assert window(evidence=evidence(**states)).evidence_state is whole


def test_drops_are_added_up_by_cause_over_families() -> None:
    entries = evidence()
    entries[0]["dropped"] = [{"cause": "buffer_full", "count": 2}]
    entries[1]["dropped"] = [{"cause": "buffer_full", "count": 3}, {"cause": "host_died", "count": 1}]
    assert window(evidence=entries).dropped == {DropCause.BUFFER_FULL: 5, DropCause.HOST_DIED: 1}


def test_a_window_ends_after_its_size_and_the_lifetime_window_never() -> None:
    assert window().window_end == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert window(window_seconds=0).window_end is None


def test_no_ratio_stands_in_its_json() -> None:
    assert "NaN" not in window(attempts=0).model_dump_json()
