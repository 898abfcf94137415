"""Watchers: when the windows and alerts topics first said what."""

import threading
import time
from typing import Any

from benchmarks.latency.load import CAPABILITY
from confluent_kafka import Consumer, TopicPartition

from unmask.schemas.codec import decode
from unmask.schemas.kafka import consumer_config
from unmask.schemas.topics import Topics

__all__ = ["SHORT_S", "Watch"]

SHORT_S = 2
"""Size of the closing windows that are watched: small, so that a short run has many."""


class Watch:
    """Reads both topics in a thread until it is closed. Times are of the monotonic clock where nothing else is said."""

    def __init__(self, bootstrap: str, topics: Topics) -> None:
        self.counted: list[tuple[int, float]] = []
        """How many attempts the lifetime window said when."""
        self.complete: dict[int, float] = {}
        """Start of a closed window in seconds, and when it was first said to be complete, seconds since the epoch."""
        self.outages: dict[str, float] = {}
        """Per upstream."""
        self._topics = topics
        self._consumer = Consumer(consumer_config("bench-latency", bootstrap=bootstrap, fetch_wait_max_ms=5))
        names = (topics.windows.name, topics.alerts.name)
        numbers = range(topics.table_partitions)
        self._consumer.assign([TopicPartition(name, number, 0) for name in names for number in numbers])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it."""
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            for message in self._consumer.consume(500, 0.005):
                value = message.value()
                if message.error() is not None or value is None:
                    continue
                if message.topic() == self._topics.windows.name:
                    self._take_window(decode("window", value))
                else:
                    self._take_alert(decode("alert", value))

    def _take_window(self, window: dict[str, Any]) -> None:
        if window["window_seconds"] == 0 and window["capability"] == CAPABILITY:
            self.counted.append((window["attempts"], time.monotonic()))
        elif window["window_seconds"] == SHORT_S and window["scope"] is None and window["attempts"] and _proven(window):
            self.complete.setdefault(window["window_start"] // 1_000_000, time.time())

    def _take_alert(self, alert: dict[str, Any]) -> None:
        if alert["kind"] == "UPSTREAM_OUTAGE":
            self.outages.setdefault(alert["upstream"], time.monotonic())


def _proven(window: dict[str, Any]) -> bool:
    return all(entry["state"] == "COMPLETE" for entry in window["evidence"])
