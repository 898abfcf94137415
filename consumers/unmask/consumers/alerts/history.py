"""What stands on the alerts topic below an offset."""

import time
from collections.abc import Iterator

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent

__all__ = ["rows_below"]

_OPEN_SECONDS = 15.0
_READ_SECONDS = 600.0
_WAIT_SECONDS = 0.5


def rows_below(source: TopicSource, partition: int, until: int, *, begin_at: int = 0) -> Iterator[Row]:
    """The records of a partition below an offset. Raises a TopicUnreadable that names the cause."""
    if until <= begin_at:
        return
    deadline = time.monotonic() + _READ_SECONDS
    with TopicReader(source, [partition], resume={partition: begin_at}, timeout=_OPEN_SECONDS) as reader:
        while reader.positions[partition] < until:
            if time.monotonic() > deadline:
                raise BrokerSilent(source.bootstrap, f"{source.topic} could not be read in {_READ_SECONDS:g} s")
            yield from (row for row in reader.read(_WAIT_SECONDS) if row.offset < until)
