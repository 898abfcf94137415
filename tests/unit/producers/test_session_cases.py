"""Situations that other projects met, replayed on the host's side."""

import logging
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.unit.producers.recorded import RecordingHost, fails

from unmask.producers import Emitter, EmitterSettings, NotAttempted, Session, Substitute, classify_refusal
from unmask.producers.testing import account_faults
from unmask.schemas.codec import decode
from unmask.schemas.codes import Family, ReasonCode
from unmask.schemas.signatures import is_signature


class Quota(Exception):
    status_code = 429
    code = "insufficient_quota"


def test_f01_a_failover_over_two_hops_is_one_degraded_operation_with_both_hops_told(host: RecordingHost) -> None:
    ways = (Substitute("anthropic", fails(Quota())), Substitute("mistral", lambda: "answer"))
    with host.session() as session:
        for _ in range(40):
            assert session.call("openai", fails(Quota()), *ways, capability="f01") == "answer"
    masked = host.masked(session)
    hops: dict[str, list[str]] = {}
    for each in masked:
        hops.setdefault(each["operation_id"], []).append(each["upstream"])
        assert each["masked_upstream_signature"] == "QUOTA_EXHAUSTED"
        assert each["fallback_execution_receipt"] == "mistral"
    assert list(hops.values()) == [["openai", "anthropic"]] * 40
    teardown = host.teardown(session)
    assert (teardown["outcome"], teardown["operations"], teardown["degraded_operations"]) == ("success", 40, 40)


def test_f03_a_rescue_that_always_works_hides_no_failure(host: RecordingHost) -> None:
    with host.session() as session:
        assert {session.call("openai", fails(TimeoutError()), lambda: 1, capability="f03") for _ in range(100)} == {1}
    assert host.attempts("f03") == len(host.fallbacks(session)) == len(host.masked(session)) == 100
    teardown = host.teardown(session)
    assert (teardown["outcome"], teardown["degraded_operations"]) == ("success", 100)
    assert teardown["claims"] == {"route_attempt": 100, "kernel_fallback": 100, "masked_error": 100}


class CircuitBreakerError(Exception):
    """As breakers raise it."""


def _by_raising(session: Session) -> None:
    session.call("openai", fails(NotAttempted()), lambda: 1, capability="f04")


def _by_a_breaker(session: Session) -> None:
    session.call("openai", fails(CircuitBreakerError("timed out 5 times, 503")), lambda: 1, capability="f04")


def _without_a_primary(session: Session) -> None:
    session.call("openai", None, lambda: 1, capability="f04")


def _as_a_stream(session: Session) -> None:
    list(session.stream("openai", None, lambda: [1], capability="f04"))


def _by_hand(session: Session) -> None:
    with session.operation(capability="f04") as operation:
        operation.not_attempted("openai")
        operation.answered("cache")


@pytest.mark.parametrize("fall_back", [_by_raising, _by_a_breaker, _without_a_primary, _as_a_stream, _by_hand])
def test_f04_a_fallback_without_an_upstream_call_counts_and_invents_no_error(
    host: RecordingHost, fall_back: Callable[[Session], None]
) -> None:
    before = host.attempts("f04")
    with host.session() as session:
        fall_back(session)
    assert host.attempts("f04") == before + 1
    assert [each["reason_code"] for each in host.fallbacks(session)] == ["circuit_open"]
    assert host.signatures(session) == ["NOT_ATTEMPTED"]


def _reasons() -> Iterator[str]:
    complaints = ("timed out after 5 s", "503", "rate limit", "no such tool", "", "quota exceeded", "unauthorized")
    for number in range(10_000):
        yield f"{complaints[number % 7]} for user{number}@example.org with key sk-live-{number:024d} at /srv/{number}"


def test_l01_ten_thousand_reasons_with_secrets_become_a_few_codes_and_are_in_nothing_that_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = EmitterSettings(bootstrap_servers="127.0.0.1:1", outbox_dir=tmp_path, flush_interval_ms=20)
    emitter = Emitter(settings)
    log = logging.getLogger("l01")
    log.propagate = False
    log.addHandler(logging.NullHandler())
    with emitter.session("l01") as session:
        for number, reason in enumerate(_reasons()):
            emitter.record_fallback("answer", reason, session_id="l01", operation_id=f"op-{number}")
            if number % 20:
                continue
            session.call(reason, fails(RuntimeError(reason)), Substitute(reason, lambda: 1, reason), request=reason)
            log.error(reason, exc_info=RuntimeError(reason))
            session.fell_back(reason, "cache", receipt=reason, answer={reason: reason}, request={reason: 1})
    emitter.close(1)
    assert emitter.counts()[Family.KERNEL_FALLBACK].recorded == 10_000
    spool = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
    assert len(spool) > 100_000
    spoken = f"{emitter.counts()!r} {emitter.health()!r} {caplog.text} {capfd.readouterr()}".encode()
    for kept in (spool, spoken):
        assert re.search(rb"example\.org|sk-live|user\d|/srv/|timed out|rate limit|no such tool", kept) is None


def test_l01_every_reason_is_of_the_closed_set(host: RecordingHost) -> None:
    with host.session() as session:
        for reason in islice(_reasons(), 700):
            session.fell_back("openai", "cache", reason, capability="l01")
    codes = {each["reason_code"] for each in host.fallbacks(session)}
    assert codes <= {str(code) for code in ReasonCode}
    assert len(codes) > 3
    assert all(map(is_signature, set(host.signatures(session))))
    assert {classify_refusal(reason) for reason in _reasons()} <= set(ReasonCode)


def test_every_batch_of_these_sessions_accounts_for_itself(host: RecordingHost) -> None:
    batches: list[Any] = [decode("event_batch", batch.data) for batch in list(host.stored)]
    assert len(batches) > 1
    assert account_faults(batches) == []
