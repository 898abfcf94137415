"""Knobs of a worker."""

from typing import Any

import pytest

from unmask.streams.settings import SettingsError, StreamSettings


@pytest.mark.parametrize(
    "given",
    [
        {"window_seconds": ()},
        {"window_seconds": (0, 60)},
        {"window_seconds": (3600, 60)},
        {"window_seconds": (60, 60)},
        {"threshold": 1.5},
        {"threshold": float("nan")},
        {"fallback_rate_threshold": -0.1},
        {"grace_ms": -1},
        {"snapshot_ms": 0},
        {"instance": ""},
        {"effects_retention_s": 86_399},
        {"effects_tenant_keys": 0},
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        StreamSettings(**given)


def test_names_of_groups_and_transactions_are_of_the_namespace() -> None:
    settings = StreamSettings(namespace="blue", instance="slot-1")
    assert settings.ledger_group == "blue.ledger"
    assert settings.tables_group == "blue.tables"
    assert settings.transactional_id == "blue.ledger.slot-1"
    assert settings.effects_group == "blue.effects"
    assert settings.effects_transactional_id == "blue.effects.slot-1"


def test_a_worker_without_a_name_gets_one_that_says_nothing_of_its_host() -> None:
    first, second = StreamSettings(), StreamSettings()
    assert first.instance != second.instance
    assert first.instance.startswith("w-")


@pytest.mark.parametrize(("sizes", "expected"), [((60, 3600), 60), ((10, 60), 60), ((10, 300), 10), ((3600,), 3600)])
def test_minutes_drive_alerts_where_they_are_counted_and_the_smallest_size_does_otherwise(
    sizes: tuple[int, ...], expected: int
) -> None:
    assert StreamSettings(window_seconds=sizes).alert_seconds == expected


def test_the_lifetime_window_is_always_counted() -> None:
    assert StreamSettings(window_seconds=(10,)).granularities == (10, 0)
