"""Which records are requests: the checker and the ledger must draw the same line, or decisions seem to be missing."""

from typing import Any

import pytest

from unmask.consumers.effects_check.history import History, Partition
from unmask.consumers.effects_check.read import take_decision, take_request
from unmask.consumers.topic_reader import Row
from unmask.schemas.codec import encode
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import SingleObjectFraming
from unmask.schemas.keys import effect_route
from unmask.schemas.partitioner import partition_for
from unmask.streams.effects.intake import Intake

_PARTITIONS = 4
_GOOD: dict[str, Any] = {
    "request_id": "q", "kind": "claim", "tenant": "t", "failure": "f", "strategy": "s", "strategy_version": "1",
    "budget_key": "b", "holder": "h", "asked_at": 1, "fingerprint": "p", "lease_ms": 1_000, "budget_limit": None,
    "fencing_token": None, "receipt": None,
}  # fmt: skip
_ROUTE = effect_route("t", "b")
_PLACE = partition_for(_ROUTE, _PARTITIONS)


def row(value: bytes | None, key: bytes = _ROUTE.encode(), partition: int = _PLACE) -> Row:
    return Row(partition, 7, key, value, 1_000)


@pytest.mark.parametrize(
    ("record", "good"),
    [
        (row(encode("effect_request", _GOOD)), True),
        (row(encode("effect_request", {**_GOOD, "kind": "release", "fencing_token": 4})), True),
        (row(encode("effect_request", {**_GOOD, "lease_ms": 86_400_000, "budget_limit": 1})), True),
        (row(encode("effect_request", {**_GOOD, "kind": "unknown_request"})), True),
        (row(encode("effect_request", {**_GOOD, "lease_ms": None})), False),
        (row(encode("effect_request", {**_GOOD, "lease_ms": 86_400_001})), False),
        (row(encode("effect_request", {**_GOOD, "lease_ms": 0})), False),
        (row(encode("effect_request", {**_GOOD, "budget_limit": 0})), False),
        (row(encode("effect_request", {**_GOOD, "fingerprint": None})), False),
        (row(encode("effect_request", {**_GOOD, "fingerprint": "not a token"})), False),
        (row(encode("effect_request", {**_GOOD, "holder": ""})), False),
        (row(encode("effect_request", {**_GOOD, "kind": "commit", "fencing_token": 4})), False),
        (row(encode("effect_request", {**_GOOD, "kind": "renew", "fencing_token": -1})), False),
        (row(encode("effect_request", _GOOD), key=b"t|c"), False),
        (row(encode("effect_request", _GOOD), partition=(_PLACE + 1) % _PARTITIONS), False),
        (row(encode("effect_request", _GOOD) + b"\0"), False),
        (row(encode("effect_request", _GOOD)[:-1]), False),
        (row(b"anything"), False),
        (row(None), False),
    ],
)
def test_what_is_a_request_to_the_ledger_is_one_to_the_checker(record: Row, good: bool) -> None:
    history = History({number: Partition(number) for number in range(_PARTITIONS)})
    take_request(history, SingleObjectFraming(), record, _PARTITIONS)
    (asked,) = history.partitions[record.partition].asked
    assert (asked.offset, asked.appended_at, asked.body is not None) == (7, 1_000_000, good)
    try:
        Intake(_PARTITIONS).read(record.partition, record.key, record.value)
        taken = True
    except DecodeError:
        taken = False
    assert taken is good


def test_a_decision_that_cannot_be_decoded_is_counted() -> None:
    history = History({0: Partition(0)})
    take_decision(history, SingleObjectFraming(), row(b"anything", partition=0))
    assert (history.partitions[0].unreadable, history.partitions[0].decided) == (1, [])
