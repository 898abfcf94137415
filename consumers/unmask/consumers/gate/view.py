"""The verdict topic in memory, by session: the newest record, and for those that were overwritten the ones before it.

Records are kept as bytes and read when they are asked for, so that a view over a million verdicts is loaded at the
speed of the client.
"""

from collections.abc import Collection

from unmask.consumers.gate.entry import Entry, NoRecord, Recorded, Tombstone, Undecodable, Unread
from unmask.consumers.gate.followed import FollowedTopic, NotRead
from unmask.consumers.gate.succession import Succession
from unmask.consumers.topic_reader import Row
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import HEADER_LENGTH, header
from unmask.schemas.errors import DecodeError
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import Trust
from unmask.schemas.tokens import opaque_id
from unmask.schemas.topics import Topics, namespace_from_environment
from unmask.schemas.wire import decode

__all__ = ["VerdictNotReady", "VerdictView", "verdict_source"]


class VerdictNotReady(NotRead):
    """The view has not been read to the needed offset in time; the text says why and what to do."""


def verdict_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the verdicts of a namespace are; by default as KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE say."""
    return TopicSource(Topics(namespace or namespace_from_environment()).verdicts.name, bootstrap)


class VerdictView(FollowedTopic):
    """What stands for every session, or for one, on all partitions of the verdict topic or on some.

    A look-up is as fresh as what has arrived; a gate that must be sure calls `catch_up` before. The view answers for
    ever NOT_READY, with the cause, until its topic can be read, and reads it anew when it fails. With `trust` a record
    that no trusted key signed displaces nothing.
    """

    refusal = VerdictNotReady
    content = "verdicts"

    def __init__(
        self,
        source: TopicSource,
        *,
        partitions: Collection[int] | None = None,
        only: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        self._only = None if only is None else only.encode()
        self._trust = trust
        # By partition, so that a record on a partition that its key does not hash to counts for nothing.
        self._records: dict[int, dict[bytes, bytes | None]] = {}
        self._overwritten: dict[int, dict[bytes, Succession]] = {}
        super().__init__(source, partitions=partitions, briefly=only is not None)

    @property
    def size(self) -> int:
        """Sessions that have a record, withdrawn ones included."""
        with self._changed:
            return sum(map(len, self._records.values()))

    def entry(self, session_id: str) -> Entry:
        """What the view holds for a session; Unread where it is not ready or does not read the session's partition."""
        key = opaque_id(session_id)
        with self._changed:
            if not self._ready:
                return Unread(key, self._cause())
            raw = key.encode()
            partition = partition_for(raw, self._partition_count)
            records = self._records.get(partition)
            if records is None or (self._only is not None and raw != self._only):
                return Unread(key, "This view does not read the session's partition.")
            if raw not in records:
                return NoRecord(key)
            value, earlier = records[raw], self._overwritten[partition].get(raw)
            if earlier is not None:
                return earlier.entry()
        return entry_of(key, value)

    def grown(self) -> list[str]:
        """Sessions whose newest record is not of the contract's first version, so that it may hold what came later."""
        first = header("verdict")
        with self._changed:
            return [
                key.decode("utf-8", "replace")
                for records in self._records.values()
                for key, value in records.items()
                if value is not None and value[:HEADER_LENGTH] != first
            ]

    def _begin(self, partitions: Collection[int]) -> None:
        self._records = {partition: {} for partition in partitions}
        self._overwritten = {partition: {} for partition in partitions}

    def _keep(self, row: Row) -> None:
        # A record without a key belongs to no session.
        if not row.key or (self._only is not None and row.key != self._only):
            return
        records = self._records[row.partition]
        if row.key in records:
            known = self._overwritten[row.partition]
            succession = known.get(row.key)
            if succession is None:
                key = row.key.decode("utf-8", "replace")
                succession = known[row.key] = Succession(key, self._source.topic, self._trust)
                succession.append(records[row.key])
            succession.append(row.value)
        records[row.key] = row.value


def entry_of(key: str, value: bytes | None) -> Entry:
    """What a session's only record is."""
    if value is None:
        return Tombstone(key)
    try:
        return Recorded(key, key, decode("verdict", value))
    except DecodeError as error:
        return Undecodable(key, str(error.reason))
