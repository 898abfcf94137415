"""`unmask schemas` tells which versions are read, and writes a folder to teach them with."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.schemas.history import RECORDS, latest, published, readable

run = CliRunner()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    readable.cache_clear()
    yield
    readable.cache_clear()


def test_an_export_says_what_it_wrote(tmp_path: Path) -> None:
    done = run.invoke(app, ["schemas", "export", str(tmp_path / "out")])
    assert done.exit_code == 0
    versions = sum(len(published(record)) for record in RECORDS)
    assert done.stdout == f"{versions} schemas of {len(RECORDS)} records in {tmp_path / 'out'}\n"
    assert len(list((tmp_path / "out").rglob("*.avsc"))) == versions


def test_a_folder_with_something_else_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "alert").mkdir()
    (tmp_path / "alert" / "v1.avsc").write_text("{}")
    done = run.invoke(app, ["schemas", "export", str(tmp_path)])
    assert done.exit_code == 1
    assert "alert/v1.avsc is there already" in done.stderr


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run.invoke(app, ["schemas", "export", str(tmp_path / "file")])
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr


def test_all_versions_are_listed_and_what_is_taught_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = json.loads(json.dumps(latest("quarantine").source))
    source["fields"].append({"name": "added", "type": "string", "default": "", "doc": "Added."})
    (tmp_path / "quarantine").mkdir()
    (tmp_path / "quarantine" / "v2.avsc").write_text(json.dumps(source))
    monkeypatch.setenv("UNMASK_EXTRA_SCHEMAS", str(tmp_path))
    rows = json.loads(run.invoke(app, ["schemas", "list", "--json"]).stdout)
    assert [row["version"] for row in rows if row["record"] == "event_batch"] == [1, 2]
    assert [(row["version"], row["taught"]) for row in rows if row["record"] == "quarantine"] == [(1, False), (2, True)]
    lines = run.invoke(app, ["schemas", "list"]).stdout.splitlines()
    assert len(lines) == len(rows)
    assert [line.split()[:2] for line in lines if line.endswith("taught by UNMASK_EXTRA_SCHEMAS")] == [
        ["quarantine", "v2"]
    ]
