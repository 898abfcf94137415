"""Disks that are full, read-only, forbidden or none at all: told by health(), counted, never the host's problem."""

import os
import resource
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.outbox_rig import end_of_the_dead, held

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.report import OutboxHealth, OutboxState
from unmask.producers.testing import lost_by_cause
from unmask.schemas.codes import DropCause, Family

NOBODY = "127.0.0.1:1"


def _emitter(box: Path, **settings: Any) -> Emitter:
    return Emitter(EmitterSettings(bootstrap_servers=NOBODY, outbox_dir=box, flush_interval_ms=10, **settings))


def _outbox(emitter: Emitter) -> OutboxHealth:
    outbox = emitter.health().outbox
    assert outbox is not None
    return outbox


def _until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def _mount(folder: Path, options: str) -> bool:
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 2,400 KiB."""
    folder = tmp_path / "disk"
    if not _mount(folder, "size=2400k"):
        pytest.skip("mounting a file system needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _take_up_the_rest(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4_096))
        except OSError:
            return ballast


def test_a_disk_that_fills_up_is_noticed_and_used_again_when_there_is_space(small_disk: Path) -> None:
    emitter = _emitter(small_disk / "box", max_unacknowledged=5)
    for _ in range(100):
        emitter.record_route_attempt("answer")
    _until(lambda: emitter.health().batches_cut >= 2)
    ballast = _take_up_the_rest(small_disk)
    recorded = 100
    deadline = time.monotonic() + 30
    while _outbox(emitter).state is not OutboxState.FAILING:
        assert time.monotonic() < deadline
        for number in range(200):
            before = time.perf_counter()
            emitter.record_route_attempt("answer", "api", f"run-{recorded + number}")
            assert time.perf_counter() - before < 0.25
        recorded += 200
        time.sleep(0.02)
    assert _outbox(emitter).problem == "SQLITE_FULL"
    # Counting goes on while nothing can be written, since the page has its space already.
    for _ in range(50_000):
        emitter.record_route_attempt("answer")
    recorded += 50_000
    count = emitter.counts()[Family.ROUTE_ATTEMPT]
    assert count.recorded == recorded == count.pending + count.lost
    ballast.unlink()
    _until(lambda: _outbox(emitter).state is OutboxState.ON)
    report = emitter.close(1)
    _until(lambda: not emitter.health().running)
    assert report.pending[Family.ROUTE_ATTEMPT] + sum(report.dropped[Family.ROUTE_ATTEMPT].values()) == recorded
    batches = end_of_the_dead(small_disk / "box" / "unmask.events")
    lost = sum(lost_by_cause(batches[-1]).get("route_attempt", {}).values())
    assert held(batches)["route_attempt"] + lost == recorded
    assert emitter.health().internal_errors == 0


_HOST = """
import os, signal, sys, time
from pathlib import Path
from unmask.producers import Emitter, EmitterSettings
emitter = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", outbox_dir=Path(sys.argv[1]), flush_interval_ms=10,
                                  max_unacknowledged=5))
"""


def test_events_of_a_host_that_dies_on_a_full_disk_are_all_counted(small_disk: Path) -> None:
    program = _HOST + textwrap.dedent("""
        for _ in range(300):
            emitter.record_route_attempt("answer")
        time.sleep(0.5)
        ballast = open(sys.argv[2], "wb", buffering=0)
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass
        recorded = 300
        while emitter.health().outbox.state != "failing":
            emitter.record_route_attempt("answer", "api", f"run-{recorded}")
            recorded += 1
        for _ in range(700):
            emitter.record_route_attempt("answer")
        os.write(1, str(recorded + 700).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    ballast = small_disk / "ballast"
    done = subprocess.run(
        [sys.executable, "-c", program, str(small_disk / "box"), str(ballast)], stdout=subprocess.PIPE, timeout=60
    )
    recorded = int(done.stdout)
    ballast.unlink()
    batches = end_of_the_dead(small_disk / "box" / "unmask.events")
    lost = lost_by_cause(batches[-1])["route_attempt"]
    assert held(batches)["route_attempt"] + sum(lost.values()) == recorded
    assert set(lost) <= {"disk_failed", "host_died"}
    assert held(batches)["route_attempt"] >= 300


def test_a_disk_without_space_for_the_page_leaves_the_emitter_without_an_outbox(small_disk: Path) -> None:
    _take_up_the_rest(small_disk)
    emitter = _emitter(small_disk / "box")
    assert _outbox(emitter) == OutboxHealth(OutboxState.UNAVAILABLE, "ENOSPC")
    _still_works_in_memory(emitter)


def test_a_read_only_disk_leaves_the_emitter_without_an_outbox(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    if not _mount(disk, "ro"):
        pytest.skip("mounting a file system needs root")
    try:
        emitter = _emitter(disk / "box")
        assert _outbox(emitter) == OutboxHealth(OutboxState.UNAVAILABLE, "EROFS")
        _still_works_in_memory(emitter)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("where", ["a file", "below a file"])
def test_a_place_that_is_no_folder_leaves_the_emitter_without_an_outbox(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("")
    emitter = _emitter(tmp_path / "file" if where == "a file" else tmp_path / "file" / "box")
    assert _outbox(emitter).state is OutboxState.UNAVAILABLE
    assert _outbox(emitter).problem in {"ENOTDIR", "EEXIST"}
    _still_works_in_memory(emitter)


def test_a_folder_that_may_not_be_written_leaves_the_emitter_without_an_outbox(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("another user's rights can only be taken by root")
    box = tmp_path / "box"
    box.mkdir(mode=0o700)
    # The rights are given up inside, since another user may not even read this interpreter.
    program = textwrap.dedent("""
        import os, sys
        import unmask.producers.outbox.opening, unmask.producers.outbox.adopter, unmask.schemas.codec
        from unmask.producers import Emitter, EmitterSettings
        from pathlib import Path
        warm = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1"))
        warm.close(0)
        os.setgid(65534)
        os.setuid(65534)
        emitter = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", outbox_dir=Path(sys.argv[1])))
        emitter.record_fallback("answer", 503)
        outbox = emitter.health().outbox
        report = emitter.close(0.2)
        print(outbox.state, outbox.problem, report.dropped["kernel_fallback"].get("close_deadline"))
    """)
    done = subprocess.run([sys.executable, "-c", program, str(box)], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["unavailable", "EACCES", "1"], "")


def test_a_limit_on_the_size_of_files_is_as_a_full_disk(tmp_path: Path) -> None:
    program = _HOST + textwrap.dedent("""
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        recorded = 0
        while emitter.health().outbox.state != "failing":
            for _ in range(50):
                emitter.record_route_attempt("answer", "api", f"run-{recorded}")
                recorded += 1
            time.sleep(0.001)
        problem = emitter.health().outbox.problem
        count = emitter.counts()["route_attempt"]
        assert count.recorded == recorded == count.pending + count.lost, count
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        deadline = time.monotonic() + 40
        while emitter.health().outbox.state != "on":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        report = emitter.close(1)
        os.write(1, f"{problem} {recorded}".encode())
    """)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "box")], capture_output=True, text=True, timeout=100
    )
    assert done.stderr == ""
    problem, recorded = done.stdout.split()
    assert problem.startswith("SQLITE_")
    batches = end_of_the_dead(tmp_path / "box" / "unmask.events")
    lost = sum(lost_by_cause(batches[-1]).get("route_attempt", {}).values())
    assert held(batches)["route_attempt"] + lost == int(recorded)


def test_a_process_without_a_working_database_has_no_outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.producers.fork._databases_work", False)
    emitter = _emitter(tmp_path / "box")
    assert _outbox(emitter) == OutboxHealth(OutboxState.UNAVAILABLE, "FORKED_INSIDE_DATABASE")
    _still_works_in_memory(emitter)


def test_without_a_folder_there_is_no_outbox_and_no_word_of_one() -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY))
    assert emitter.health().outbox is None
    _still_works_in_memory(emitter)


def _still_works_in_memory(emitter: Emitter) -> None:
    emitter.record_fallback("answer", 503)
    assert emitter.counts()[Family.KERNEL_FALLBACK].pending == 1
    report = emitter.close(0.1)
    assert report.dropped[Family.KERNEL_FALLBACK] == {DropCause.CLOSE_DEADLINE: 1}
    assert emitter.health().internal_errors == 0
