"""The quick reader says what the general decoder says, or leaves the record to it."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.schemas.codec import encode
from unmask.schemas.errors import DecodeError
from unmask.schemas.testing import sample
from unmask.streams.ledger.accounting import read_account
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.quick_read import QuickReader

WITNESSED = ("route_selection", "delegation_progress", "delegation_effect")
_FIRST = ("kernel_fallbacks", "masked_errors", "session_openings", "session_teardowns")
_NEW = ("route_selections", "delegation_progress", "delegation_effects")
LABELS = ("retrieval", "answer", "tool_call", "POST_v1")
instants = st.one_of(
    st.integers(1_700_000_000_000_000, 1_900_000_000_000_000), st.integers(0, 200), st.integers(0, 7 * 10**15)
)
run_ids = st.one_of(
    st.just(""),
    st.just("run-00000001"),
    st.text("abc-_.019", min_size=1, max_size=64).filter(lambda t: t[0] not in ".-"),
)


@st.composite
def attempt_groups(draw: st.DrawFn) -> dict[str, Any]:
    n = draw(st.one_of(st.integers(0, 4), st.integers(10, 40)))
    times = draw(st.lists(instants, min_size=n, max_size=n))
    kind = draw(st.sampled_from(("none", "mixed", "even")))
    if kind == "none":
        runs = []
    elif kind == "even":
        runs = [f"run-{i:08x}" for i in range(n)]
    else:
        runs = draw(st.lists(run_ids, min_size=n, max_size=n))
    return {
        "capability": draw(st.sampled_from(LABELS)),
        "entry_point": draw(st.sampled_from(LABELS)),
        "occurred_at": times,
        "run_id": runs,
    }


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    groups = draw(st.lists(attempt_groups(), max_size=5))
    whole = sample("event_batch")
    families = draw(st.lists(st.sampled_from(("route_attempt", "masked_error", "delegation_effect")), unique=True))
    # The first version has no place for what is in `_NEW`; a batch with nothing of it is written in that.
    kept = draw(st.sampled_from(((), (*_FIRST, *_NEW), _FIRST, _NEW, ("route_selections",), ("delegation_progress",))))
    witnesses = draw(st.lists(st.sampled_from(WITNESSED), unique=True))
    return {
        **whole,
        "batch_seq": draw(st.integers(1, 10**12)),
        "sent_at": draw(instants),
        "closing": draw(st.booleans()),
        "accounts": [
            {
                "family": family,
                "recorded": draw(st.integers(0, 10**9)) + 10,
                "dropped": draw(st.sampled_from(([], [], [{"cause": "buffer_full", "count": 3}]))),
            }
            for family in families
        ],
        "route_attempts": groups,
        **{name: [] for name in (*_FIRST, *_NEW) if name not in kept},
        "witnesses": witnesses,
    }


class General(Intake):
    """The intake without its quick way."""

    def __init__(self) -> None:
        super().__init__()
        self._quick = None


def met_before(like: dict[str, Any] | None = None) -> tuple[Intake, Intake, bytes]:
    """An intake that knows the emitter and the labels, and one that always decodes.

    What was met was of the version in which `like` is written, the second by default, and had the same witnesses.
    """
    quick, general = Intake(), General()
    first = sample("event_batch")
    if like is not None:
        first |= {name: like[name] for name in (*_NEW, "witnesses")}
    first["route_attempts"] = [
        {"capability": capability, "entry_point": entry_point, "occurred_at": [1], "run_id": []}
        for capability, entry_point in product(LABELS, LABELS)
    ]
    key = first["emitter"]["emitter_id"].encode()
    value = encode("event_batch", first)
    quick.read(key, value)
    return quick, general, key


def plain(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch with lists for columns, without run ids, which nothing counts by."""
    groups = [
        {**group, "occurred_at": [int(instant) for instant in group["occurred_at"]], "run_id": []}
        for group in batch["route_attempts"]
    ]
    # What a batch that was read quickly does not hold, it leaves out.
    rest = {name: list(batch.get(name, ())) for name in (*_FIRST, *_NEW, "witnesses")}
    accounts = [{**account, "dropped": list(account["dropped"])} for account in batch.get("accounts", ())]
    if "accounts" not in batch:
        shipped, dropped, events = batch["summary"][2]
        accounts = [{"family": family, "recorded": n, "dropped": []} for family, n in shipped.items()]
        assert (shipped, dropped, events) == read_account({**batch, **rest, "accounts": accounts})
    if "summary" in batch:
        attempts = [int(instant) for group in batch["route_attempts"] for instant in group["occurred_at"]]
        assert not attempts or batch["summary"][:2] == (min(attempts), max(attempts))
    told = {name: value for name, value in batch.items() if name != "summary"}
    return {**told, "route_attempts": groups, "accounts": accounts, **rest}


def outcome(intake: Intake, key: bytes, value: bytes) -> dict[str, Any] | str:
    """The batch, or why it was refused."""
    try:
        return plain(intake.read(key, value))
    except DecodeError as error:
        return str(error.reason)


@settings(deadline=None, max_examples=150)
@given(batches())
def test_a_batch_reads_the_same_both_ways(batch: dict[str, Any]) -> None:
    quick, general, key = met_before(batch)
    value = encode("event_batch", batch)
    assert outcome(quick, key, value) == outcome(general, key, value)


@settings(deadline=None, max_examples=150)
@given(batches(), st.data())
def test_damaged_bytes_are_read_or_refused_the_same_both_ways(batch: dict[str, Any], data: st.DataObject) -> None:
    quick, general, key = met_before(batch)
    value = bytearray(encode("event_batch", batch))
    at = data.draw(st.integers(0, len(value) - 1))
    if data.draw(st.booleans()):
        value[at] ^= data.draw(st.integers(1, 255))
    else:
        del value[at:]
    assert outcome(quick, key, bytes(value)) == outcome(general, key, bytes(value))


@settings(deadline=None, max_examples=300)
@given(
    instants, instants, st.integers(1, 10**12), st.integers(0, 10**12), st.booleans(), run_ids,
    st.lists(st.sampled_from(WITNESSED), unique=True), st.data(),
)  # fmt: skip
def test_a_batch_of_one_attempt_reads_the_same_both_ways(
    sent: int, at: int, seq: int, recorded: int, closing: bool, run_id: str, witnesses: list[str], data: st.DataObject
) -> None:
    group = {"capability": "answer", "entry_point": "POST_v1", "occurred_at": [at], "run_id": [run_id][: recorded % 2]}
    batch = {
        **sample("event_batch"), "batch_seq": seq, "sent_at": sent, "closing": closing, "route_attempts": [group],
        "accounts": [{"family": "route_attempt", "recorded": recorded, "dropped": []}], "kernel_fallbacks": [],
        "masked_errors": [], "session_openings": [], "session_teardowns": [], **{name: [] for name in _NEW},
        "witnesses": witnesses,
    }  # fmt: skip
    quick, general, key = met_before(batch)
    value = encode("event_batch", batch)
    assert outcome(quick, key, value) == outcome(general, key, value)
    place = data.draw(st.integers(0, len(value) - 1))
    damaged = value[:place] + bytes([value[place] ^ data.draw(st.integers(1, 255))]) + value[place + 1 :]
    assert outcome(quick, key, damaged) == outcome(general, key, damaged)


def test_the_usual_batch_of_a_known_emitter_is_read_quickly() -> None:
    intake, _, key = met_before()
    batch = sample("event_batch")
    batch["accounts"] = [{"family": "route_attempt", "recorded": 100, "dropped": []}]
    times = list(range(1_795_974_360_000_000, 1_795_974_360_000_100))
    batch["route_attempts"] = [
        {"capability": "answer", "entry_point": "POST_v1", "occurred_at": times, "run_id": ["run-1"] * 100}
    ]
    assert intake._quick is not None
    read = intake._quick.read(key, encode("event_batch", batch))
    assert read is not None
    assert [int(instant) for instant in read["route_attempts"][0]["occurred_at"]] == times


@pytest.mark.parametrize("witnesses", [[], ["route_selection"], ["delegation_progress", "delegation_effect"]])
def test_a_heartbeat_is_read_quickly_whatever_its_emitter_witnesses(witnesses: list[str]) -> None:
    batch = sample("event_batch") | {name: [] for name in ("accounts", "route_attempts", *_FIRST, *_NEW)}
    batch["witnesses"] = witnesses
    intake, _, key = met_before(batch)
    assert intake._quick is not None
    read = intake._quick.read(key, encode("event_batch", batch))
    assert read is not None
    assert read["summary"][2] == ({}, {}, {})
    assert read.get("witnesses", ()) == tuple(witnesses)
    assert ("witnesses" in read) is bool(witnesses)


def test_a_heartbeat_is_read_quickly_from_the_second_one_on_that_says_what_its_emitter_witnesses() -> None:
    batch = sample("event_batch") | {name: [] for name in ("accounts", "route_attempts", *_FIRST, *_NEW)}
    intake, general, key = met_before()
    value = encode("event_batch", batch | {"witnesses": ["delegation_effect", "route_selection"]})
    assert outcome(intake, key, value) == outcome(general, key, value)
    assert intake.read(key, value)["witnesses"] == ("delegation_effect", "route_selection")


def test_an_emitter_that_was_not_met_is_left_to_the_general_decoder() -> None:
    value = encode("event_batch", sample("event_batch"))
    assert QuickReader().read(sample("event_batch")["emitter"]["emitter_id"].encode(), value) is None


def test_negative_codes_and_lengths_are_left_to_the_general_decoder() -> None:
    """The lowest bit of each is its sign; the decoder takes some of them in a way of its own."""
    quick, general, key = met_before()
    batch = sample("event_batch")
    batch["accounts"] = [{"family": "route_attempt", "recorded": 100, "dropped": []}]
    times = list(range(1_795_974_360_000_000, 1_795_974_360_000_020))
    batch["route_attempts"] = [
        {"capability": "answer", "entry_point": "POST_v1", "occurred_at": times, "run_id": ["run-1"] * 20}
    ]
    value = encode("event_batch", batch)
    assert quick._quick is not None
    assert quick._quick.read(key, value) is not None
    for at in range(value.index(b"sdk"), len(value)):
        damaged = value[:at] + bytes([value[at] | 1]) + value[at + 1 :]
        assert outcome(quick, key, damaged) == outcome(general, key, damaged), at
