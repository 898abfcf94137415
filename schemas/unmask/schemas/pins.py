"""Pins of the published schemas: once a version is committed, nothing in it may change but its documentation.

avsc/fingerprints.json holds, for each version, the fingerprint that stands in record headers and a digest of all that
has a meaning (the fingerprint alone ignores defaults and logical types). `python -m unmask.schemas.pins` adds new
versions to the file and refuses to change what it holds.
"""

import hashlib
import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from unmask.schemas.history import RECORDS, PublishedSchema, published

__all__ = ["PublishedSchemaChanged", "committed_pins", "current_pins", "updated_pins"]

Pins = dict[str, dict[str, dict[str, str]]]
"""Record, then version (`v1`), then what is pinned."""


class PublishedSchemaChanged(Exception):
    """A committed schema was edited or removed. Restore it, and publish the change as a new version beside it."""

    def __init__(self, record: str, version: str) -> None:
        super().__init__(
            f"avsc/{record}/{version}.avsc is published and no longer what it was; restore it and make the change "
            "in a new version beside it"
        )


def current_pins() -> Pins:
    """The pins of the .avsc files as they stand."""
    return {record: {f"v{schema.version}": _pin(schema) for schema in published(record)} for record in RECORDS}


def committed_pins() -> Pins:
    """The pins as they were committed."""
    pins: Pins = json.loads(_file().read_text("utf-8"))
    return pins


def updated_pins(committed: Pins, current: Pins) -> Pins:
    """The committed pins with those of new versions. Raises PublishedSchemaChanged."""
    for record, versions in committed.items():
        for version, pin in versions.items():
            if current.get(record, {}).get(version) != pin:
                raise PublishedSchemaChanged(record, version)
    return current


def _pin(schema: PublishedSchema) -> dict[str, str]:
    meaning = json.dumps(_without_docs(schema.source), sort_keys=True, separators=(",", ":"))
    return {
        "fingerprint": schema.fingerprint.hex(),
        "meaning": hashlib.sha256(meaning.encode("ascii")).hexdigest(),
    }


def _without_docs(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_docs(value) for key, value in schema.items() if key != "doc"}
    if isinstance(schema, list):
        return [_without_docs(value) for value in schema]
    return schema


def _file() -> Path:
    return Path(str(resources.files("unmask.schemas").joinpath("avsc", "fingerprints.json")))


def main() -> int:
    """Add new versions to the file."""
    committed = committed_pins() if _file().exists() else {}
    try:
        pins = updated_pins(committed, current_pins())
    except PublishedSchemaChanged as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _file().write_text(json.dumps(pins, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
