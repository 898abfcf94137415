"""What a fork waits for, so that no lock is copied that somebody holds, and what it never waits for."""

import gc
import os
import threading
import time
import weakref
from pathlib import Path

import pytest

from unmask.producers import Emitter, EmitterSettings, fork
from unmask.producers.report import OutboxState
from unmask.schemas.codes import Family

NOBODY = "127.0.0.1:1"


def _child_says(what: str) -> str:
    """Fork; the child evaluates `what` in this module's names and says what it is."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(eval(what, globals())).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


def test_a_fork_waits_until_nobody_is_inside_of_a_database() -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with fork.using_a_database():
            entered.set()
            leave.wait(5)
            time.sleep(0.2)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    leave.set()
    before = time.monotonic()
    assert _child_says("fork.databases_work()") == "True"
    assert time.monotonic() - before >= 0.15
    thread.join()


def test_a_fork_does_not_wait_for_ever_and_the_child_then_has_no_databases() -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with fork.using_a_database():
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    before = time.monotonic()
    assert _child_says("fork.databases_work()") == "False"
    assert time.monotonic() - before < 5
    assert fork.databases_work()
    leave.set()
    thread.join()
    # The child of the one, and the parent after it, are as before.
    assert _child_says("fork.databases_work()") == "True"


def test_a_fork_waits_for_a_client_that_begins_but_not_for_long() -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY))
    made = time.monotonic()
    assert not emitter._worker.client_settled(made)
    assert _child_says("1 + 1") == "2"
    assert 0.25 < time.monotonic() - made < 3
    assert emitter._worker.client_settled(time.monotonic())
    # In the parent record calls go the short way again.
    emitter.record_route_attempt("answer")
    assert emitter._limit > 0
    emitter.close(0)


def test_a_fork_from_a_signal_handler_in_the_middle_of_a_start_does_not_wait_for_that_start() -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY))
    emitter._worker._started = None
    assert emitter._worker.client_settled(time.monotonic())
    emitter.close(0)


def test_a_thread_may_record_while_a_fork_waits(tmp_path: Path) -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY, outbox_dir=tmp_path))
    running, recorded = True, 0

    def work() -> None:
        nonlocal recorded
        while running:
            emitter.record_route_attempt("answer")
            recorded += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(5):
        assert _child_says("1 + 1") == "2"
    running = False
    thread.join()
    assert emitter.counts()[Family.ROUTE_ATTEMPT].recorded == recorded
    emitter.close(0)


def test_a_child_of_a_process_that_was_stuck_in_a_database_works_without_an_outbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY, outbox_dir=tmp_path))
    monkeypatch.setattr(fork, "_PATIENCE", 0.05)
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with fork.using_a_database():
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    globals()["_emitter"] = emitter
    said = _child_says("(_emitter.record_route_attempt('answer'), _emitter.health().outbox)[1]")
    assert OutboxState.UNAVAILABLE.name in said
    assert "FORKED_INSIDE_DATABASE" in said
    leave.set()
    thread.join()
    health = emitter.health().outbox
    assert health is not None
    assert health.state is OutboxState.ON
    emitter.close(0)


def test_a_client_is_freed_where_its_emitter_ends_and_not_by_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY))
        emitter.record_fallback("answer", 503)
        transport = weakref.ref(emitter._worker.transport)
        emitter.close(0.2)
        deadline = time.monotonic() + 20
        while transport() is not None and time.monotonic() < deadline:
            time.sleep(0.005)
        assert transport() is None
    finally:
        gc.enable()


def test_a_child_survives_the_garbage_of_emitters_that_were_closed_before() -> None:
    for _ in range(4):
        emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY))
        emitter.record_fallback("answer", 503)
        emitter.close(0)
    assert _child_says("gc.collect() >= 0") == "True"
