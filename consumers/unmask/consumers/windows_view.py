"""What stands on unmask.windows: the newest record of every window of one size, read to the end taken at the start."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError

from unmask.consumers.offsets_in_time import offsets_since
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.errors import DecodeError
from unmask.schemas.instants import to_micros
from unmask.schemas.keys import window_key
from unmask.schemas.models import Window, from_avro
from unmask.schemas.topics import Topics, namespace_from_environment
from unmask.schemas.windowing import LIFETIME, MICROS
from unmask.schemas.wire import decode

__all__ = ["NotReadInTime", "Progress", "WindowRecords", "read_windows", "windows_source"]

Progress = Callable[[int, int], None]
"""Told how many offsets there were to read, and how many are left."""

_MARGIN = 2 * 3_600 * MICROS
"""How far a worker's clock may be off, or a host's ahead, before the topic is read from its beginning instead."""
_END_OF_TIME = to_micros(datetime(9999, 12, 31, tzinfo=UTC))
_OVERLAP = 40
"""Records of each partition that are read from before the time asked for, to see whether its timestamps are true."""


class NotReadInTime(TopicUnreadable):
    """The topic was not read to its end in time, so that nothing can be said about it."""

    def __init__(self, topic: str, remaining: int) -> None:
        super().__init__(f"{topic} could not be read to its end in time ({remaining} offsets left). Allow more time.")


@dataclass(frozen=True, slots=True)
class WindowRecords:
    """The newest readable record of each window, scope and capability; and what could not be read."""

    windows: tuple[Window, ...]
    unreadable: tuple[int, ...]
    """Starts, in microseconds, of windows whose newest record is not one: nothing may be said about these."""
    sizes: tuple[int, ...]
    """All window sizes that were met on the topic, in seconds, 0 for the lifetime window."""
    newest: int | None = None
    """Start of the newest window of the size asked for, microseconds, also beyond the range; None for none."""


def windows_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the windows of a namespace are; by default as KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE say."""
    return TopicSource(Topics(namespace or namespace_from_environment()).windows.name, bootstrap)


def read_windows(
    source: TopicSource, seconds: int, since: int, until: int, *, timeout: float, progress: Progress | None = None
) -> WindowRecords:
    """The windows of one size that start in [since, until), microseconds; of the lifetime window, all.

    Records from before `since` are not read over where the topic's timestamps prove true. Raises TopicUnreadable, of
    which NotReadInTime is one.
    """
    deadline = time.monotonic() + timeout
    if seconds != LIFETIME and since > _MARGIN:
        found = _read(source, seconds, since, until, deadline, progress, published_since=since - _MARGIN)
        if found is not None:
            return found
    whole = _read(source, seconds, since, until, deadline, progress, published_since=None)
    assert whole is not None
    return whole


def _read(
    source: TopicSource,
    seconds: int,
    since: int,
    until: int,
    deadline: float,
    progress: Progress | None,
    *,
    published_since: int | None,
) -> WindowRecords | None:
    """None where the topic's timestamps cannot be relied on."""
    left = max(0.01, deadline - time.monotonic())
    starts = {} if published_since is None else offsets_since(source, published_since, left)
    resume = {partition: max(0, offset - _OVERLAP) for partition, offset in starts.items()}
    selected = _Selected(seconds, since, until)
    with TopicReader(source, resume=resume, timeout=max(0.01, deadline - time.monotonic())) as reader:
        total = reader.remaining
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise NotReadInTime(source.topic, reader.remaining)
            rows = reader.read(0.1)
            if published_since is not None and selected.belie(rows, starts):
                return None
            selected.take(rows)
            if progress is not None:
                progress(total, reader.remaining)
    return selected.records()


class _Selected:
    """The newest record of each wanted key, and which sizes there are."""

    def __init__(self, seconds: int, since: int, until: int) -> None:
        self._seconds, self._since, self._until = seconds, since, until
        self._prefix = f"{seconds}|".encode()
        self._newest: dict[bytes, bytes | None] = {}
        self._sizes: set[bytes] = set()
        self._last = -1

    def take(self, rows: Iterable[Row]) -> None:
        """The key says enough to leave most of a year's records undecoded."""
        prefix, sizes, newest = self._prefix, self._sizes, self._newest
        since, until, lifetime = self._since, self._until, self._seconds == LIFETIME
        for row in rows:
            key = row.key or b""
            if not key.startswith(prefix):
                sizes.add(key[: key.find(b"|")])
                continue
            start = _start(key)
            if start is None:
                continue
            if lifetime or since <= start < until:
                newest[key] = row.value
            if row.value is not None:
                self._last = max(self._last, start)
            sizes.add(prefix[:-1])

    def belie(self, rows: Iterable[Row], starts: dict[int, int]) -> bool:
        """Whether a record from before the offset at which the time begins tells of a window since then."""
        for row in rows:
            if row.offset >= starts.get(row.partition, 0):
                continue
            start = _start(row.key or b"")
            if start is not None and start >= self._since:
                return True
        return False

    def records(self) -> WindowRecords:
        """What was selected, decoded."""
        windows: list[Window] = []
        unreadable: set[int] = set()
        for key, value in self._newest.items():
            if value is None:
                continue
            window = _window(key, value)
            if window is None:
                unreadable.add(_start(key) or 0)
            else:
                windows.append(window)
        sizes = sorted(int(size) for size in self._sizes if size.isdigit())
        last = None if self._last < 0 else self._last
        return WindowRecords(tuple(sorted(windows, key=_order)), tuple(sorted(unreadable)), tuple(sizes), last)


def _start(key: bytes) -> int | None:
    """Microseconds; None for a key that is no window's."""
    try:
        start = int(key.split(b"|", 2)[1]) * MICROS
    except (ValueError, IndexError):
        return None
    return start if 0 <= start < _END_OF_TIME else None


def _window(key: bytes, value: bytes) -> Window | None:
    try:
        window = from_avro(Window, decode("window", value))
    except (DecodeError, ValidationError):
        return None
    named = window_key(to_micros(window.window_start), window.window_seconds, window.scope, window.capability)
    return window if named.encode() == key else None


def _order(window: Window) -> tuple[object, ...]:
    return (window.window_start, tuple(window.scope or ()), window.capability or "")
