"""What a scrape shows."""

import math
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families
from tests.table_records import GREEN, at, cell, closing_mark, flaw

from unmask.schemas.codes import ReasonCode
from unmask.streams.ledger.status import LedgerStatus
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.status import TablesStatus
from unmask.streams.tables.window_table import WindowTable
from unmask.streams.web.metrics import WorkerCollector
from unmask.streams.web.overview import Overview

RULES = TableRules(table_partitions=1)
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Held:
    """An overview that nobody else changes."""

    def __init__(self) -> None:
        self.overview = Overview(RULES)

    def show(self, *keyed: tuple[str, dict[str, Any]]) -> None:
        table = WindowTable(0, RULES)
        for key, record in keyed:
            table.apply(key, record)
        table.take_dirty()
        for window in table:
            for record in table.records(window).values():
                self.overview.window({**record, "revision": 1}, partition=0, offset=0)

    def registry(self, *capabilities: str) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(
            WorkerCollector(
                lambda read: read(self.overview), capabilities,
                lambda: LedgerStatus(ready=True, reason="", partitions=(0, 1), lag=3, records=7),
                lambda: TablesStatus(ready=False, reason="reading", published={"windows": 5}),
            )
        )  # fmt: skip
        return registry

    def samples(self, *capabilities: str) -> Samples:
        text = generate_latest(self.registry(*capabilities)).decode()
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


def series(samples: Samples, name: str, **labels: str) -> list[float]:
    wanted = set(labels.items())
    return [value for (found, given), value in samples.items() if found == name and wanted <= set(given)]


def test_every_configured_capability_and_reason_is_there_at_zero_before_anything_happened() -> None:
    """Z01."""
    samples = Held().samples("search", "sum")
    for capability in ("search", "sum"):
        for reason in ReasonCode:
            name = "unmask_capability_fallbacks_total"
            assert series(samples, name, capability=capability, reason_code=reason.value) == [0.0]


def test_the_first_fallback_is_an_increase_of_one() -> None:
    """Z01: the emitter's first heartbeat makes its scope known, with every reason at 0."""
    held = Held()
    held.show(cell("emitters", 1, seconds=0))
    labels = {"capability": "search", "reason_code": "timeout", "release_line": "r1"}
    before = series(held.samples("search"), "unmask_fallbacks_total", **labels)
    held.show(cell("emitters", 1, seconds=0), cell("kernel_fallback", 1, seconds=0, code="timeout"))
    after = series(held.samples("search"), "unmask_fallbacks_total", **labels)
    assert (before, after) == ([0.0], [1.0])


def test_totals_come_from_the_lifetime_windows_and_not_from_the_others() -> None:
    held = Held()
    held.show(
        cell("route_attempt", 5, seconds=0), cell("route_attempt", 5), cell("route_attempt", 2, seconds=0, scope=GREEN),
        cell("masked_error", 3, seconds=0, capability="primary", code="timeout"), cell("late", 4, seconds=0),
        cell("session_teardown", 1, seconds=0, capability="-", code="success"),
    )  # fmt: skip
    samples = held.samples()
    assert series(samples, "unmask_route_attempts_total", entry_point="api", release_line="r1") == [5.0]
    assert series(samples, "unmask_capability_attempts_total", capability="search") == [7.0]
    assert series(samples, "unmask_masked_errors_total", upstream_class="timeout") == [3.0]
    assert series(samples, "unmask_late_events_total", release_line="r1") == [4.0]
    assert series(samples, "unmask_session_teardowns_total", outcome="success") == [1.0]


def test_selections_calls_and_effects_come_from_the_lifetime_windows_by_their_codes() -> None:
    held = Held()
    held.show(
        cell("route_selection", 3, seconds=0, capability="auto", code="live"),
        cell("route_selection", 9, capability="auto", code="live"),
        cell("delegation_progress", 54, seconds=0, capability="-", code="succeeded"),
        cell("delegation_effect", 21, seconds=0, capability="gate", code="refused"),
        cell("delegation_effect", 2, seconds=0, capability="gate", code="vindicated", scope=GREEN),
    )  # fmt: skip
    samples = held.samples()
    assert series(samples, "unmask_route_selections_total", source="auto", timeline="live") == [3.0]
    assert series(samples, "unmask_delegation_calls_total", outcome="succeeded", release_line="r1") == [54.0]
    assert series(samples, "unmask_delegation_effects_total", enforcer="gate", step="refused") == [21.0]
    assert series(samples, "unmask_delegation_effects_total", step="vindicated", release_line="r2") == [2.0]


def test_evidence_of_recent_windows_is_counted_by_state() -> None:
    held = Held()
    held.show(cell("emitters", 1), cell("emitters", 1, minute=1), flaw(minute=1), closing_mark(3))
    samples = held.samples()
    found = {
        state: series(samples, "unmask_window_evidence", state=state, family="kernel_fallback", window_seconds="60")
        for state in ("COMPLETE", "LOSSY", "ABSENT", "PENDING")
    }
    assert found == {"COMPLETE": [1.0], "LOSSY": [1.0], "ABSENT": [1.0], "PENDING": [0.0]}


def test_windows_of_more_than_an_hour_ago_are_no_longer_counted() -> None:
    held = Held()
    held.show(cell("emitters", 1), closing_mark(1))
    held.show(cell("emitters", 1, minute=70), closing_mark(71))
    assert sum(series(held.samples(), "unmask_window_evidence", family="kernel_fallback")) == 1.0


def test_the_position_is_alike_for_a_worker_that_reads_all_and_one_that_reads_the_end() -> None:
    early, late = Overview(RULES), Overview(RULES)
    for offset in range(10):
        early.window(None, partition=0, offset=offset)
        early.window(None, partition=1, offset=offset)
    late.window(None, partition=0, offset=9)
    late.window(None, partition=1, offset=9)
    assert early.position == late.position == 20


def test_firing_alerts_are_counted_by_kind_and_every_kind_is_there() -> None:
    held = Held()
    held.overview.alert("a", {"kind": "TELEMETRY_LOSS", "state": "FIRING"})
    held.overview.alert("b", {"kind": "TELEMETRY_LOSS", "state": "FIRING"})
    held.overview.alert("b", {"kind": "TELEMETRY_LOSS", "state": "RESOLVED"})
    samples = held.samples()
    assert series(samples, "unmask_alerts_firing", kind="TELEMETRY_LOSS") == [1.0]
    assert series(samples, "unmask_alerts_firing", kind="FALLBACK_RATE") == [0.0]


def test_the_worker_s_own_condition_is_shown() -> None:
    samples = Held().samples()
    assert series(samples, "unmask_ledger_ready") == [1.0]
    assert series(samples, "unmask_ledger_lag_records") == [3.0]
    assert series(samples, "unmask_ledger_records_total") == [7.0]
    assert series(samples, "unmask_tables_ready") == [0.0]
    assert series(samples, "unmask_tables_published", topic="windows") == [5.0]


@pytest.mark.parametrize("generate", [generate_latest, generate_openmetrics])
def test_names_have_one_suffix_and_nothing_is_created_or_not_a_number(generate: Any) -> None:
    """L03 and Z02."""
    held = Held()
    held.show(
        cell("kernel_fallback", 1, seconds=0, code="timeout"), cell("route_attempt", 0, seconds=0),
        cell("route_attempt", 0, minute=1), closing_mark(2),
    )  # fmt: skip
    text = generate(held.registry("search")).decode()
    assert 'unmask_fallbacks_total{capability="search",' in text
    for doubled in ("_total_total", "_created", "fallbacks_total_", "NaN"):
        assert doubled not in text


def test_every_value_is_a_number() -> None:
    held = Held()
    held.show(cell("emitters", 1, seconds=0), cell("emitters", 1), closing_mark(at(1)))
    assert all(math.isfinite(value) for value in held.samples("search").values())


def test_totals_are_left_out_until_the_windows_have_been_read() -> None:
    caught_up = False
    overview = Overview(TableRules(table_partitions=1))
    collector = WorkerCollector(
        lambda question: question(overview), ("retrieval",), lambda: None, lambda: None, caught_up=lambda: caught_up
    )
    assert "unmask_capability_fallbacks" not in {family.name for family in collector.collect()}
    caught_up = True
    assert "unmask_capability_fallbacks" in {family.name for family in collector.collect()}
