"""What the ledger has seen of sessions: the newest snapshot of each source partition, kept as bytes."""

from collections.abc import Collection, Mapping
from typing import Any

from unmask.consumers.gate.followed import FollowedTopic, NotRead
from unmask.consumers.topic_reader import Row
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.errors import DecodeError
from unmask.schemas.wire import decode

__all__ = ["SnapshotsView"]


class SnapshotsView(FollowedTopic):
    """The snapshots of all sessions of some partitions, or of one session. Those given up by the ledger are gone."""

    content = "sessions"
    # The ledger always has a transaction open here, whose snapshots it has not published yet.
    committed = True

    def __init__(
        self, source: TopicSource, *, partitions: Collection[int] | None = None, only: str | None = None
    ) -> None:
        self._only = None if only is None else only.encode()
        self._snapshots: dict[bytes, dict[bytes, bytes]] = {}
        super().__init__(source, partitions=partitions, briefly=only is not None)

    def of(self, session_id: str) -> list[Mapping[str, Any]]:
        """The newest snapshots of a session, of any source partition. Raises NotRead where one cannot be read."""
        with self._changed:
            values = list(self._snapshots.get(session_id.encode(), {}).values())
        try:
            return [decode("session_tally", value) for value in values]
        except DecodeError as error:
            raise NotRead(
                f"What the stream has seen of the session cannot be read here ({error.reason}). Upgrade this gate to "
                "the workers' version."
            ) from None

    def _begin(self, partitions: Collection[int]) -> None:
        self._snapshots = {}

    def _keep(self, row: Row) -> None:
        session, divided, source = (row.key or b"").rpartition(b"|")
        if not divided or (self._only is not None and session != self._only):
            return
        if row.value is not None:
            self._snapshots.setdefault(session, {})[source] = row.value
            return
        parts = self._snapshots.get(session)
        if parts is not None and parts.pop(source, None) is not None and not parts:
            del self._snapshots[session]
