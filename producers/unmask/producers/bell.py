"""How a record call wakes the background thread: never waiting, safe in a signal handler."""

from queue import Empty, SimpleQueue

__all__ = ["Bell"]


class Bell:
    """Rings are answered once, however many there were. SimpleQueue.put is reentrant; an Event's lock is not."""

    __slots__ = ("_queue", "_rung")

    def __init__(self) -> None:
        self._queue: SimpleQueue[None] = SimpleQueue()
        self._rung = False

    def ring(self) -> None:
        """Wake the thread that waits, or the next that will."""
        if not self._rung:
            self._rung = True
            self._queue.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait for a ring at most so long; whether there was one."""
        try:
            if seconds > 0:
                self._queue.get(timeout=seconds)
            else:
                self._queue.get_nowait()
        except Empty:
            return False
        # Before what the ring was for is looked at, so that no later ring is missed.
        self._rung = False
        return True
