"""What Unmask has published so far: the newest windows, verdicts and alerts of the demo's topics."""

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from unmask.consumers.alerts_feed import AlertsFeed, UnreadableAlert
from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import decode
from unmask.schemas.codes import Evidence
from unmask.schemas.models import Alert, Verdict, Window, from_avro
from unmask.schemas.topics import Topics

__all__ = ["Board", "UnreadableRecord"]

_TIMEOUT_S = 10.0


class UnreadableRecord(Exception):
    """Unmask published something that its own contract does not allow."""


class Board:
    """Follows three topics; nothing on it comes from anywhere else. `poll` takes in what has arrived."""

    def __init__(self, bootstrap: str, topics: Topics) -> None:
        self._sources = [TopicSource(spec.name, bootstrap) for spec in (topics.windows, topics.verdicts)]
        self._alerts_feed = AlertsFeed(TopicSource(topics.alerts.name, bootstrap))
        self._open = ExitStack()
        self._readers: list[TopicReader] = []
        self._windows: dict[str, Window] = {}
        self._alerts: dict[str, Alert] = {}
        self.verdicts: dict[str, Verdict] = {}
        """By session."""

    def __enter__(self) -> Self:
        self._readers = [self._open.enter_context(TopicReader(source, timeout=_TIMEOUT_S)) for source in self._sources]
        self._open.callback(self._alerts_feed.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def poll(self) -> None:
        """Takes in what has arrived. Raises UnreadableRecord, DecodeError, ValidationError, TopicUnreadable."""
        windows, verdicts = self._readers
        for row in windows.read(0.0):
            if row.key and row.value is not None:
                self._windows[row.key.decode()] = from_avro(Window, decode("window", row.value))
        for row in verdicts.read(0.0):
            if row.key and row.value is not None:
                self.verdicts[row.key.decode()] = from_avro(Verdict, decode("verdict", row.value))
        for alert in self._alerts_feed.next(0.0):
            if isinstance(alert, UnreadableAlert):
                raise UnreadableRecord(f"an alert at offset {alert.offset} cannot be read: {alert.reason}")
            self._alerts[alert.alert_id] = alert

    def windows(self, seconds: int) -> Iterator[Window]:
        """All records of one window size, by time; those of a window as a whole come first."""
        chosen = (window for window in self._windows.values() if window.window_seconds == seconds)
        return iter(sorted(chosen, key=lambda w: (w.window_start, w.scope or (), w.capability or "")))

    def whole_windows(self, seconds: int) -> dict[int, Window]:
        """The records that stand for a window as a whole, by start in seconds since the epoch."""
        return {int(w.window_start.timestamp()): w for w in self.windows(seconds) if w.scope is None}

    def closed(self, start: int, seconds: int) -> bool:
        """Whether the window that starts at `start` (seconds since the epoch) has been closed."""
        whole = self.whole_windows(seconds).get(start)
        return whole is not None and whole.evidence_state is not Evidence.PENDING

    def alerts(self) -> list[Alert]:
        """All alerts, newest first."""
        return sorted(self._alerts.values(), key=lambda alert: alert.since, reverse=True)
