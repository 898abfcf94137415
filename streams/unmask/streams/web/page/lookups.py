"""Look-ups of sessions that are not remembered: one at a time, in a thread of their own, their answers kept a while."""

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from unmask.streams.web.page.lines.sessions import SessionFacts

__all__ = ["Lookups", "LookupsBusy", "StillLookedUp"]

_KEPT_S = 30.0
_KEPT = 64
_WAITING = 8


class LookupsBusy(Exception):
    """So many sessions are looked up that no further one is taken on; ask again in a moment."""


class StillLookedUp(LookupsBusy):
    """The answer is not there yet; ask again in a moment."""


class Lookups:
    """Answers from any thread. `look_up` blocks, and may raise."""

    def __init__(self, look_up: Callable[[str], SessionFacts | None]) -> None:
        self._look_up = look_up
        self._executor = ThreadPoolExecutor(1, "unmask-page-look-up")
        self._asked: OrderedDict[str, tuple[float, Future[SessionFacts | None]]] = OrderedDict()

    def ask(self, session_id: str) -> Future[SessionFacts | None]:
        """The answer, now or later. Asked again only when it is old, so that a page may ask every second."""
        now = time.monotonic()
        known = self._asked.get(session_id)
        if known is not None and (now - known[0] < _KEPT_S or not known[1].done()):
            return known[1]
        if sum(not future.done() for _, future in self._asked.values()) >= _WAITING:
            busy: Future[SessionFacts | None] = Future()
            busy.set_exception(LookupsBusy("too many sessions are looked up just now; ask again in a moment"))
            return busy
        future = self._executor.submit(self._look_up, session_id)
        self._asked[session_id] = (now, future)
        self._asked.move_to_end(session_id)
        while len(self._asked) > _KEPT:
            self._asked.popitem(last=False)
        return future

    def stop(self) -> None:
        """Takes no more questions."""
        self._executor.shutdown(wait=False, cancel_futures=True)
