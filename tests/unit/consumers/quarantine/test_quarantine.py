"""The quarantine: places, conditions, and which records may be replayed."""

import hashlib
from typing import Any

import pytest
from tests.unit.consumers.verify.hosts import Host, at
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.consumers.quarantine import (
    BadPlace,
    Condition,
    Entries,
    Original,
    Place,
    Replay,
    State,
    judge,
    mark_replayed,
    parse_place,
)
from unmask.consumers.quarantine.log_stretch import Standing
from unmask.consumers.topic_reader import Row
from unmask.consumers.verify.strict import StrictReader
from unmask.schemas.codec import encode
from unmask.schemas.framing import SingleObjectFraming

FRAMING = SingleObjectFraming()
READER = StrictReader(FRAMING)
GOOD = encode("event_batch", Host("e-1").cut(1))


def entry(offset: int, value: bytes = GOOD, partition: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "topic": "t.events", "partition": partition, "offset": offset, "broker_time": at(offset),
        "reason": "UNKNOWN_FINGERPRINT", "size": len(value), "digest": hashlib.sha256(value).hexdigest(),
        "fingerprint": None, "key": "e-1",
    } | changes  # fmt: skip


def entries(*values: dict[str, Any]) -> Entries:
    return Entries(FRAMING, [Row(0, n, b"k", encode("quarantine", value), 0) for n, value in enumerate(values)])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("3/42", Place("t.events", 3, 42)),
        ("other.events/0/7", Place("other.events", 0, 7)),
        (" t.events/1/2 ", Place("t.events", 1, 2)),
    ],
)
def test_a_place_is_a_partition_and_an_offset_with_or_without_its_topic(text: str, place: Place) -> None:
    assert parse_place(text, "t.events") == place
    assert parse_place(str(place), "x") == place


@pytest.mark.parametrize("text", ["", "3", "3/", "/3/4", "3/-1", "a/b/c", "3/4/5/6", "t_events/3/x"])
def test_a_text_that_names_no_place_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadPlace, match="3/42"):
        parse_place(text, "t.events")


def test_entries_stand_in_the_order_of_their_places_the_newest_word_on_each() -> None:
    found = entries(entry(9), entry(2, partition=1), entry(2), entry(9, reason="BAD_MAGIC"))
    assert [(place.partition, place.offset) for place, _ in found] == [(0, 2), (0, 9), (1, 2)]
    newest = found.get(Place("t.events", 0, 9))
    assert newest is not None
    assert newest.reason == "BAD_MAGIC"
    assert len(found) == 3


def test_an_entry_that_cannot_be_read_itself_is_counted() -> None:
    found = Entries(FRAMING, [Row(0, 0, b"k", b"nonsense", 0), Row(0, 1, b"k", None, 0)])
    assert (len(found), found.unreadable) == (0, 2)


def condition(original: Original | None, value: bytes = GOOD) -> Condition:
    ((_, quarantined),) = entries(entry(5, value))
    return judge(quarantined, original, READER)


def test_a_record_that_can_be_read_now_says_which_batch_it_is() -> None:
    assert condition(Original(b"e-1", GOOD)) == Condition(State.READABLE, "batch 1 of e-1")


def test_a_record_that_is_still_unreadable_says_why_and_quotes_nothing() -> None:
    secret = b"\xc3\x01my-secret-and-more"
    found = condition(Original(b"e-1", secret), secret)
    assert found.state is State.UNREADABLE
    assert found.detail.startswith("UNKNOWN_FINGERPRINT")
    assert "secret" not in found.detail
    wrong_key = condition(Original(b"e-2", GOOD))
    assert (wrong_key.state, wrong_key.detail.partition(":")[0]) == (State.UNREADABLE, "EMPTY_KEY")


def test_a_record_that_is_gone_or_replaced_is_told_apart() -> None:
    assert condition(None).state is State.GONE
    assert condition(Original(b"e-1", GOOD + b"\x00")).state is State.REPLACED
    assert condition(Original(b"e-1", None)).state is State.REPLACED


def test_an_empty_record_stands_although_it_has_no_bytes() -> None:
    found = condition(Original(b"e-1", None), b"")
    assert (found.state, found.detail.partition(":")[0]) == (State.UNREADABLE, "EMPTY_VALUE")


def test_an_original_shows_its_size_and_nothing_else() -> None:
    assert repr(Original(b"key", b"secret")) == "Original(6 bytes)"


def readable(offset: int, value: bytes = GOOD, key: bytes = b"e-1") -> Replay:
    return Replay(Place("t.events", 0, offset), Condition(State.READABLE, "batch"), Original(key, value))


def states(replays: list[Replay], log: list[Standing], *quarantined: dict[str, Any]) -> list[State]:
    mark_replayed(replays, log, entries(*quarantined))
    return [replay.condition.state for replay in replays]


def test_a_record_whose_bytes_stand_again_further_on_was_replayed() -> None:
    again = Standing(9, Original(b"e-1", GOOD))
    assert states([readable(5)], [Standing(5, Original(b"e-1", GOOD)), again]) == [State.REPLAYED]
    assert states([readable(5)], [Standing(9, Original(b"e-2", GOOD))]) == [State.READABLE]
    assert states([readable(5)], [Standing(9, Original(b"e-1", GOOD[:-1]))]) == [State.READABLE]
    assert states([readable(5)], [Standing(2, Original(b"e-1", GOOD))]) == [State.READABLE]


def test_a_copy_that_was_put_into_quarantine_too_counts_for_nothing() -> None:
    assert states([readable(5)], [Standing(9, Original(b"e-1", GOOD))], entry(9)) == [State.READABLE]


def test_of_records_with_the_same_bytes_only_the_first_is_replayed() -> None:
    assert states([readable(9), readable(5)], []) == [State.REPLAYED, State.READABLE]


@pytest.mark.parametrize(
    ("state", "refused"),
    [
        (State.READABLE, False),
        (State.REPLAYED, False),
        (State.UNREADABLE, True),
        (State.GONE, True),
        (State.REPLACED, True),
        (State.NOT_QUARANTINED, True),
    ],
)
def test_what_was_asked_for_and_cannot_be_done_is_refused(state: State, refused: bool) -> None:
    assert Replay(Place("t", 0, 0), Condition(state, "")).refused is refused
    assert Replay(Place("t", 0, 0), Condition(state, ""), failure="timed out").refused


RUN = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": "", "UNMASK_NAMESPACE": "", "TERM": "dumb", "COLUMNS": "200"})
NOWHERE = ["--bootstrap", "127.0.0.1:1", "--timeout", "1"]


@pytest.mark.parametrize("words", [["list"], ["show", "0/1"], ["replay", "--all"]])
def test_without_a_broker_each_command_fails_with_one_message(words: list[str]) -> None:
    result = RUN.invoke(app, ["quarantine", *words, *NOWHERE])
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["show", "here"],
        ["show", "another.topic/0/1"],
        ["replay"],
        ["replay", "0/1", "--all"],
        ["replay", "0/one"],
        ["list", "--namespace", "Not_One"],
    ],
)
def test_a_call_that_cannot_be_meant_is_refused_before_anything_is_asked(words: list[str]) -> None:
    assert RUN.invoke(app, ["quarantine", *words, *NOWHERE]).exit_code == 2
