"""The smallest runs of the benchmarks: they count for real, and what they count is checked."""

from pathlib import Path

import pytest
from benchmarks.compare.peer_run import Inputs, run_peer
from benchmarks.compare.run import compare
from benchmarks.compare.store import Store
from benchmarks.compare.systems import named
from benchmarks.compare.workload import Workload

pytestmark = pytest.mark.integration


def test_worker_and_plain_loops_count_the_smallest_log_exactly(kafka: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "compare.jsonl", fresh=True)
    systems = [named(name) for name in ("plain", "plain-100", "worker-100")]
    compare(kafka, store, systems, 1, quick=True, scale=0.01)
    lines = {line["system"]: line for line in store.all()}
    assert {name: line.get("exact") for name, line in lines.items()} == dict.fromkeys(lines, True)
    assert len(lines) == 3
    assert lines["worker-100"]["events_per_s"] > 0
    compare(kafka, store, systems, 1, quick=True, scale=0.01)
    assert len(store.all()) == 3, "what was measured is not measured again"


def test_a_system_that_counts_something_else_is_not_exact(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workload, "attempts", lambda self: {(0, "r", "c", "e"): self.events})
    outcome = run_peer(named("plain"), 1_000, Inputs(kafka, f"bench-{tmp_path.name}".lower()), "bench-wrong", tmp_path)
    assert not outcome.exact
    assert "1,000 events counted" in outcome.wrong
