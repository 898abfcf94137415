"""What ends a process whose client never comes back."""

import subprocess
import sys
import time

from unmask.streams.ledger.last_resort import ending_the_process_after

STUCK = """
import ctypes
from unmask.streams.ledger.last_resort import ending_the_process_after
with ending_the_process_after(0.5):
    ctypes.PyDLL(None).sleep(60)  # with the interpreter's lock held, as such a client does
"""


def test_a_process_that_is_stuck_with_the_interpreters_lock_ends_and_shows_its_stacks() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 1
    assert "most recent call first" in ended.stderr


def test_a_block_that_comes_back_in_time_ends_nothing() -> None:
    with ending_the_process_after(0.2), ending_the_process_after(0.2):
        pass
    time.sleep(0.4)
