"""What stands on unmask.sessions: the newest snapshot of each session and source partition, read to the end once."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.windows_view import NotReadInTime, Progress
from unmask.schemas.errors import DecodeError
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topics import Topics, namespace_from_environment
from unmask.schemas.wire import decode

__all__ = ["Snapshots", "read_all_sessions", "read_session", "sessions_source"]

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Snapshots by session, those of all source partitions."""

    tallies: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Sessions of which a snapshot cannot be read, and why, as a code: what is known of these is not all."""

    def of(self, session_id: str) -> tuple[Mapping[str, Any], ...]:
        """The snapshots of a session; none where there are none."""
        return self.tallies.get(session_id, ())


def sessions_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the snapshots of a namespace are; by default as KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE say."""
    return TopicSource(Topics(namespace or namespace_from_environment()).sessions.name, bootstrap)


def read_session(source: TopicSource, key: str, *, timeout: float) -> Snapshots:
    """The snapshots of one session, of all source partitions. Raises a TopicUnreadable that names the cause."""
    deadline = time.monotonic() + timeout
    partition = partition_for(key, source.shape(timeout).partitions)
    return _read(source, [partition], key.encode(), deadline, None)


def read_all_sessions(source: TopicSource, *, timeout: float, progress: Progress | None = None) -> Snapshots:
    """The snapshots of all sessions. Raises a TopicUnreadable that names the cause."""
    return _read(source, None, None, time.monotonic() + timeout, progress)


def _read(
    source: TopicSource,
    partitions: list[int] | None,
    only: bytes | None,
    deadline: float,
    progress: Progress | None,
) -> Snapshots:
    newest: dict[tuple[bytes, bytes], bytes] = {}
    # The ledger always has a transaction open here, whose snapshots it has not published yet.
    with TopicReader(
        source, partitions, committed=True, timeout=max(0.01, deadline - time.monotonic())
    ) as reader:  # fmt: skip
        total = reader.remaining
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise NotReadInTime(source.topic, reader.remaining)
            _take(reader.read(_POLL_SECONDS), reader.partition_count, only, newest)
            if progress is not None:
                progress(total, reader.remaining)
    return _decoded(newest)


def _take(rows: Iterable[Row], partitions: int, only: bytes | None, newest: dict[tuple[bytes, bytes], bytes]) -> None:
    for row in rows:
        session, divided, place = (row.key or b"").rpartition(b"|")
        # One on a partition that its session does not hash to was not put there by a ledger.
        if not divided or only not in (None, session) or partition_for(session, partitions) != row.partition:
            continue
        if row.value is None:
            newest.pop((session, place), None)
        else:
            newest[session, place] = row.value


def _decoded(newest: Mapping[tuple[bytes, bytes], bytes]) -> Snapshots:
    tallies: dict[str, tuple[Mapping[str, Any], ...]] = {}
    unreadable: dict[str, str] = {}
    for (session, place), value in sorted(newest.items()):
        name = session.decode("utf-8", "replace")
        try:
            tally = decode("session_tally", value)
        except DecodeError as error:
            unreadable[name] = str(error.reason)
            continue
        if tally["session_id"] != name or str(tally["partition"]).encode() != place:
            unreadable[name] = "UNDER_ANOTHER_KEY"
            continue
        tallies[name] = (*tallies.get(name, ()), tally)
    return Snapshots(tallies, unreadable)
