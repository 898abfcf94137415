"""What is no request is refused by name, and nothing that would be decided elsewhere is decided here."""

from typing import Any

import pytest
from tests.unit.streams.effects.asking import KEY, request

from unmask.schemas.codec import encode
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError
from unmask.schemas.partitioner import partition_for
from unmask.streams.effects.intake import Intake

ROUTE = b"acme|conversation-7"
PARTITION = partition_for(ROUTE, 6)
CLAIM = request("claim", fingerprint="f", lease_ms=1_000)


def read(value: dict[str, Any], key: bytes | None = ROUTE, partition: int = PARTITION) -> dict[str, Any]:
    return Intake(6).read(partition, key, encode("effect_request", value))


@pytest.mark.parametrize(
    "value",
    [
        CLAIM,
        CLAIM | {"budget_limit": 1},
        request("commit", fencing_token=1, receipt="r"),
        request("release", fencing_token=1),
        request("renew", fencing_token=1, lease_ms=86_400_000),
        request("expire", fencing_token=1),
        request("unknown_request"),
    ],
    ids=lambda value: value["kind"],
)
def test_what_has_all_that_its_kind_needs_is_taken(value: dict[str, Any]) -> None:
    assert read(value) == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (CLAIM | {"fingerprint": None}, QuarantineReason.INVALID_CONTENT),
        (CLAIM | {"lease_ms": None}, QuarantineReason.INVALID_CONTENT),
        (CLAIM | {"lease_ms": 0}, QuarantineReason.INVALID_CONTENT),
        (CLAIM | {"lease_ms": 86_400_001}, QuarantineReason.INVALID_CONTENT),
        (CLAIM | {"budget_limit": 0}, QuarantineReason.INVALID_CONTENT),
        (request("commit", fencing_token=1), QuarantineReason.INVALID_CONTENT),
        (request("commit", receipt="r"), QuarantineReason.INVALID_CONTENT),
        (request("release"), QuarantineReason.INVALID_CONTENT),
        (request("renew", fencing_token=1), QuarantineReason.INVALID_CONTENT),
        (request("expire", fencing_token=-1), QuarantineReason.INVALID_CONTENT),
        (CLAIM | {"failure": "a sentence"}, QuarantineReason.INVALID_TOKEN),
        (CLAIM | {"failure": "a|b"}, QuarantineReason.INVALID_TOKEN),
        (CLAIM | {"holder": ""}, QuarantineReason.INVALID_TOKEN),
        (CLAIM | {"fingerprint": "sk-live-0123456789abcdef"}, QuarantineReason.INVALID_TOKEN),
        (CLAIM | {"tenant": "beta"}, QuarantineReason.EMPTY_KEY),
        (CLAIM | {"budget_key": "other"}, QuarantineReason.EMPTY_KEY),
    ],
)
def test_what_cannot_be_decided_about_is_refused_with_the_reason(
    value: dict[str, Any], reason: QuarantineReason
) -> None:
    with pytest.raises(DecodeError) as refused:
        read(value)
    assert refused.value.reason is reason


def test_a_request_on_another_partition_than_its_keys_is_refused_since_another_writer_decides_there() -> None:
    with pytest.raises(DecodeError, match="another partition"):
        read(CLAIM, partition=(PARTITION + 1) % 6)


@pytest.mark.parametrize("key", [None, b"", b"acme"])
def test_a_request_without_its_key_is_refused(key: bytes | None) -> None:
    with pytest.raises(DecodeError):
        read(CLAIM, key)


def test_the_full_key_of_the_sample_is_what_it_says() -> None:
    assert str(KEY) == "acme|quota|refund|v2|conversation-7"
    assert str(KEY.budget).encode() == ROUTE
