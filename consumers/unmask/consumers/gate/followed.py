"""A topic that is followed in a thread of its own: read to the end offsets taken at the start, and then on.

One thread reads; any thread may look up. What is kept of the rows is for those who derive from it to say.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Self

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicRewound, TopicUnreadable, TopicWrongPolicy

__all__ = ["FollowedTopic", "NotRead"]

_RETRY_SECONDS = 0.25
_OPEN_TIMEOUT = 5.0
_POLL_SECONDS = 0.1
_SHORT_POLL_SECONDS = 0.01


class NotRead(Exception):
    """A topic has not been read to the needed offset in time; the text says why and what to do."""


class FollowedTopic(ABC):
    """All partitions of a topic, or some of them, read and followed; anew whenever that fails, for as long as it takes.

    `briefly` is for one that is asked once and closed, which must not wait for a long poll to end.
    """

    refusal: type[NotRead] = NotRead
    """What is raised where it has not been read in time."""
    content = "records"
    """What is read, in the words of a message."""
    committed = False
    """Whether the end to catch up with is that of committed transactions. Otherwise an open one holds the view back."""

    def __init__(
        self, source: TopicSource, *, partitions: Collection[int] | None = None, briefly: bool = False
    ) -> None:
        self._source = source
        self._partitions = None if partitions is None else frozenset(partitions)
        self._poll_seconds = _SHORT_POLL_SECONDS if briefly else _POLL_SECONDS
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._partition_count = 0
        self._positions: dict[int, int] = {}
        self._ready = False
        self._total = 0
        self._remaining: int | None = None
        self._trouble: TopicUnreadable | None = None
        self._thread = threading.Thread(target=self._run, name=f"unmask-{type(self).__name__}", daemon=True)

    @abstractmethod
    def _begin(self, partitions: Collection[int]) -> None:
        """Forget everything that was kept, and make room for these partitions. The condition is held."""

    @abstractmethod
    def _keep(self, row: Row) -> None:
        """Take a row in. The condition is held."""

    def start(self) -> Self:
        """Begin to read, in a thread of its own."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End the thread and let go of the connection."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def ready(self) -> bool:
        """Whether everything up to the end offsets taken at the start has been read."""
        return self._ready

    @property
    def remaining(self) -> int | None:
        """Offsets still to be read until ready; None where not even that is known yet."""
        return self._remaining

    @property
    def progress(self) -> float:
        """How much of what stood there at the start has been read, from 0 to 1."""
        if self._ready:
            return 1.0
        if self._remaining is None or not self._total:
            return 0.0
        return 1.0 - self._remaining / self._total

    def wait_ready(
        self, timeout: float, on_progress: Callable[[float], None] | None = None, *, every: float = 0.2
    ) -> None:
        """Wait until ready, at most `timeout` seconds. Raises `refusal` with the cause.

        `on_progress` gets the share that has been read, about once in `every` seconds. A topic with the wrong policy
        is not waited for, since waiting does not mend it.
        """
        deadline = time.monotonic() + timeout
        told = time.monotonic()
        while True:
            with self._changed:
                if self._ready:
                    break
                left = deadline - time.monotonic()
                if left <= 0 or self._stop.is_set() or isinstance(self._trouble, TopicWrongPolicy):
                    raise self.refusal(self._cause())
                self._changed.wait(left if on_progress is None else min(left, every))
            if on_progress is not None and time.monotonic() - told >= every:
                told = time.monotonic()
                on_progress(self.progress)
        if on_progress is not None:
            on_progress(1.0)

    def wait_for(self, partition: int, end: int, timeout: float) -> None:
        """Wait until a partition has been read up to the offset `end`. Raises `refusal` with the cause."""
        deadline = time.monotonic() + timeout
        self.wait_ready(timeout)
        with self._changed:
            while not self._ready or self._positions.get(partition, -1) < end:
                left = deadline - time.monotonic()
                if left <= 0 or self._stop.is_set():
                    raise self.refusal(self._cause())
                self._changed.wait(left)

    def position(self, partition: int) -> int:
        """The next offset to be read of a partition; -1 where it is not read."""
        return self._positions.get(partition, -1)

    def read_anew(self) -> None:
        """Forget everything and begin again, because more was read than there is: the topic was recreated."""
        with self._changed:
            if self._ready:
                self._forget(TopicRewound(self._source.topic))

    def catch_up(self, partition: int, timeout: float) -> None:
        """Read a partition to the end offset that it has now. Raises `refusal`, and TopicUnreadable where it cannot."""
        deadline = time.monotonic() + timeout
        read = self.position(partition)
        end = self._source.end_offsets([partition], timeout, committed=self.committed)[partition]
        # Taken in this order: what was read before cannot lie behind the end now, unless the topic is another one.
        if read > end:
            self.read_anew()
        self.wait_for(partition, end, deadline - time.monotonic())

    def _cause(self) -> str:
        if self._stop.is_set():
            return f"The view of the {self.content} is closed."
        if self._trouble is not None:
            return str(self._trouble)
        if self._remaining is None:
            return (
                f"No Kafka broker at {self._source.bootstrap} has answered yet. Allow more time, or check the address."
            )
        return (
            f"The {self.content} could not be read to their end in time ({self._remaining} offsets left). Allow more "
            "time, or check the broker's load."
        )

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with TopicReader(
                    self._source, self._partitions, committed=self.committed, timeout=_OPEN_TIMEOUT
                ) as reader:
                    self._follow(reader)
            except TopicUnreadable as trouble:
                self._fail(trouble)
            except Exception as error:
                # The thread must not end unseen: whoever waits is told, and it tries again.
                self._fail(
                    TopicUnreadable(f"Reading {self._source.topic} failed ({type(error).__name__}). It is tried again.")
                )
            self._stop.wait(_RETRY_SECONDS)

    def _fail(self, trouble: TopicUnreadable) -> None:
        with self._changed:
            self._forget(trouble)

    def _follow(self, reader: TopicReader) -> None:
        with self._changed:
            self._forget(None)
            self._partition_count = reader.partition_count
            self._total = reader.remaining
            self._begin(reader.positions)
        self._apply(reader, [])
        while not self._stop.is_set():
            rows = reader.read(self._poll_seconds)
            if not self._apply(reader, rows):
                return

    def _apply(self, reader: TopicReader, rows: list[Row]) -> bool:
        """Take the rows in; False where the view was told meanwhile to begin anew."""
        with self._changed:
            if self._trouble is not None:
                return False
            for row in rows:
                self._keep(row)
            self._positions = dict(reader.positions)
            self._remaining = reader.remaining
            self._ready = self._ready or reader.caught_up
            self._changed.notify_all()
        return True

    def _forget(self, trouble: TopicUnreadable | None) -> None:
        """Start from nothing; the condition is held by the caller."""
        self._begin(())
        self._positions = {}
        self._ready = False
        self._remaining = None
        self._trouble = trouble
        if trouble is not None:
            self._source.forget_shape()
        self._changed.notify_all()
