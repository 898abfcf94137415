"""Work that blocks, taken off an event loop, in threads of the gate's own.

The loop's default threads are few, and what else the host does in them (it looks up names there) must not wait for a
broker that does not answer.
"""

import asyncio
import contextvars
import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["off_loop"]

_THREADS = 16

P = ParamSpec("P")
R = TypeVar("R")


class _Threads:
    """One pool for each process, made when it is needed: a forked child has none of its parent's threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        os.register_at_fork(after_in_child=self._forget)

    def pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, "unmask-gate")
            return self._pool

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._pool = None


_threads = _Threads()


async def off_loop(work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """What `work` returns, in the caller's context, while the loop goes on."""
    call = functools.partial(contextvars.copy_context().run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads.pool(), call)
