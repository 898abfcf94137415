"""The sampler: reads windows and verdicts all the while, as any reader could, and keeps every claim of COMPLETE.

It reads the whole log of the windows topic, so that no record that ever stood there escapes it, however short. Beside
that it follows the ledger's marks, which tell when each source partition had been read up to where.
"""

import threading
import time
from collections import Counter
from typing import Any, NamedTuple

from tests.chaos.soak.marks import Marks

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.codec import decode
from unmask.schemas.codes import Evidence, Family
from unmask.schemas.topics import Topics

__all__ = ["FAMILIES", "Claim", "Sampler", "family_count"]

FAMILIES = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)


_READ: dict[str, list[int] | None] = {"windows": None, "verdicts": None, "tallies": [0]}
"""Topics and their partitions; each of the tallies has the marks of all source partitions."""


class Claim(NamedTuple):
    """A record that said COMPLETE of a family."""

    start: int
    seconds: int
    release_line: str | None
    """None for the window as a whole."""
    capability: str | None
    family: Family
    events: int
    published: int
    """When the record was written, in microseconds."""
    seen: int
    """When the sampler had read it, in microseconds."""


def family_count(record: dict[str, Any], family: Family) -> int:
    """How many events of a family a window record counts."""
    if family is Family.SESSION_TEARDOWN:
        return sum(record["teardowns_by_outcome"].values())
    name = {"route_attempt": "attempts", "kernel_fallback": "fallbacks_total", "masked_error": "masked_errors"}
    return int(record[name[family.value]])


class Sampler:
    """A thread that reads until it is stopped."""

    def __init__(self, bootstrap: str, topics: Topics) -> None:
        self._sources = {name: TopicSource(getattr(topics, name).name, bootstrap) for name in _READ}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.lock = threading.Lock()
        self.claims: list[Claim] = []
        self.records = 0
        """Window records read."""
        self.states: Counter[str] = Counter()
        self.windows: dict[bytes, dict[str, Any]] = {}
        """What stands, by key."""
        self.verdicts: dict[str, dict[str, Any]] = {}
        self.marks = Marks()
        self.error: Exception | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join(30.0)

    def _run(self) -> None:
        positions: dict[str, dict[int, int]] = {name: {} for name in _READ}
        while not self._stop.is_set():
            try:
                self._read(positions)
            except TopicUnreadable:
                # A broker was killed. Readers come again, and go on where they were.
                time.sleep(0.5)
            except Exception as error:
                self.error = error
                return

    def _read(self, positions: dict[str, dict[int, int]]) -> None:
        readers: dict[str, TopicReader] = {}
        try:
            for name, source in self._sources.items():
                readers[name] = TopicReader(source, _READ[name], resume=positions[name], timeout=10.0)
            while not self._stop.is_set():
                for name, reader in readers.items():
                    rows = reader.read(0.1)
                    with self.lock:
                        for row in rows:
                            self._take(name, row)
                        positions[name] = dict(reader.positions)
        finally:
            for reader in readers.values():
                reader.close()

    def _take(self, name: str, row: Row) -> None:
        key = row.key or b""
        if name == "tallies":
            if key.startswith(b"m|") and row.value is not None:
                mark = decode("evidence_mark", row.value)
                self.marks.take(mark["partition"], mark["offset"], row.timestamp_ms * 1_000)
            return
        if name == "verdicts":
            if row.value is None:
                self.verdicts.pop(key.decode(), None)
            else:
                self.verdicts[key.decode()] = decode("verdict", row.value)
            return
        if row.value is None:
            self.windows.pop(key, None)
            return
        record = decode("window", row.value)
        self.windows[key] = record
        self.records += 1
        seen = time.time_ns() // 1_000
        line = None if record["scope"] is None else record["scope"]["release_line"]
        for entry in record["evidence"]:
            self.states[entry["state"]] += 1
            family = Family(entry["family"])
            if entry["state"] == Evidence.COMPLETE and family in FAMILIES:
                self.claims.append(
                    Claim(
                        record["window_start"], record["window_seconds"], line, record["capability"], family,
                        family_count(record, family), row.timestamp_ms * 1_000, seen,
                    )
                )  # fmt: skip
