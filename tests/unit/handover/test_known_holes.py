"""Holes that hand-overs by verdict are known to have, each from a host's session to the gate's answer, in memory."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.table_records import masked, session_tally, teardown
from tests.unit.consumers.verify.hosts import Record
from tests.unit.consumers.verify.stream_in_memory import InMemoryStream
from tests.unit.producers.recorded import RecordingHost

from unmask.consumers.gate import Admission, AdmissionAnswer, Recorded, decide
from unmask.producers import Session, Substitute
from unmask.schemas.codec import decode, encode
from unmask.schemas.verdict_digest import seal
from unmask.streams.verdict import adjudicate

Judge = Callable[[Session], dict[str, Any]]


@pytest.fixture
def host() -> Iterator[RecordingHost]:
    made = RecordingHost()
    yield made
    made.emitter.close(0)


@pytest.fixture
def judge(host: RecordingHost) -> Judge:
    """The verdict of an ended session: its batches through the stream's own ledger and tables."""

    def verdict_of(session: Session) -> dict[str, Any]:
        for _ in range(2):
            host.emitter._life.cut()
        stream = InMemoryStream()
        for offset, stored in enumerate(host.stored):
            batch = decode("event_batch", stored.data)
            stream.feed([Record(0, offset, batch["sent_at"], batch["emitter"]["emitter_id"].encode(), stored.data)])
        for later in (1_000_000, 2_000_000):
            stream.publish(batch["sent_at"] + later)
        found: dict[str, Any] = stream.newest("t.verdicts")[session.session_id]
        return found

    return verdict_of


def answer(verdict: dict[str, Any], *, mutating: bool = True) -> Admission:
    read = decode("verdict", encode("verdict", verdict))
    return decide(Recorded(verdict["session_id"], verdict["session_id"], read), mutating=mutating)


TIMEOUTS = [
    "TIMEOUT", "TIMEOUT_5000ms", "timed out", "deadline exceeded", "deadline has elapsed", "terminated", "ETIMEDOUT",
    408, 504, 522, 524, TimeoutError("the read took too long"), "Request Timeout", "context deadline exceeded",
]  # fmt: skip


@pytest.mark.parametrize("spelled", TIMEOUTS, ids=str)
def test_every_spelling_of_a_timeout_must_be_probed(host: RecordingHost, judge: Judge, spelled: object) -> None:
    """Case F12. The raw text is nowhere."""
    canary = f"{spelled} (key sk-live-canary)" if isinstance(spelled, str) and " " in spelled else spelled
    with host.session() as session:
        host.emitter.record_masked_error(session.session_id, "op-1", "prices", canary, "cache")
    verdict = judge(session)
    assert verdict["masked"][0]["masked_upstream_signature"].split("_")[0] in ("TIMEOUT", "HTTP")
    assert verdict["directive"] == "PROBE_UPSTREAM_BEFORE_ACTION"
    assert answer(verdict).answer is AdmissionAnswer.RECONCILE_FIRST
    assert b"canary" not in encode("verdict", verdict)


@pytest.mark.parametrize("failed", [502, 503])
def test_a_server_error_is_none_and_must_be_probed_too(host: RecordingHost, judge: Judge, failed: int) -> None:
    """Case F13."""
    with host.session() as session:
        host.emitter.record_masked_error(session.session_id, "op-1", "prices", failed, "cache")
    verdict = judge(session)
    assert verdict["masked"][0]["masked_upstream_signature"] == f"HTTP_{failed}"
    assert verdict["directive"] == "PROBE_UPSTREAM_BEFORE_ACTION"


@pytest.mark.parametrize("degraded", [1, 2, 3, 5, 7, 11, 13, 33, 99, 333])
def test_the_threshold_is_applied_and_five_per_cent_exactly_are_not_above(degraded: int) -> None:
    def above(operations: int) -> bool:
        names = [f"op{n}" for n in range(degraded)]
        tally = session_tally(
            degraded=names, masked=[masked(name) for name in names[:64]], masked_errors=degraded,
            teardowns=[teardown(operations, degraded)],
        )  # fmt: skip
        verdict = adjudicate([tally], threshold=0.05)
        assert verdict is not None
        # At no ratio does anybody pass unreconciled, and no ratio is above 1.
        assert answer(verdict).answer is AdmissionAnswer.RECONCILE_FIRST
        assert 0 < verdict["degraded_operation_ratio"] <= 1
        return bool(verdict["above_threshold"])

    assert not above(20 * degraded)
    assert not above(20 * degraded + 1)
    assert above(20 * degraded - 1)
    assert above(degraded)


def test_a_failed_session_is_a_hard_failure_and_halts(host: RecordingHost, judge: Judge) -> None:
    with pytest.raises(ZeroDivisionError), host.session() as session:
        raise ZeroDivisionError
    verdict = judge(session)
    assert (verdict["verdict"], verdict["directive"]) == ("HARD_FAILURE", "HALT_AND_ALERT_DEVELOPER")
    for mutating in (True, False):
        assert answer(verdict, mutating=mutating).answer is AdmissionAnswer.HALTED


def test_hops_and_an_understated_count_of_operations_never_make_a_ratio_above_one(
    host: RecordingHost, judge: Judge
) -> None:
    """Case F01: both hops are in the receipts, and the operation is one."""
    with host.session() as session:
        for hop in ("first-backup", "second-backup"):
            host.emitter.record_masked_error(session.session_id, "op-1", hop, "QUOTA_EXHAUSTED", f"by-{hop}")
    verdict = judge(session)
    assert [m["fallback_execution_receipt"] for m in verdict["masked"]] == ["by-first-backup", "by-second-backup"]
    assert (verdict["operations"], verdict["degraded_operations"]) == (1, 1)
    assert verdict["degraded_operation_ratio"] == 1.0


@pytest.mark.parametrize("changes", [{"directive": "NONE"}, {"evidence": "COMPLETE"}])
def test_the_digest_covers_directive_and_evidence_and_is_verified(changes: dict[str, str]) -> None:
    tally = session_tally(degraded=["a"], masked=[masked("a")], evidence="LOSSY", teardowns=[teardown(40, 1)])
    verdict = adjudicate([tally], threshold=0.05)
    assert verdict is not None
    assert answer(verdict).answer is AdmissionAnswer.UNPROVEN
    assert seal({**verdict, **changes})["digest"] != verdict["digest"]
    assert answer({**verdict, **changes}).answer is AdmissionAnswer.UNVERIFIABLE


def fails() -> object:
    raise ConnectionRefusedError


def test_a_fallback_that_is_the_documented_primary_path_is_none(host: RecordingHost, judge: Judge) -> None:
    with host.emitter.session("meant-so", primary_paths=[("prices", "cache")]) as session:
        session.call("prices", fails, Substitute("cache", lambda: 1))
    verdict = judge(session)
    assert (verdict["verdict"], verdict["degraded_operations"]) == ("CLEAN_SUCCESS", 0)
    assert answer(verdict).answer is AdmissionAnswer.ADMITTED
    # The same call by the same host, not declared, is one.
    with host.session() as other:
        other.call("prices", fails, Substitute("cache", lambda: 1))
    assert judge(other)["verdict"] == "DEGRADED_SUCCESS"


def test_a_second_try_of_the_very_same_upstream_is_a_retry(host: RecordingHost, judge: Judge) -> None:
    """Case F06."""
    with host.session() as session:
        session.call("prices", fails, Substitute("prices", lambda: 1))
    verdict = judge(session)
    assert (verdict["verdict"], verdict["degraded_operations"]) == ("CLEAN_SUCCESS", 0)
