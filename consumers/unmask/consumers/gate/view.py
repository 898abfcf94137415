"""The verdict topic in memory: read to the end offsets taken at the start, then followed.

One thread reads; any thread may look up. Records are kept as bytes and decoded when they are asked for, so that a
view over a million verdicts is loaded at the speed of the client.
"""

import threading
import time
from collections.abc import Collection
from types import TracebackType
from typing import Self

from unmask.consumers.gate.entry import Entry, NoRecord, Recorded, Tombstone, Undecodable, Unread
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicRewound, TopicUnreadable, TopicWrongPolicy
from unmask.schemas.codec import decode
from unmask.schemas.errors import DecodeError
from unmask.schemas.partitioner import partition_for
from unmask.schemas.tokens import opaque_id
from unmask.schemas.topics import Topics, namespace_from_environment

__all__ = ["VerdictNotReady", "VerdictView", "verdict_source"]

_RETRY_SECONDS = 0.25
_OPEN_TIMEOUT = 5.0
_POLL_SECONDS = 0.1
_SHORT_POLL_SECONDS = 0.01


class VerdictNotReady(Exception):
    """The view has not been read to the needed offset in time; the text says why and what to do."""


def verdict_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the verdicts of a namespace are; by default as KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE say."""
    return TopicSource(Topics(namespace or namespace_from_environment()).verdicts.name, bootstrap)


class VerdictView:
    """The newest record of every session, or of one, on all partitions of the verdict topic or on some.

    A look-up is as fresh as what has arrived; a gate that must be sure asks for the end offset and calls `wait_for`.
    The view answers for ever NOT_READY, with the cause, until its topic can be read, and reads it anew when it fails.
    """

    def __init__(
        self, source: TopicSource, *, partitions: Collection[int] | None = None, only: str | None = None
    ) -> None:
        self._source = source
        self._partitions = None if partitions is None else frozenset(partitions)
        self._only = None if only is None else only.encode()
        self._changed = threading.Condition()
        self._stop = threading.Event()
        # By partition, so that a record on a partition that its key does not hash to counts for nothing.
        self._records: dict[int, dict[bytes, bytes | None]] = {}
        self._partition_count = 0
        self._positions: dict[int, int] = {}
        self._ready = False
        self._remaining: int | None = None
        self._trouble: TopicUnreadable | None = None
        self._thread = threading.Thread(target=self._run, name="unmask-verdict-view", daemon=True)

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
    def size(self) -> int:
        """Sessions that have a record, withdrawn ones included."""
        with self._changed:
            return sum(map(len, self._records.values()))

    def wait_ready(self, timeout: float) -> None:
        """Wait until ready, at most `timeout` seconds. Raises VerdictNotReady with the cause.

        A topic with the wrong policy is not waited for, since waiting does not mend it.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while not self._ready:
                left = deadline - time.monotonic()
                if left <= 0 or self._stop.is_set() or isinstance(self._trouble, TopicWrongPolicy):
                    raise VerdictNotReady(self._cause())
                self._changed.wait(left)

    def wait_for(self, partition: int, end: int, timeout: float) -> None:
        """Wait until a partition has been read up to the offset `end`. Raises VerdictNotReady with the cause."""
        deadline = time.monotonic() + timeout
        self.wait_ready(timeout)
        with self._changed:
            while not self._ready or self._positions.get(partition, -1) < end:
                left = deadline - time.monotonic()
                if left <= 0 or self._stop.is_set():
                    raise VerdictNotReady(self._cause())
                self._changed.wait(left)

    def position(self, partition: int) -> int:
        """The next offset to be read of a partition; -1 where it is not read."""
        return self._positions.get(partition, -1)

    def read_anew(self) -> None:
        """Forget everything and begin again, because more was read than there is: the topic was recreated."""
        with self._changed:
            if self._ready:
                self._forget(TopicRewound(self._source.topic))

    def entry(self, session_id: str) -> Entry:
        """What the view holds for a session; Unread where it is not ready or does not read the session's partition."""
        key = opaque_id(session_id)
        with self._changed:
            if not self._ready:
                return Unread(key, self._cause())
            raw = key.encode()
            records = self._records.get(partition_for(raw, self._partition_count))
            if records is None or (self._only is not None and raw != self._only):
                return Unread(key, "This view does not read the session's partition.")
            if raw not in records:
                return NoRecord(key)
            value = records[raw]
        if value is None:
            return Tombstone(key)
        try:
            return Recorded(key, key, decode("verdict", value))
        except DecodeError as error:
            return Undecodable(key, str(error.reason))

    def _cause(self) -> str:
        if self._stop.is_set():
            return "The view of the verdicts is closed."
        if self._trouble is not None:
            return str(self._trouble)
        if self._remaining is None:
            return (
                f"No Kafka broker at {self._source.bootstrap} has answered yet. Allow more time, or check the address."
            )
        return (
            f"The verdicts could not be read to their end in time ({self._remaining} offsets left). Allow more time, "
            "or check the broker's load."
        )

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with TopicReader(self._source, self._partitions, timeout=_OPEN_TIMEOUT) as reader:
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
            self._records = {partition: {} for partition in reader.positions}
        self._apply(reader, [])
        while not self._stop.is_set():
            # A view of one session is asked once and closed, which must not wait for a poll to end.
            rows = reader.read(_POLL_SECONDS if self._only is None else _SHORT_POLL_SECONDS)
            if not self._apply(reader, rows):
                return

    def _apply(self, reader: TopicReader, rows: list[Row]) -> bool:
        """Take the rows in; False where the view was told meanwhile to begin anew."""
        with self._changed:
            if self._trouble is not None:
                return False
            for row in rows:
                # A record without a key belongs to no session.
                if row.key and (self._only is None or row.key == self._only):
                    self._records[row.partition][row.key] = row.value
            self._positions = dict(reader.positions)
            self._remaining = reader.remaining
            self._ready = self._ready or reader.caught_up
            self._changed.notify_all()
        return True

    def _forget(self, trouble: TopicUnreadable | None) -> None:
        """Start from nothing; the condition is held by the caller."""
        self._records = {}
        self._positions = {}
        self._ready = False
        self._remaining = None
        self._trouble = trouble
        if trouble is not None:
            self._source.forget_shape()
        self._changed.notify_all()
