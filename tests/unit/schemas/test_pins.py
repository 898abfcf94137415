"""A committed version cannot be edited; a new one is added beside it."""

import copy

import pytest

from unmask.schemas.pins import PublishedSchemaChanged, current_pins, updated_pins


def test_a_new_version_is_added() -> None:
    current = current_pins()
    grown = copy.deepcopy(current)
    grown["verdict"]["v9"] = {"fingerprint": "0" * 16, "meaning": "0" * 64}
    assert updated_pins(current, grown) == grown


@pytest.mark.parametrize("part", ["fingerprint", "meaning"])
def test_an_edited_version_is_refused(part: str) -> None:
    current = current_pins()
    edited = copy.deepcopy(current)
    edited["verdict"]["v1"][part] = "0"
    with pytest.raises(PublishedSchemaChanged, match="verdict/v1"):
        updated_pins(current, edited)


def test_a_removed_version_is_refused() -> None:
    current = current_pins()
    for version in ("v1", "v2"):
        removed = copy.deepcopy(current)
        del removed["verdict"][version]
        with pytest.raises(PublishedSchemaChanged, match=f"verdict/{version}"):
            updated_pins(current, removed)


def test_defaults_are_part_of_the_meaning_though_the_fingerprint_ignores_them() -> None:
    from unmask.schemas.history import _load, latest
    from unmask.schemas.pins import _pin

    published = latest("quarantine")
    source = copy.deepcopy(published.source)
    reason = next(f for f in source["fields"] if f["name"] == "reason")
    reason["type"]["default"] = "TRUNCATED"
    edited = _pin(_load("quarantine", 1, source))
    assert edited["fingerprint"] == _pin(published)["fingerprint"]
    assert edited["meaning"] != _pin(published)["meaning"]


def test_documentation_may_be_corrected() -> None:
    from unmask.schemas.history import _load, latest
    from unmask.schemas.pins import _pin

    published = latest("quarantine")
    source = copy.deepcopy(published.source)
    source["doc"] = "Said better."
    source["fields"][0]["doc"] = "Said better."
    assert _pin(_load("quarantine", 1, source)) == _pin(published)
