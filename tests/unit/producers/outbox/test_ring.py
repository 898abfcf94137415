"""Counting on a shared mapping: exact with threads, signal handlers and sudden death."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.producers.buffer import Lane
from unmask.producers.outbox.ring import WORD, Descriptor, RingLap, counted
from unmask.schemas.codes import Family

WORDS = 16


class Counting:
    """A lane that counts on a file of a few words, so that laps end all the time."""

    def __init__(self, path: Path, words: int = WORDS) -> None:
        self._size = words * WORD
        file = Descriptor(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        os.pwrite(file.number, bytes(self._size), 0)
        self.lane = Lane(Family.ROUTE_ATTEMPT)
        lap = RingLap(file, 0, self._size)
        self.lane.lap, self.lane.count = lap, lap.add
        self._path = path

    def add(self) -> None:
        try:
            self.lane.count()
        except ValueError:
            self.lane.count_on()

    @property
    def total(self) -> int:
        return counted(self._path.read_bytes()) + self.lane.in_memory.value


@given(st.integers(0, 100), st.integers(1, 20))
def test_any_number_of_counts_over_any_number_of_laps_is_read_back(times: int, words: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        counting = Counting(Path(folder) / "ring", words)
        for expected in range(times):
            assert counting.total == expected
            counting.add()
        assert counting.total == times


def test_many_threads_and_a_signal_handler_count_exactly(tmp_path: Path) -> None:
    counting = Counting(tmp_path / "ring")
    handled = count()

    def handler(*_: object) -> None:
        next(handled)
        counting.add()

    interval = sys.getswitchinterval()
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
    sys.setswitchinterval(1e-5)
    added = [0] * 4

    def work(slot: int) -> None:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            for _ in range(100):
                counting.add()
            added[slot] += 100

    try:
        threads = [threading.Thread(target=work, args=(slot,)) for slot in range(1, 4)]
        for thread in threads:
            thread.start()
        work(0)
        for thread in threads:
            thread.join()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.setswitchinterval(interval)
    signals = next(handled)
    assert signals > 100
    assert min(added) > 0
    assert counting.total == sum(added) + signals
    assert counting.lane.in_memory.value == 0


def test_a_thread_that_slept_through_laps_cannot_disturb_the_newest(tmp_path: Path) -> None:
    counting = Counting(tmp_path / "ring")
    asleep_with, asleep_on = counting.lane.count, counting.lane.lap
    for _ in range(5 * WORDS + 3):
        counting.add()
    with pytest.raises(ValueError, match="closed"):
        asleep_with()
    # It goes on from the lap it knew, and puts each lap on its way back into the lane.
    counting.lane.lap = asleep_on
    counting.lane.count_on()
    assert counting.total == 5 * WORDS + 4


def test_without_memory_for_a_lap_counting_goes_on_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(tmp_path / "ring")
    for _ in range(WORDS):
        counting.add()

    def refused(*_: object, **__: object) -> None:
        raise OSError(12, "no memory")

    with monkeypatch.context() as patch:
        patch.setattr("unmask.producers.outbox.ring.mmap.mmap", refused)
        for _ in range(3):
            counting.add()
    assert counting.lane.in_memory.value == 3
    counting.add()
    assert counting.total == WORDS + 4
    assert counting.lane.in_memory.value == 3


_KILLED = """
import os, signal, sys, threading
from pathlib import Path
from tests.unit.producers.outbox.test_ring import Counting

counting = Counting(Path(sys.argv[1]))
journals = [os.open(f"{sys.argv[1]}.{slot}", os.O_RDWR | os.O_CREAT | os.O_APPEND) for slot in range(3)]

def work(slot):
    while True:
        os.write(journals[slot], b".")
        counting.add()
        os.write(journals[slot], b"+")

for slot in (1, 2):
    threading.Thread(target=work, args=(slot,), daemon=True).start()
print("counting", flush=True)
work(0)
"""


def test_what_was_counted_is_known_after_sigkill(tmp_path: Path) -> None:
    """A count is there when its call has returned, and is not there before its call began."""
    for attempt in range(5):
        path = tmp_path / f"ring-{attempt}"
        child = subprocess.Popen([sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline()
        time.sleep(0.1 + 0.05 * attempt)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        journals = [Path(f"{path}.{slot}").read_bytes() for slot in range(3)]
        begun = sum(journal.count(b".") for journal in journals)
        returned = sum(journal.count(b"+") for journal in journals)
        assert returned > 1_000
        assert begun - returned <= 3
        assert returned <= counted(path.read_bytes()) <= begun


def test_a_descriptor_is_closed_only_when_no_lap_can_use_it(tmp_path: Path) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not list a process's descriptors")
    before = opened()
    counting = Counting(tmp_path / "ring")
    for _ in range(10 * WORDS):
        counting.add()
    held = opened()
    assert held - before <= 4
    stale: Callable[[], object] = counting.lane.count
    del counting
    assert opened() > before
    del stale
    assert opened() == before
