"""What programs read: the published schema, and files in other formats."""

import json
import sys
from pathlib import Path

import pytest
from tests.json_schema_check import violations

from unmask.consumers.report import ReportRow, Selection, TimeRange, build_rows, to_csv, to_json
from unmask.consumers.report.document import json_schema
from unmask.consumers.report.extras import ExtraMissing
from unmask.consumers.report.parquet import write_parquet
from unmask.consumers.report.pipeline import PipelineState, Stage
from unmask.consumers.report_html import to_html
from unmask.consumers.testing import window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

NOON = 1_767_268_800 * MICROS
WANTED = TimeRange(NOON, NOON + 180 * MICROS, 60)
STATE = PipelineState(Stage.STOPPED, "No worker runs.", "unmask stream", 3, NOON)


def rows() -> list[ReportRow]:
    lossy = window_record(NOON + 60 * MICROS, states=Evidence.LOSSY, causes=["gap"], attempts=3)
    lossy["evidence"][0] |= {"missing": -2, "dropped": [{"cause": "outbox_full", "count": 5}]}
    windows = [window_record(NOON, attempts=40, fallbacks_total=10, fallbacks_by_reason={"timeout": 10}), lossy]
    windows[0] |= {"delegation_calls": {"succeeded": 7}}
    windows[0]["evidence"].append(
        {"family": "delegation_progress", "state": "COMPLETE", "causes": [], "missing": 0, "dropped": []}
    )
    found = WindowRecords(tuple(from_avro(Window, window) for window in windows), (), (60,))
    return build_rows(found, WANTED, Selection(), now=NOON + 900 * MICROS)


def test_the_published_schema_is_the_codes_own() -> None:
    published = Path(__file__).parents[4] / "docs" / "report.schema.json"
    assert json.loads(published.read_text()) == json_schema(), "unmask report schema > docs/report.schema.json"


def test_a_report_keeps_its_schema() -> None:
    for pipeline, found in ((STATE, rows()), (None, [])):
        text = to_json(found, WANTED, generated_at=NOON, selection=Selection(), pipeline=pipeline, remarks=["one"])
        assert violations(json.loads(text), json_schema()) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: row.pop("rate_state"),
        lambda row: row.update(rate="0.25"),
        lambda row: row.update(attempts=-1),
        lambda row: row.update(state="FINE"),
        lambda row: row.update(extra=1),
        lambda row: row["fallbacks_by_reason"].update(timeout=1.5),
    ],
)
def test_the_schema_refuses_what_is_no_report(spoil: object) -> None:
    document = json.loads(to_json(rows(), WANTED, generated_at=NOON, selection=Selection(), pipeline=STATE))
    spoil(document["rows"][0])  # type: ignore[operator]
    assert violations(document, json_schema())


def test_each_row_of_json_is_a_line_of_its_own() -> None:
    text = to_json(rows(), WANTED, generated_at=NOON)
    assert sum(line.startswith('    {"window_start"') for line in text.splitlines()) == 3


def test_losses_stand_in_csv_by_cause() -> None:
    lines = to_csv(rows()).splitlines()
    assert "missing=-2 outbox_full=5" in lines[2]
    assert len(lines) == 4


def test_parquet_has_types_nulls_and_what_it_is_about(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "report.parquet"
    write_parquet(path, rows(), WANTED, generated_at=NOON, pipeline=STATE)
    table = parquet.read_table(path)
    assert str(table.schema.field("window_start").type) == "timestamp[us, tz=UTC]"
    assert table.column("attempts").to_pylist() == [40, 3, None]
    assert table.column("delegation_calls").to_pylist() == [7, None, None]
    assert table.column("delegation_calls_by_outcome").to_pylist() == [[("succeeded", 7)], [], []]
    assert table.column("state_delegation_progress").to_pylist() == ["COMPLETE", None, None]
    assert table.column("selections").null_count == 3
    assert table.column("rate").to_pylist() == [0.25, None, None]
    assert table.column("losses").to_pylist()[1] == [("outbox_full", 5), ("missing", -2)]
    about = json.loads(table.schema.metadata[b"unmask.report"])
    assert (about["format"], about["pipeline"]["stage"]) == (1, "STOPPED")


def test_without_its_library_parquet_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'unmask\[reports\]'"):
        write_parquet(tmp_path / "x", rows(), WANTED, generated_at=NOON)
    assert not (tmp_path / "x").exists()


def test_without_its_library_a_page_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'unmask\[reports\]'"):
        to_html(rows(), WANTED, overall=rows(), generated_at=NOON)
