"""The benchmarks' reports: medians over exact runs only, targets met or missed, pages and curves from the results."""

from pathlib import Path
from typing import Any

from benchmarks.compare.report import markdown, summary
from benchmarks.compare.store import Store
from benchmarks.draw import draw_curves, fill


def line(system: str, cpu: float, *, exact: bool = True) -> dict[str, Any]:
    """A run's result."""
    return {
        "system": system, "round": 1, "events": 1000, "exact": exact, "wrong": "" if exact else "one is missing",
        "events_per_s": 1000, "cpu_s_per_million": cpu, "peak_mb": 100.0, "startup_s": 1.0, "startup_cpu_s": 0.5,
    }  # fmt: skip


def test_a_run_that_is_not_exact_has_no_figures() -> None:
    told = summary([line("plain", 5.0), line("plain", 0.1, exact=False), line("quix", 1.0, exact=False)], quick=True)
    assert told["systems"]["plain"]["cpu_s_per_million"] == 5.0
    assert (told["systems"]["plain"]["runs"], told["systems"]["plain"]["exact"]) == (2, 1)
    assert "quix" not in told["systems"]
    assert told["absent"] == {"quix": "one is missing"}


def test_a_target_is_missed_where_the_ratio_is_too_high() -> None:
    told = summary([line("plain", 5.0), line("worker-100", 1.1), line("worker-10", 2.0)], quick=False)
    met = {target["what"]: target["met"] for target in told["targets"]}
    assert met["fill 100 against the plain one-event loop"] is False
    assert met["fill 10 against the plain one-event loop"] is True


def test_a_peer_that_is_not_here_is_named_with_its_reason() -> None:
    told = summary([line("plain", 5.0), {"system": "flink-heap", "missing": "mvn is not installed"}], quick=False)
    assert "Not measured: Flink, heap state: mvn is not installed." in markdown(told)


def test_results_are_kept_when_a_run_is_broken_off(tmp_path: Path) -> None:
    Store(tmp_path / "r.jsonl", fresh=True).add(line("plain", 5.0))
    again = Store(tmp_path / "r.jsonl", fresh=False)
    assert again.has(system="plain", round=1)
    assert not again.has(system="plain", round=2)
    assert not Store(tmp_path / "r.jsonl", fresh=True).all()


def test_blocks_of_the_page_are_replaced_and_missing_results_named(tmp_path: Path) -> None:
    (tmp_path / "compare.md").write_text("new\n")
    page = "a\n<!-- bench: compare -->\nold\n<!-- end -->\nb\n<!-- bench: latency -->\nkept\n<!-- end -->\n"
    text, absent = fill(page, tmp_path, "")
    assert text == page.replace("old", "new")
    assert absent == ["latency"]


def test_equal_results_draw_equal_curves(tmp_path: Path) -> None:
    points = [
        {"curve": "workers", "point": n, "events_per_s": 1000 * n, "cpu_s_per_million": 2.0, "peak_mb": 1.0}
        for n in (1, 2)
    ]
    first, second = (draw_curves(points, tmp_path / name)[0].read_bytes() for name in ("a", "b"))
    assert first == second
    assert b"<svg" in first
