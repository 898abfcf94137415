"""What the process does to emitters: fork begins new lives in the child, the end of the process closes them.

An emitter stays known here until it is closed, so that the end of the process always finds it.
"""

import atexit
import ctypes
import os
import sys
from time import monotonic
from typing import Protocol

__all__ = ["close_with_the_process", "forget", "keep_for_ever", "watch"]


class Watched(Protocol):
    """An emitter, as the process sees it."""

    def begin_anew(self) -> None:
        """The process is a forked child now."""
        ...

    def begin_closing(self) -> float:
        """Start to close; the deadline in monotonic seconds."""
        ...

    def finish_closing(self, deadline: float) -> None:
        """Wait for the end of closing until the deadline."""
        ...


_watched: dict[int, Watched] = {}


def watch(emitter: Watched) -> None:
    """Tell `emitter` of forks, and close it at the end of the process."""
    _watched[id(emitter)] = emitter


def forget(emitter: Watched) -> None:
    """`emitter` has been closed."""
    _watched.pop(id(emitter), None)


def keep_for_ever(thing: object) -> None:
    """Never free `thing`. A client that was made before a fork would, in the child, wait for threads that are not."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def close_with_the_process() -> None:
    """Close all emitters, side by side, each within its own deadline."""
    emitters = list(_watched.values())
    deadlines = [(emitter, emitter.begin_closing()) for emitter in emitters]
    for emitter, deadline in deadlines:
        emitter.finish_closing(max(deadline, monotonic()))


def close_with_multiprocessing() -> None:
    """Children of multiprocessing end without atexit (before Python 3.13): have them close their emitters too."""
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is not None and process is not None and process.parent_process() is not None:
        util.Finalize(None, close_with_the_process, exitpriority=0)


def _begin_anew_in_child() -> None:
    for emitter in list(_watched.values()):
        emitter.begin_anew()


os.register_at_fork(after_in_child=_begin_anew_in_child)
atexit.register(close_with_the_process)
