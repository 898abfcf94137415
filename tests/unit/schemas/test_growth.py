"""The oldest version that carries a value is what it is written in, and what a version may add is checked."""

import copy
import json
from typing import Any

import pytest

from unmask.schemas import growth
from unmask.schemas.codec import HEADER_LENGTH, decode, encode, headers
from unmask.schemas.errors import EncodeError
from unmask.schemas.growth import by_fields, carrier, filling, with_defaults
from unmask.schemas.history import RECORDS, _load, latest, published
from unmask.schemas.testing import first_sample, sample

GROWN = [record for record in RECORDS if len(published(record)) > 1]
ADDED: dict[str, Any] = {"name": "added", "type": "long", "default": 7}
LONGS = {"type": "array", "items": "long"}


def version_of(record: str, value: dict[str, Any]) -> int:
    """The version that a value's bytes say they are of."""
    return headers(record).index(encode(record, value)[:HEADER_LENGTH]) + 1


def defaults(record: str) -> dict[str, Any]:
    """What the newest version has and the first has not, saying nothing."""
    known = {field["name"] for field in published(record)[0].source["fields"]}
    return {f["name"]: f["default"] for f in latest(record).source["fields"] if f["name"] not in known}


@pytest.mark.parametrize("record", RECORDS)
def test_what_says_nothing_new_is_written_in_the_first_version_with_and_without_the_new_fields(record: str) -> None:
    old = first_sample(record)
    assert version_of(record, old) == 1
    assert encode(record, old | defaults(record)) == encode(record, old)
    assert decode(record, encode(record, old)) == old | defaults(record)


@pytest.mark.parametrize("record", GROWN)
def test_each_new_field_alone_needs_the_version_that_has_it(record: str) -> None:
    new = sample(record)
    for name in defaults(record):
        value = first_sample(record) | {name: new[name]}
        assert version_of(record, value) == 2, name
        assert decode(record, encode(record, value)) == first_sample(record) | defaults(record) | {name: new[name]}


@pytest.mark.parametrize(
    ("record", "changes"),
    [
        ("tally", {"measure": "route_selection"}),
        ("alert", {"kind": "PREFERENCE_DRIFT"}),
        ("admission", {"step": "APPEALED"}),
        ("verdict", {"findings": ["LOSSY_EVIDENCE", "STALLED_DELEGATION"]}),
        ("evidence_flaw", {"cause": "identity"}),
        ("event_batch", {"accounts": [{"family": "delegation_effect", "recorded": 0, "dropped": []}]}),
    ],
)
def test_a_new_symbol_needs_the_version_that_has_it(record: str, changes: dict[str, Any]) -> None:
    value = first_sample(record, **changes)
    assert version_of(record, value) == 2
    assert decode(record, encode(record, value)) == value | defaults(record)
    assert carrier(record, value)[0] is latest(record)


@pytest.mark.parametrize("silence", [[], ()])
def test_an_empty_tuple_says_what_an_empty_list_says(silence: Any) -> None:
    value = first_sample("event_batch", witnesses=silence, delegation_effects=silence)
    assert encode("event_batch", value) == encode("event_batch", first_sample("event_batch"))


@pytest.mark.parametrize(
    ("record", "changes"),
    [
        ("session_tally", {"selections_total": 0}),
        ("verdict", {"user_profile": ""}),
        ("alert", {"delegation_id": ""}),
    ],
)
def test_zero_and_an_empty_text_are_not_null(record: str, changes: dict[str, Any]) -> None:
    value = first_sample(record) | changes
    assert version_of(record, value) == 2
    assert decode(record, encode(record, value)) == first_sample(record) | defaults(record) | changes


@pytest.mark.parametrize("wrong", [0, False, None, 1.5])
def test_what_is_no_list_is_refused_where_a_list_belongs(wrong: Any) -> None:
    with pytest.raises(EncodeError):
        encode("event_batch", first_sample("event_batch", witnesses=wrong))


@pytest.mark.parametrize("record", GROWN)
@pytest.mark.parametrize("bad", [None, [], 7, "text"])
def test_what_is_no_record_is_refused_by_name(record: str, bad: Any) -> None:
    with pytest.raises(EncodeError):
        encode(record, bad)


def test_what_is_asked_is_not_changed() -> None:
    value = first_sample("event_batch") | defaults("event_batch")
    before = copy.deepcopy(value)
    by_fields("event_batch", value)
    encode("event_batch", value)
    assert value == before


def test_values_that_were_read_share_no_lists() -> None:
    one, other = (decode("event_batch", encode("event_batch", first_sample("event_batch"))) for _ in range(2))
    one["witnesses"].append("route_selection")
    assert other["witnesses"] == []
    assert latest("event_batch").source["fields"][-1]["default"] == []


@pytest.mark.parametrize("record", RECORDS)
def test_the_newest_version_lacks_nothing(record: str) -> None:
    assert filling(latest(record)) is None
    value = sample(record)
    assert with_defaults(latest(record), dict(value)) == value


@pytest.mark.parametrize("record", RECORDS)
def test_every_published_version_grew_as_old_readers_follow(record: str) -> None:
    *older, newest = published(record)
    for schema in older:
        growth._growth(schema, newest)


def grown(change: Any) -> None:
    """Compares the published window with a later one that was changed so."""
    source = json.loads(json.dumps(published("window")[0].source))
    change({field["name"]: field for field in source["fields"]}, source["fields"])
    growth._growth(published("window")[0], _load("window", 2, source))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda by, _: by["evidence"]["type"]["items"]["fields"].append(ADDED), "grows inside FamilyEvidence"),
        (lambda by, _: by["evidence"]["type"]["items"]["fields"].pop(), "grows inside FamilyEvidence"),
        (lambda _, fields: fields.insert(0, ADDED), "does not begin with the fields"),
        (lambda _, fields: fields.pop(), "does not begin with the fields"),
        (lambda _, fields: fields.append({"name": "added", "type": "long"}), "without a default"),
        (lambda _, fields: fields.append(ADDED | {"type": LONGS, "default": [1]}), "not empty by default"),
        (lambda by, _: by["attempts"].update(type="double"), "changes the type"),
        (lambda by, _: by["attempts"].update(type=LONGS), "changes the type"),
        (lambda by, _: by["fallbacks_by_reason"].update(type=LONGS), "changes the type"),
        (lambda by, _: by["capability"].update(type=["null", "string", "long"]), "no optional value"),
        (lambda by, _: by["evidence"]["type"]["items"]["fields"][1]["type"]["symbols"].pop(), "lost a symbol"),
    ],
)
def test_growth_that_old_readers_do_not_follow_is_refused_by_name(change: Any, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        grown(change)


def test_growth_at_the_top_and_by_symbols_is_followed() -> None:
    grown(lambda _, fields: fields.append(ADDED))
    grown(lambda by, _: by["evidence"]["type"]["items"]["fields"][2]["type"]["items"]["symbols"].insert(0, "new"))
