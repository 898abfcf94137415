"""Plain readers of topics, each read again and again from where it stood to the end that the topic has then."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent, TopicRewound
from unmask.schemas.topics import TopicSpec

__all__ = ["Progress", "Readers"]

Progress = Callable[[str, int], None]
"""Told the topic that is read, and how many offsets are left."""

_STUCK_SECONDS = 20.0


class Readers:
    """Readers of one cluster's topics. Every method raises a TopicUnreadable that names the cause."""

    def __init__(self, bootstrap: str | None, timeout: float, progress: Progress) -> None:
        self._bootstrap = bootstrap
        self._timeout = timeout
        self._progress = progress
        self._sources: dict[str, TopicSource] = {}
        self._readers: dict[str, TopicReader] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reader in self._readers.values():
            reader.close()

    def source(self, spec: TopicSpec) -> TopicSource:
        """A topic's source; the same one each time."""
        source = self._sources.get(spec.name)
        if source is None:
            source = self._sources[spec.name] = TopicSource(spec.name, self._bootstrap, compacted=spec.compacted)
        return source

    def partitions(self, spec: TopicSpec) -> int:
        """How many partitions the topic has."""
        return self.source(spec).shape(self._timeout).partitions

    def reader(self, spec: TopicSpec, only: int | None = None) -> TopicReader:
        """A topic's reader, at the topic's beginning when it is asked for first; of one partition, or of all."""
        reader = self._readers.get(spec.name)
        if reader is None:
            chosen = None if only is None else [only]
            reader = self._readers[spec.name] = TopicReader(self.source(spec), chosen, timeout=self._timeout)
        return reader

    def ends(self, spec: TopicSpec) -> dict[int, int]:
        """The offset after the newest record of each partition, now."""
        return self.source(spec).end_offsets(range(self.partitions(spec)), self._timeout)

    def read(
        self,
        spec: TopicSpec,
        take: Callable[[Row], None],
        only: int | None = None,
        until: Mapping[int, int] | None = None,
    ) -> None:
        """Hands on every record up to the end that the topic has now.

        With `until`, reading ends at the first record at or above these offsets; what came along with it is handed on
        as well.
        """
        reader, source = self.reader(spec, only), self.source(spec)
        ends = source.end_offsets(reader.positions, self._timeout)
        if any(end < reader.positions[partition] for partition, end in ends.items()):
            raise TopicRewound(spec.name)
        if until is not None:
            ends = {partition: min(end, until.get(partition, -1) + 1) for partition, end in ends.items()}
        reader.ends = ends
        moved = time.monotonic()
        while not reader.caught_up:
            rows = reader.read(0.5)
            for row in rows:
                take(row)
            if rows:
                moved = time.monotonic()
                self._progress(spec.name, reader.remaining)
            elif time.monotonic() - moved > _STUCK_SECONDS:
                raise BrokerSilent(source.bootstrap, f"{spec.name} gave nothing for {_STUCK_SECONDS:.0f} s")
