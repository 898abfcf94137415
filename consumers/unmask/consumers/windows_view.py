"""What stands on unmask.windows: the newest record of every window of one size, read to the end taken at the start."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.errors import DecodeError
from unmask.schemas.instants import to_micros
from unmask.schemas.keys import window_key
from unmask.schemas.models import Window, from_avro
from unmask.schemas.topics import Topics, namespace_from_environment
from unmask.schemas.windowing import MICROS
from unmask.schemas.wire import decode

__all__ = ["NotReadInTime", "WindowRecords", "read_windows", "windows_source"]


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
    """All window sizes on the topic, in seconds, 0 for the lifetime window."""


def windows_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the windows of a namespace are; by default as KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE say."""
    return TopicSource(Topics(namespace or namespace_from_environment()).windows.name, bootstrap)


def read_windows(source: TopicSource, seconds: int, since: int, until: int, *, timeout: float) -> WindowRecords:
    """The windows of one size that start in [since, until), microseconds; of the lifetime window, all.

    Raises TopicUnreadable, of which NotReadInTime is one.
    """
    newest: dict[bytes, bytes | None] = {}
    sizes: set[int] = set()
    deadline = time.monotonic() + timeout
    with TopicReader(source, timeout=timeout) as reader:
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise NotReadInTime(source.topic, reader.remaining)
            _select(reader.read(0.1), seconds, since, until, newest, sizes)
    windows: list[Window] = []
    unreadable: set[int] = set()
    for key, value in newest.items():
        if value is None:
            continue
        window = _window(key, value)
        if window is None:
            unreadable.add(_start(key) * MICROS)
        else:
            windows.append(window)
    return WindowRecords(tuple(sorted(windows, key=_order)), tuple(sorted(unreadable)), tuple(sorted(sizes)))


def _select(
    rows: Iterable[Row], seconds: int, since: int, until: int, newest: dict[bytes, bytes | None], sizes: set[int]
) -> None:
    for row in rows:
        key = row.key or b""
        try:
            # The key says enough to leave most of a year's records undecoded.
            size = int(key.split(b"|", 1)[0])
            start = _start(key) * MICROS
        except (ValueError, IndexError):
            continue
        sizes.add(size)
        if size == seconds and (seconds == 0 or since <= start < until):
            newest[key] = row.value


def _start(key: bytes) -> int:
    return int(key.split(b"|", 2)[1])


def _window(key: bytes, value: bytes) -> Window | None:
    try:
        window = from_avro(Window, decode("window", value))
    except (DecodeError, ValidationError):
        return None
    named = window_key(to_micros(window.window_start), window.window_seconds, window.scope, window.capability)
    return window if named.encode() == key else None


def _order(window: Window) -> tuple[object, ...]:
    return (window.window_start, tuple(window.scope or ()), window.capability or "")
