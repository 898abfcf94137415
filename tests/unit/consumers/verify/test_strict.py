"""Strict reading: what keeps every rule of the contract is a batch, everything else has its reason."""

from typing import Any

import pytest
from tests.unit.consumers.verify.hosts import Host

from unmask.consumers.verify.strict import StrictReader
from unmask.schemas.codec import encode
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import SingleObjectFraming

READER = StrictReader(SingleObjectFraming())


def full() -> dict[str, Any]:
    host = Host("e-1")
    host.opening(0.5, "s-1")
    host.attempt(1.0, 2.0)
    host.fallback(3.0)
    host.masked(4.0, "s-1", "op-1")
    host.selection(4.1, "s-1", expires_at=host.at(9.0), scope="window")
    host.call(4.2, "s-1")
    host.effect(4.3, "s-1", fencing_token=7)
    host.teardown(5.0, "s-1", claims=[{"family": "masked_error", "count": 1}])
    return host.cut(6.0)


def reason(key: bytes | None, value: bytes | None) -> QuarantineReason:
    with pytest.raises(DecodeError) as refused:
        READER.read(key, value)
    return refused.value.reason


def test_a_batch_with_every_kind_of_event_is_read_as_it_was_written() -> None:
    batch = full()
    assert READER.read(b"e-1", encode("event_batch", batch)) == batch


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, QuarantineReason.EMPTY_VALUE),
        (b"", QuarantineReason.EMPTY_VALUE),
        (b"hello", QuarantineReason.BAD_MAGIC),
        (b"\xc3\x01" + bytes(20), QuarantineReason.UNKNOWN_FINGERPRINT),
        (encode("event_batch", full())[:-3], QuarantineReason.TRUNCATED),
        (encode("event_batch", full()) + b"\x00", QuarantineReason.TRAILING_BYTES),
    ],
)
def test_bytes_that_are_no_batch_are_refused_with_their_reason(value: bytes | None, why: QuarantineReason) -> None:
    assert reason(b"e-1", value) is why


@pytest.mark.parametrize("key", [None, b"", b"e-2"])
def test_another_key_than_the_emitters_is_refused(key: bytes | None) -> None:
    assert reason(key, encode("event_batch", full())) is QuarantineReason.EMPTY_KEY


def broken(**changes: Any) -> bytes:
    return encode("event_batch", full() | changes)


def part(name: str, **changes: Any) -> bytes:
    return broken(**{name: [entry | changes for entry in full()[name]]})


def emitter(**changes: Any) -> bytes:
    return broken(emitter=full()["emitter"] | changes)


def account(family: str, recorded: int, dropped: int = 0) -> dict[str, Any]:
    return {"family": family, "recorded": recorded, "dropped": [{"cause": "buffer_full", "count": dropped}]}


@pytest.mark.parametrize(
    "value",
    [
        broken(batch_seq=0),
        emitter(heartbeat_ms=0),
        emitter(heartbeat_ms=86_400_001),
        broken(sent_at=-1),
        emitter(started_at=1 << 60),
        part("route_attempts", occurred_at=[1, 1 << 60]),
        part("route_attempts", run_id=["only-one"]),
        part("route_selections", turn=-1),
        part("route_selections", expires_at=-1),
        part("delegation_progress", step=0),
        part("delegation_progress", attempt=0),
        part("delegation_progress", tokens=-1),
        part("delegation_progress", budget_tokens=-1),
        part("delegation_progress", measure=2**60),
        part("delegation_effects", fencing_token=-1),
        part("session_teardowns", operations=-1),
        part("session_teardowns", claims=[{"family": "masked_error", "count": -1}]),
        part("kernel_fallbacks", event_type="kernel_fallback.v9"),
        part("kernel_fallbacks", runtime_route="kernel"),
        part("masked_errors", masked_upstream_signature="the upstream said no"),
        broken(accounts=[account("masked_error", 1), account("masked_error", 1)]),
        broken(accounts=[account("masked_error", 1, dropped=2)]),
        broken(accounts=[account("masked_error", -1)]),
    ],
)
def test_a_batch_that_breaks_a_rule_is_invalid_content(value: bytes) -> None:
    assert reason(b"e-1", value) is QuarantineReason.INVALID_CONTENT


@pytest.mark.parametrize(
    "value",
    [
        part("route_attempts", capability="a b"),
        part("route_attempts", run_id=["fine", "not fine"]),
        part("kernel_fallbacks", tenant_id="someone@example.org"),
        part("masked_errors", fallback_execution_receipt=""),
        part("session_openings", session_id="sk-live-abcdefghijklmnop"),
        part("session_teardowns", session_id="x" * 65),
        part("route_selections", profile="a profile"),
        part("delegation_progress", state_digest="https://example.org"),
        part("delegation_effects", by="a b"),
    ],
)
def test_a_text_that_is_no_token_is_refused_and_not_quoted(value: bytes) -> None:
    with pytest.raises(DecodeError) as refused:
        READER.read(b"e-1", value)
    assert refused.value.reason is QuarantineReason.INVALID_TOKEN
    assert str(refused.value) == "INVALID_TOKEN: a text in the batch is not a token"


def test_families_of_a_later_version_may_share_the_name_of_the_unknown() -> None:
    accounts = [account("unknown_family", 3), account("unknown_family", 4)]
    assert READER.read(b"e-1", broken(accounts=accounts))["accounts"] == accounts
