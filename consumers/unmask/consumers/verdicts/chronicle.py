"""Everything that still stands in the log under one session's key, each record with whether it can be believed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unmask.consumers.gate.entry import Displaced
from unmask.consumers.gate.succession import Succession
from unmask.consumers.gate.view import VerdictNotReady
from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.errors import DecodeError
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import Trust
from unmask.schemas.wire import decode

__all__ = ["Said", "read_chronicle"]

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Said:
    """One record of the session, oldest first."""

    partition: int
    offset: int
    written_at: int
    """Microseconds since the epoch, by its writer's clock or the broker's, as the topic is set."""
    verdict: Mapping[str, Any] | None
    """None where it was withdrawn, or cannot be read."""
    flaw: str | None
    """Why it is not to be believed, as half a sentence."""


def read_chronicle(source: TopicSource, key: str, *, timeout: float, trust: Trust | None = None) -> list[Said]:
    """All records under a session's key that compaction has left. Raises TopicUnreadable, VerdictNotReady."""
    deadline = time.monotonic() + timeout
    partition = partition_for(key, source.shape(timeout).partitions)
    succession = Succession(key, source.topic, trust)
    found: list[Said] = []
    with TopicReader(source, [partition], timeout=timeout) as reader:
        while not reader.caught_up:
            if time.monotonic() > deadline:
                left = f"{reader.remaining} offsets left"
                raise VerdictNotReady(
                    f"The verdicts could not be read to their end in time ({left}). Allow more time, or check the "
                    "broker's load."
                )
            for row in reader.read(_POLL_SECONDS):
                if row.key == key.encode():
                    succession.append(row.value)
                    entry = succession.entry()
                    flaw = entry.flaw if isinstance(entry, Displaced) else None
                    found.append(Said(partition, row.offset, row.timestamp_ms * 1000, _verdict(row.value), flaw))
    return found


def _verdict(value: bytes | None) -> Mapping[str, Any] | None:
    try:
        return None if value is None else decode("verdict", value)
    except DecodeError:
        return None
