"""The quarantine's entries hold a record's place and nothing of its text."""

import hashlib

import pytest
from tests.unit.streams.ledger.emitting import T0

from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError, UnknownFingerprint
from unmask.streams.ledger.quarantine import quarantine_entry

BAD = DecodeError(QuarantineReason.BAD_MAGIC, "no header")
CANARIES = [b"sk-live-4f9a8b7c6d5e4f3a2b1c", b"someone@example.org", b"https://example.org/?q=secret"]


def test_an_entry_tells_where_the_record_stands_and_why_it_was_refused() -> None:
    entry = quarantine_entry("ns.events", 3, 7, T0, b"emitter-a", b"12345", BAD)
    assert entry == {
        "topic": "ns.events", "partition": 3, "offset": 7, "broker_time": T0, "reason": "BAD_MAGIC", "size": 5,
        "digest": hashlib.sha256(b"12345").hexdigest(), "fingerprint": None, "key": "emitter-a",
    }  # fmt: skip
    assert decode("quarantine", encode("quarantine", entry)) == entry


def test_an_unknown_fingerprint_is_told_so_that_the_writers_version_can_be_found() -> None:
    entry = quarantine_entry("ns.events", 0, 0, T0, b"emitter-a", b"x", UnknownFingerprint("00ff"))
    assert (entry["reason"], entry["fingerprint"]) == ("UNKNOWN_FINGERPRINT", "00ff")


@pytest.mark.parametrize("canary", CANARIES)
def test_no_text_of_key_or_value_stands_in_an_entry(canary: bytes) -> None:
    entry = quarantine_entry("ns.events", 0, 0, T0, canary, canary, BAD)
    assert canary not in encode("quarantine", entry)
    assert entry["key"] == "sha256-" + hashlib.sha256(canary).hexdigest()[:32]


@pytest.mark.parametrize("key", [None, b""])
def test_a_record_without_a_key_has_none_in_its_entry(key: bytes | None) -> None:
    assert quarantine_entry("ns.events", 0, 0, T0, key, None, BAD)["key"] is None


def test_a_tombstone_has_no_bytes() -> None:
    entry = quarantine_entry("ns.events", 0, 0, T0, b"emitter-a", None, BAD)
    assert (entry["size"], entry["digest"]) == (0, hashlib.sha256(b"").hexdigest())
