"""The emitter's promises to its host: it never raises, never blocks, never lies about what it has."""

import signal
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from pydantic import ValidationError

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.errors import InvalidSettings
from unmask.producers.report import FAMILIES
from unmask.producers.testing import account_faults
from unmask.schemas.codes import DropCause, Family
from unmask.schemas.errors import NoBroker, UnsafeClientOption

Cut = Callable[[], list[dict[str, Any]]]


class Hostile:
    """Raises whatever is done with it."""

    def __str__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError


def _all(batches: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    return [event for batch in batches for event in batch[field]]


def test_the_opening_batch_is_cut_at_once(emitter: Emitter, cut: Cut) -> None:
    assert emitter.health().batches_cut == 1
    first = cut()[0]
    assert (first["batch_seq"], first["accounts"], first["closing"]) == (1, [], False)
    assert first["emitter"]["emitter_id"] == emitter.emitter_id


def test_fallbacks_of_a_rollback_or_pin_leave_nothing(emitter: Emitter, cut: Cut) -> None:
    emitter.record_fallback("answer", "rollback")
    emitter.record_fallback("answer", "pinned by operator")
    assert _all(cut(), "kernel_fallbacks") == []
    assert emitter.counts()[Family.KERNEL_FALLBACK].recorded == 0


def test_every_field_of_a_fallback_arrives(emitter: Emitter, cut: Cut) -> None:
    emitter.record_fallback(
        "answer", TimeoutError(), entry_point="api", run_id="r", tenant_id="t", conversation_id="c", session_id="s",
        operation_id="o",
    )  # fmt: skip
    emitter.record_fallback("answer", 503)
    full, bare = _all(cut(), "kernel_fallbacks")
    assert {name: full[name] for name in full if name != "occurred_at"} == {
        "event_type": "kernel_fallback.v1", "capability": "answer", "reason_code": "timeout",
        "route_expected": "kernel", "runtime_route": "legacy", "entry_point": "api", "run_id": "r", "tenant_id": "t",
        "conversation_id": "c", "session_id": "s", "operation_id": "o",
    }  # fmt: skip
    assert [bare[name] for name in ("entry_point", "run_id", "tenant_id", "session_id", "operation_id")] == [None] * 5


def test_an_attempt_without_an_entry_point_is_unspecified(emitter: Emitter, cut: Cut) -> None:
    emitter.record_route_attempt("answer")
    emitter.record_route_attempt("answer", "api", "run-1")
    groups = _all(cut(), "route_attempts")
    assert [(group["entry_point"], group["run_id"]) for group in groups] == [("unspecified", []), ("api", ["run-1"])]


def test_a_fallback_and_a_teardown_do_not_wait_for_the_interval(emitter: Emitter) -> None:
    def cut_within(seconds: float, more_than: int) -> bool:
        deadline = time.monotonic() + seconds
        while emitter.health().batches_cut <= more_than and time.monotonic() < deadline:
            time.sleep(0.005)
        return emitter.health().batches_cut > more_than

    emitter.record_route_attempt("answer")
    assert not cut_within(0.7, 1)
    emitter.record_fallback("answer", 503)
    assert cut_within(5, 1)
    cuts = emitter.health().batches_cut
    with emitter.session("s"):
        pass
    assert cut_within(5, cuts)


@pytest.mark.parametrize("junk", [Hostile(), None, 7, b"bytes", "", [], object(), "x" * 1_000_000, "\ud800"])
def test_no_argument_can_make_a_record_call_raise(emitter: Emitter, cut: Cut, junk: Any) -> None:
    emitter.record_route_attempt(junk, junk, junk)
    emitter.record_fallback(
        junk, junk, entry_point=junk, run_id=junk, tenant_id=junk, conversation_id=junk, session_id=junk,
        operation_id=junk,
    )  # fmt: skip
    emitter.record_masked_error(
        junk, junk, junk, junk, junk, equivalence=junk, answered_by=junk, primary_shape=junk, fallback_shape=junk
    )
    with emitter.session(junk, junk, primary_paths=junk) as session:
        assert session.call(junk, lambda: 1, lambda: 2, receipt=junk, capability=junk, operation_id=junk) == 1
        assert session.call(junk, _raise, lambda: 2, receipt=junk, capability=junk, operation_id=junk) == 2
    batches = cut()
    assert account_faults(batches) == []
    counts = emitter.counts()
    for family in FAMILIES:
        assert counts[family].recorded == counts[family].lost
    # None is no capability for a session's call, and no fault. The second call under one id is no second attempt.
    assert counts[Family.ROUTE_ATTEMPT].recorded == (1 if junk is None else 2 if isinstance(junk, str) else 3)
    assert counts[Family.SESSION_TEARDOWN].recorded == 1


def test_labels_beyond_the_limit_overflow(emitter: Emitter, cut: Cut) -> None:
    for number in range(10_000):
        emitter.record_route_attempt(f"capability-{number}", "api")
    groups = _all(cut(), "route_attempts")
    assert {group["capability"] for group in groups} == {f"capability-{n}" for n in range(256)} | {"overflow"}


def test_a_full_buffer_drops_counts_and_says_so_in_the_next_batch(kept: Any) -> None:
    settings = EmitterSettings(bootstrap_servers="127.0.0.1:1", buffer_limit=10, flush_interval_ms=3_600_000)
    emitter = Emitter(settings, stores=kept.store)
    for _ in range(25):
        emitter.record_route_attempt("answer")
    attempts = emitter.counts()[Family.ROUTE_ATTEMPT]
    assert (attempts.recorded, attempts.pending, dict(attempts.dropped)) == (25, 10, {DropCause.BUFFER_FULL: 15})
    emitter.record_masked_error("s", "o", "openai", 503, "r")
    assert emitter.counts()[Family.MASKED_ERROR].pending == 1
    emitter.close(0.6)
    (account,) = [each for each in kept.decoded[-1]["accounts"] if each["family"] == "route_attempt"]
    assert account["recorded"] == 25
    assert account["dropped"] == [{"cause": "buffer_full", "count": 15}]


def test_closing_cuts_a_closing_batch_and_reports_what_was_lost(emitter: Emitter, cut: Cut) -> None:
    emitter.record_route_attempt("answer")
    batches = cut()
    assert [batch["closing"] for batch in batches][-1] is True
    assert sum(batch["closing"] for batch in batches) == 1
    report = emitter.close()
    assert not report.complete
    assert not report.closed
    assert report.dropped[Family.ROUTE_ATTEMPT] == {DropCause.CLOSE_DEADLINE: 1}


def test_a_closed_emitter_counts_what_comes_too_late_and_does_nothing_else(emitter: Emitter) -> None:
    emitter.close(0)
    cuts = emitter.health().batches_cut
    for _ in range(3):
        emitter.record_route_attempt("answer")
    emitter.record_fallback("answer", 503)
    with emitter.session("s") as session:
        session.call("openai", _raise, lambda: 1, receipt="r")
    counts = emitter.counts()
    assert [counts[family].dropped for family in FAMILIES] == [
        *({DropCause.CLOSE_DEADLINE: number} for number in (3, 1, 1, 1)), {}, {}, {},
    ]  # fmt: skip
    assert emitter.health().batches_cut == cuts
    assert emitter.flush(0)
    assert emitter.health().internal_errors == 0


def test_a_signal_handler_may_record_count_and_close_at_any_time(emitter: Emitter) -> None:
    numbers = count()

    def handler(*_: object) -> None:
        # A handler may be interrupted by the next one.
        number = next(numbers)
        emitter.record_route_attempt("signal")
        emitter.record_fallback("signal", 503, session_id="s", operation_id=f"signal-{number}")
        with emitter.session(f"signal-{number}"):
            pass
        counts = emitter.counts()
        for family in FAMILIES:
            each = counts[family]
            assert each.recorded == each.delivered + each.pending + each.lost

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
    recorded = 0
    try:
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            emitter.record_route_attempt("main")
            emitter.record_fallback("main", 503, session_id="s", operation_id=f"main-{recorded}")
            emitter.counts()
            recorded += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    handled = next(numbers)
    assert handled > 100
    counts = emitter.counts()
    assert counts[Family.ROUTE_ATTEMPT].recorded == recorded + handled
    assert counts[Family.KERNEL_FALLBACK].recorded == recorded + handled
    assert counts[Family.SESSION_TEARDOWN].recorded == handled
    assert emitter.health().internal_errors == 0


def test_past_instants_can_be_written_with_a_clock_of_ones_own(kept: Any) -> None:
    now = 1_767_225_600 * 10**9
    settings = EmitterSettings(bootstrap_servers="127.0.0.1:1", flush_interval_ms=3_600_000)
    emitter = Emitter(settings, clock=lambda: now, stores=kept.store)
    for second in (1, 2, 61):
        now = (1_767_225_600 + second) * 10**9
        emitter.record_route_attempt("answer")
    emitter.close(0.6)
    (group,) = _all(kept.decoded, "route_attempts")
    assert group["occurred_at"] == [1_767_225_601_000_000, 1_767_225_602_000_000, 1_767_225_661_000_000]
    assert kept.decoded[-1]["sent_at"] == 1_767_225_661_000_000


def test_settings_that_cannot_work_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    threads = threading.active_count()
    with pytest.raises(NoBroker):
        Emitter(EmitterSettings())
    with pytest.raises(UnsafeClientOption):
        Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", client_options={"acks": "1"}))
    with pytest.raises(InvalidSettings, match="client_options"):
        Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", client_options={"no.such.option": "1"}))
    with pytest.raises(ValidationError, match="release_line"):
        EmitterSettings(release_line="a@b.org")
    assert threading.active_count() <= threads


def test_settings_come_from_the_environment_where_they_are_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_NAMESPACE", "staging")
    monkeypatch.setenv("UNMASK_RELEASE_LINE", "r7")
    settings = EmitterSettings.from_environment(heartbeat_ms=5_000)
    assert (settings.topic, settings.scope.release_line, settings.heartbeat_ms) == ("staging.events", "r7", 5_000)


def _raise() -> int:
    raise TimeoutError
