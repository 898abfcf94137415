"""Intake: what is taken, and for which reason the rest is quarantined."""

from collections.abc import Callable
from typing import Any
from zlib import crc32

import pytest
from tests.unit.streams.ledger.emitting import T0, Life

from unmask.schemas.codec import MAGIC, encode
from unmask.schemas.codes import QuarantineReason
from unmask.schemas.errors import DecodeError, RegistryUnavailable
from unmask.streams.ledger.intake import Intake

TEXTS = ["someone@example.org", "https://example.org/?q=1", "two words", "", "x" * 65, "sk-live-4f9a8b7c6d5e4f3a2b1c"]
Change = Callable[[dict[str, Any]], object]


def _full() -> dict[str, Any]:
    life = Life()
    life.attempt(T0, 3)
    life.attempt(T0, 1, capability="index")
    life.fallback(T0, session_id="session-1", operation_id="op-1", entry_point="chat", run_id="run-1")
    life.masked(T0, primary_shape="a1", fallback_shape="b2")
    life.open(T0, predecessor="session-0")
    life.tear_down(T0, claims=[{"family": "masked_error", "count": 1}])
    life.drop("route_attempt", 2)
    return life.cut(T0 + 1)


def _grown() -> dict[str, Any]:
    """A batch of the version that came second."""
    life = Life(witnesses=("route_selection", "delegation_progress", "delegation_effect"))
    life.select(T0, cleared_by="runtime", reason_code="timeout", expires_at=T0 + 1)
    life.progress(T0, conditions="c1", subject="delegation-2", measure=-3, declared_scope="all", budget_calls=40)
    life.effect(
        T0, "refused", enforcer="effects", answer="HELD_BY_ANOTHER", effect_key="key-1", fingerprint="f-1",
        fencing_token=7, receipt="receipt-1", by="someone", reason_code="held",
    )  # fmt: skip
    return _full() | {name: value for name, value in life.cut(T0 + 1).items() if name in _NEW}


_NEW = ("route_selections", "delegation_progress", "delegation_effects", "witnesses")


def _read(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch as it is read, without its digest."""
    value = encode("event_batch", batch)
    read = Intake().read(b"emitter-a", value)
    assert read.pop("digest") == crc32(value)
    return read


def _refusal(value: bytes | None, key: bytes | None = b"emitter-a") -> DecodeError:
    with pytest.raises(DecodeError) as refused:
        Intake().read(key, value)
    return refused.value


def _set(path: str, value: Any) -> Change:
    def change(batch: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        at: Any = batch
        for name in parents:
            at = at[int(name)] if name.isdigit() else at[name]
        at[last] = value

    return change


@pytest.mark.parametrize("kind", [_full, _grown])
def test_a_batch_of_every_kind_is_taken_as_it_was_sent(kind: Callable[[], dict[str, Any]]) -> None:
    assert _read(kind()) == kind()


def test_a_heartbeat_is_taken() -> None:
    assert _read(Life().cut(T0)) == Life().cut(T0)


def test_batches_of_one_number_with_other_content_have_other_digests() -> None:
    def of(at: int) -> bytes:
        life = Life()
        life.attempt(at)
        return encode("event_batch", life.cut(T0 + 2))

    intake = Intake()
    # All but the first are read the quick way.
    digests = [intake.read(b"emitter-a", of(at))["digest"] for at in (T0, T0, T0 + 1, T0 + 1, T0)]
    assert len(set(digests[:2])) == len(set(digests[2:4])) == 1
    assert digests[0] == digests[4] != digests[2]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, QuarantineReason.EMPTY_VALUE),
        (b"", QuarantineReason.EMPTY_VALUE),
        (b"\x00\x01\x02\x03", QuarantineReason.BAD_MAGIC),
        (b'{"event": "fallback"}', QuarantineReason.BAD_MAGIC),
        (MAGIC, QuarantineReason.BAD_MAGIC),
        (MAGIC + b"12345678", QuarantineReason.UNKNOWN_FINGERPRINT),
    ],
)
def test_bytes_that_are_no_record_are_refused_by_what_they_lack(value: bytes | None, reason: QuarantineReason) -> None:
    assert _refusal(value).reason is reason


def test_a_record_of_another_kind_is_refused_as_unknown_here() -> None:
    other = {
        "topic": "t", "partition": 0, "offset": 0, "broker_time": T0, "reason": "BAD_MAGIC", "size": 0,
        "digest": "0" * 64, "fingerprint": None, "key": None,
    }  # fmt: skip
    assert _refusal(encode("quarantine", other)).reason is QuarantineReason.UNKNOWN_FINGERPRINT


@pytest.mark.parametrize("kind", [_full, _grown])
def test_a_body_that_is_cut_anywhere_is_refused(kind: Callable[[], dict[str, Any]]) -> None:
    data = encode("event_batch", kind())
    reasons = {_refusal(data[:length]).reason for length in range(10, len(data))}
    assert reasons <= {QuarantineReason.TRUNCATED, QuarantineReason.UNDECODABLE}
    assert QuarantineReason.TRUNCATED in reasons


def test_bytes_after_the_body_are_refused() -> None:
    assert _refusal(encode("event_batch", _full()) + b"12345").reason is QuarantineReason.TRAILING_BYTES


def test_a_body_that_is_not_of_its_schema_is_refused() -> None:
    data = encode("event_batch", _full())
    # The first letter of the emitter_id is no UTF-8.
    assert _refusal(data[:11] + b"\xff" + data[12:]).reason is QuarantineReason.UNDECODABLE


@pytest.mark.parametrize("key", [None, b"", b"emitter-b", b"emitter-\xff"])
def test_a_key_that_is_not_the_emitter_is_refused(key: bytes | None) -> None:
    assert _refusal(encode("event_batch", _full()), key).reason is QuarantineReason.EMPTY_KEY


LABELS = [
    "emitter.scope.release_line",
    "emitter.scope.switchboard",
    "route_attempts.0.capability",
    "route_attempts.1.entry_point",
    "kernel_fallbacks.0.capability",
    "kernel_fallbacks.0.entry_point",
    "kernel_fallbacks.0.run_id",
    "kernel_fallbacks.0.tenant_id",
    "kernel_fallbacks.0.conversation_id",
    "kernel_fallbacks.0.session_id",
    "kernel_fallbacks.0.operation_id",
    "masked_errors.0.session_id",
    "masked_errors.0.operation_id",
    "masked_errors.0.upstream",
    "masked_errors.0.fallback_execution_receipt",
    "masked_errors.0.primary_shape",
    "masked_errors.0.fallback_shape",
    "session_openings.0.session_id",
    "session_openings.0.predecessor_session_id",
    "session_teardowns.0.session_id",
    "route_selections.0.session_id",
    "route_selections.0.profile",
    *(f"delegation_progress.0.{name}" for name in ("delegation_id", "session_id", "invocation_id", "signal")),
    *(f"delegation_progress.0.{name}" for name in ("state_digest", "conditions", "subject", "declared_scope")),
    *(f"delegation_effects.0.{name}" for name in ("delegation_id", "session_id", "invocation_id", "answer")),
    *(f"delegation_effects.0.{name}" for name in ("effect_key", "fingerprint", "receipt", "by", "reason_code")),
]


@pytest.mark.parametrize("path", LABELS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_that_is_no_token_is_refused_wherever_it_stands(path: str, text: str) -> None:
    batch = _grown()
    _set(path, text)(batch)
    refused = _refusal(encode("event_batch", batch))
    assert refused.reason is QuarantineReason.INVALID_TOKEN
    assert not text or text not in str(refused)


def test_run_ids_are_tokens_or_empty() -> None:
    batch = _full()
    batch["route_attempts"][0]["run_id"] = ["run-1", "", "run-2"]
    assert _read(batch) == batch
    batch["route_attempts"][0]["run_id"] = ["run-1", "", "someone@example.org"]
    assert _refusal(encode("event_batch", batch)).reason is QuarantineReason.INVALID_TOKEN


CONTENT: dict[str, Change] = {
    "batch_seq begins at 1": _set("batch_seq", 0),
    "batch_seq is bounded": _set("batch_seq", 2**62),
    "heartbeat_ms begins at 1": _set("emitter.heartbeat_ms", 0),
    "heartbeat_ms is at most a day": _set("emitter.heartbeat_ms", 2**62),
    "sent_at is after 1970": _set("sent_at", -1),
    "sent_at is before 2200": _set("sent_at", 2**62),
    "started_at is after 1970": _set("emitter.started_at", -1),
    "attempts are before 2200": _set("route_attempts.0.occurred_at", [T0, 2**62, T0]),
    "attempts are after 1970": _set("route_attempts.0.occurred_at", [-5]),
    "fallbacks are before 2200": _set("kernel_fallbacks.0.occurred_at", 2**62),
    "masked errors are after 1970": _set("masked_errors.0.occurred_at", -1),
    "openings are before 2200": _set("session_openings.0.occurred_at", 2**62),
    "teardowns are before 2200": _set("session_teardowns.0.occurred_at", 2**62),
    "recorded is not negative": _set("accounts.0.recorded", -1),
    "recorded is bounded": _set("accounts.0.recorded", 2**62),
    "dropped is not negative": _set("accounts.0.dropped", [{"cause": "buffer_full", "count": -1}]),
    "dropped is part of recorded": _set("accounts.0.dropped", [{"cause": "buffer_full", "count": 999}]),
    "columns are equally long": _set("route_attempts.0.run_id", ["a"]),
    "the event type is known": _set("kernel_fallbacks.0.event_type", "kernel_fallback.v2"),
    "the expected route is the kernel": _set("kernel_fallbacks.0.route_expected", "legacy"),
    "the runtime route is the legacy one": _set("kernel_fallbacks.0.runtime_route", "kernel"),
    "signatures are of the grammar": _set("masked_errors.0.masked_upstream_signature", "connect to 10.0.0.1 failed"),
    "operations are not negative": _set("session_teardowns.0.operations", -1),
    "degraded operations are bounded": _set("session_teardowns.0.degraded_operations", 2**62),
    "claims are not negative": _set("session_teardowns.0.claims", [{"family": "masked_error", "count": -1}]),
    "selections are before 2200": _set("route_selections.0.occurred_at", 2**62),
    "a selection ends before 2200": _set("route_selections.0.expires_at", 2**62),
    "turns are not negative": _set("route_selections.0.turn", -1),
    "progress is after 1970": _set("delegation_progress.0.occurred_at", -1),
    "steps begin at 1": _set("delegation_progress.0.step", 0),
    "attempts begin at 1": _set("delegation_progress.0.attempt", 0),
    "tokens are not negative": _set("delegation_progress.0.tokens", -1),
    "budgets are not negative": _set("delegation_progress.0.budget_calls", -1),
    "measures are bounded": _set("delegation_progress.0.measure", -(2**62)),
    "effects are before 2200": _set("delegation_effects.0.occurred_at", 2**62),
    "a fencing token is not negative": _set("delegation_effects.0.fencing_token", -1),
    "an effect's turn is bounded": _set("delegation_effects.0.turn", 2**62),
    "a family has one account": lambda batch: batch["accounts"].append(batch["accounts"][0]),
}


@pytest.mark.parametrize("rule", CONTENT)
def test_content_that_breaks_a_rule_is_refused(rule: str) -> None:
    batch = _grown()
    CONTENT[rule](batch)
    assert _refusal(encode("event_batch", batch)).reason is QuarantineReason.INVALID_CONTENT


def test_families_that_this_reader_does_not_know_may_be_several() -> None:
    batch = _full()
    batch["accounts"] += [{"family": "unknown_family", "recorded": 1, "dropped": []}] * 2
    assert _read(batch) == batch


def test_more_labels_than_are_remembered_are_still_all_checked() -> None:
    intake = Intake()
    for number in range(10_100):
        batch = Life(emitter_id=f"emitter-{number}").cut(T0)
        intake.read(f"emitter-{number}".encode(), encode("event_batch", batch))
    batch = _full()
    batch["masked_errors"][0]["upstream"] = "someone@example.org"
    with pytest.raises(DecodeError):
        intake.read(b"emitter-a", encode("event_batch", batch))


def test_a_registry_that_does_not_answer_says_nothing_about_the_record() -> None:
    class Silent:
        def encode(self, record: str, value: dict[str, Any]) -> bytes:
            raise AssertionError("nothing is encoded here")

        def decode_any(self, records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
            raise RegistryUnavailable("give the schema 7", "ConnectionError")

    with pytest.raises(RegistryUnavailable):
        Intake(Silent()).read(b"emitter-a", b"\x00\x00\x00\x00\x07")
