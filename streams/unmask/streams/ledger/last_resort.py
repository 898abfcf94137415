"""A last resort against a client that never comes back: the process ends, with the stacks of its threads on stderr.

A client of librdkafka that waits for ever may hold the interpreter's lock meanwhile, so that no thread of Python can do
anything about it, no signal is heard and no health check answered. The timer of faulthandler needs no such lock.
"""

import faulthandler
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ending_the_process_after"]

_lock = threading.Lock()
_within = 0


@contextmanager
def ending_the_process_after(seconds: float) -> Iterator[None]:
    """Ends the process with exit code 1 where the block takes longer; of several blocks the newest sets the time.

    Whoever runs the worker starts it again, and its partitions are read back: nothing is lost by it.
    """
    global _within
    with _lock:
        _within += 1
        faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        with _lock:
            _within -= 1
            if not _within:
                faulthandler.cancel_dump_traceback_later()
