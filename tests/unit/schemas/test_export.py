"""What is exported is what was published, and teaches a reader."""

from pathlib import Path

import pytest

from unmask.schemas import history
from unmask.schemas.export import SchemaFileDiffers, export_schemas
from unmask.schemas.history import RECORDS, published


def test_every_version_is_exported_as_it_was_published(tmp_path: Path) -> None:
    written = export_schemas(tmp_path / "taught")
    assert len(written) == sum(len(published(record)) for record in RECORDS)
    for record in RECORDS:
        loaded = history._load_folder(record, tmp_path / "taught" / record)
        assert [(s.version, s.fingerprint, s.source) for s in loaded.values()] == [
            (s.version, s.fingerprint, s.source) for s in published(record)
        ]


def test_an_export_can_be_repeated_and_leaves_what_others_put_there(tmp_path: Path) -> None:
    first = export_schemas(tmp_path)
    (tmp_path / "verdict" / "v9.avsc").write_text("{}")
    assert export_schemas(tmp_path) == first
    assert (tmp_path / "verdict" / "v9.avsc").read_text() == "{}"


def test_a_file_that_is_something_else_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "verdict").mkdir()
    (tmp_path / "verdict" / "v1.avsc").write_text("{}")
    with pytest.raises(SchemaFileDiffers, match="empty folder"):
        export_schemas(tmp_path)
    assert [path.name for path in tmp_path.rglob("*.avsc")] == ["v1.avsc"]


def test_an_older_reader_is_taught_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_schemas(tmp_path)
    monkeypatch.setenv("UNMASK_EXTRA_SCHEMAS", str(tmp_path))
    first = published("event_batch")[:1]
    monkeypatch.setattr(history, "published", lambda record: first if record == "event_batch" else published(record))
    history.readable.cache_clear()
    try:
        taught = history.readable("event_batch")
        assert [(s.version, s.fingerprint) for s in taught] == [
            (s.version, s.fingerprint) for s in published("event_batch")
        ]
        assert history.readable("quarantine") == published("quarantine")
    finally:
        history.readable.cache_clear()
