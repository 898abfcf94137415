"""One life after the other, in a thread of its own, until it is stopped or nothing helps any more.

What ends a life is thrown away with it, and the next one begins from what was committed. Both ledgers run so.
"""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import ClassVar, Protocol

from unmask.streams.ledger.errors import BrokerRefuses, WorkerNameTaken, is_fencing, is_refusal
from unmask.streams.ledger.status import Progress

__all__ = ["Lives"]

logger = logging.getLogger(__name__)

_STALLED_S = 120.0
_FENCINGS, _FENCINGS_S = 8, 60.0  # one fencing is a pause that took too long; this many are two workers of one name


class _Life(Protocol):
    def run(self, stopping: threading.Event) -> None: ...

    def close(self) -> None: ...


class Lives(ABC):
    """Runs lives of a ledger. `what` is its name in the log, `instance` the worker's."""

    pause_s: ClassVar[float]
    """Between a life that failed and the next one."""
    hopeless: ClassVar[tuple[type[Exception], ...]]
    """What the next life would meet again."""

    def __init__(self, what: str, thread: str, instance: str, progress: Progress) -> None:
        self._what = what
        self._instance = instance
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)
        self._progress = progress
        self._error: BaseException | None = None
        self._fenced: deque[float] = deque(maxlen=_FENCINGS)

    @abstractmethod
    def _begin(self) -> _Life:
        """The next life."""

    @abstractmethod
    def _stalled(self, seconds: float, cause: Exception) -> Exception:
        """What to end with where no life has held for so long."""

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self, timeout: float = 15.0) -> None:
        """Ends the thread after what it is at, which is committed, within `timeout` seconds if the broker lets it."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._live()
            self._progress.reason = "stopped"
        except BaseException as error:
            self._error = error
            logger.error("%s ends: %s: %s", self._what, type(error).__name__, error)

    def _live(self) -> None:
        life, failed = self._begin(), False
        try:
            life.run(self._stopping)
        except self.hopeless:
            raise
        except Exception as error:
            # Every life may commit something before it meets again what none of them survives.
            stuck = self._progress.failed(f"{type(error).__name__}: {error}", time.monotonic())
            if is_refusal(error):
                raise BrokerRefuses(error) from error
            if is_fencing(error) and self._keeps_being_fenced():
                raise WorkerNameTaken(self._instance) from error
            if stuck > _STALLED_S:
                raise self._stalled(stuck, error) from error
            failed = True
            logger.warning("%s starts anew: %s", self._what, self._progress.reason)
        finally:
            # At once: while nobody polls, rebalances pile up in the client.
            life.close()
        if failed:
            self._stopping.wait(self.pause_s)

    def _keeps_being_fenced(self) -> bool:
        now = time.monotonic()
        self._fenced.append(now)
        return len(self._fenced) == _FENCINGS and now - self._fenced[0] < _FENCINGS_S
