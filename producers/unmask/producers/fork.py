"""What the process does to emitters: fork begins new lives in the child, the end of the process closes them.

An emitter stays known here until it is closed, so that the end of the process always finds it.

A fork copies every lock as it is at that moment. What another thread holds then, nobody in the child will ever give
back: not SQLite's locks, and not the one that the C library takes while a client's thread resolves a broker's name,
which the child's clients, and the host's own, would wait for. So a fork waits a moment until the background threads
are outside of SQLite and have made their clients' first connections. Later ones are rare, and their resolving takes a
fraction of a millisecond; a host that wants no risk at all makes its emitter after it has forked.
"""

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

__all__ = [
    "close_with_the_process",
    "databases_work",
    "forget",
    "keep_for_ever",
    "using_a_database",
    "using_a_database_within",
    "watch",
]

_PATIENCE = 1.0
"""Seconds that a fork waits at most until no background thread is inside of a database."""


class Watched(Protocol):
    """An emitter, as the process sees it."""

    def before_fork(self) -> None:
        """The process is about to fork."""
        ...

    def after_fork(self) -> None:
        """It has forked, or could not; this is the parent."""
        ...

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
_databases = threading.RLock()
_databases_work = True
_quiet: list[bool] = []
"""Whether the databases were quiet, for each fork that has begun: a signal handler may fork during another one."""


def watch(emitter: Watched) -> None:
    """Tell `emitter` of forks, and close it at the end of the process."""
    _watched[id(emitter)] = emitter


def forget(emitter: Watched) -> None:
    """`emitter` has been closed."""
    _watched.pop(id(emitter), None)


def keep_for_ever(thing: object) -> None:
    """Never free `thing`. A client that was made before a fork would, in the child, wait for threads that are not."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


@contextmanager
def using_a_database() -> Iterator[None]:
    """Around every use of SQLite by a background thread: a fork waits for its end.

    SQLite has locks for the whole process. A child that was forked while another thread held one would wait for it
    for ever, in whatever database.
    """
    with _databases:
        yield


@contextmanager
def using_a_database_within(seconds: float) -> Iterator[bool]:
    """As using_a_database, for a thread of the host: whether it may begin, after waiting so long at most."""
    databases = _databases
    if not databases.acquire(timeout=seconds):
        yield False
        return
    try:
        yield True
    finally:
        databases.release()


def databases_work() -> bool:
    """Whether this process may use SQLite: not a child that was forked while the parent was stuck inside of it."""
    return _databases_work


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


def _before() -> None:
    for emitter in list(_watched.values()):
        emitter.before_fork()
    _quiet.append(_databases.acquire(timeout=_PATIENCE))


def _after_in_parent() -> None:
    if _quiet.pop():
        _databases.release()
    for emitter in list(_watched.values()):
        emitter.after_fork()


def _after_in_child() -> None:
    global _databases, _databases_work
    _databases_work &= _quiet.pop()
    _quiet.clear()
    _databases = threading.RLock()
    for emitter in list(_watched.values()):
        emitter.begin_anew()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
atexit.register(close_with_the_process)
