"""Every published version is read, the highest is written, and later ones can be taught."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unmask.schemas import codec, history
from unmask.schemas.errors import IncompatibleSchema, UnknownFingerprint
from unmask.schemas.history import RECORDS, foreign, latest, published, readable
from unmask.schemas.testing import sample


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    def clear() -> None:
        readable.cache_clear()
        codec._by_fingerprint.cache_clear()

    clear()
    yield
    clear()


def v2(change: Any) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(json.dumps(latest("quarantine").source))
    change(source["fields"])
    return source


def written_with(source: dict[str, Any], value: dict[str, Any]) -> bytes:
    from io import BytesIO

    from fastavro import parse_schema, schemaless_writer

    loaded = history._load("quarantine", 2, source)
    out = BytesIO(codec.MAGIC + loaded.fingerprint)
    out.seek(0, 2)
    schemaless_writer(out, parse_schema(loaded.unparsed), value, strict=True)
    return out.getvalue()


def publish(folder: Path, source: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "quarantine").mkdir()
    (folder / "quarantine" / "v2.avsc").write_text(json.dumps(source))
    monkeypatch.setenv("UNMASK_EXTRA_SCHEMAS", str(folder))


@pytest.mark.parametrize("record", RECORDS)
def test_versions_are_numbered_without_gaps_and_the_last_is_written(record: str) -> None:
    versions = [schema.version for schema in published(record)]
    assert versions == list(range(1, len(versions) + 1))
    assert latest(record) is published(record)[-1]


def test_fingerprints_are_all_different() -> None:
    fingerprints = [schema.fingerprint for record in RECORDS for schema in published(record)]
    assert len(set(fingerprints)) == len(fingerprints)


def test_an_unknown_record_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        published("nonsense")


def test_an_old_reader_learns_a_later_version_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = v2(lambda fields: fields.append({"name": "added", "type": "string", "default": ""}))
    data = written_with(source, sample("quarantine") | {"added": "x"})
    with pytest.raises(UnknownFingerprint):
        codec.decode("quarantine", data)
    codec._by_fingerprint.cache_clear()
    readable.cache_clear()
    publish(tmp_path, source, monkeypatch)
    assert codec.decode("quarantine", data) == sample("quarantine")
    assert latest("quarantine").version == 1, "what is taught is read, not written"


def test_a_later_version_that_cannot_be_read_is_refused_with_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drop_size(fields: list[dict[str, Any]]) -> None:
        fields[:] = [field for field in fields if field["name"] != "size"]

    publish(tmp_path, v2(drop_size), monkeypatch)
    with pytest.raises(IncompatibleSchema, match="size"):
        codec.decode("quarantine", codec.encode("quarantine", sample("quarantine")))


def test_a_folder_without_the_record_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_EXTRA_SCHEMAS", str(tmp_path))
    assert readable("verdict") == published("verdict")


def test_a_writers_schema_that_is_ours_needs_no_resolution() -> None:
    schema = foreign("quarantine", latest("quarantine").source)
    assert schema.fingerprint == latest("quarantine").fingerprint
