"""Reading for the gate: of each topic the one partition that a session hashes to, to the end that it has now."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from unmask.consumers.gate.discharge import Discharge
from unmask.consumers.gate.discharges import DischargesView
from unmask.consumers.gate.entry import Entry
from unmask.consumers.gate.followed import FollowedTopic
from unmask.consumers.gate.snapshots import SnapshotsView
from unmask.consumers.gate.view import VerdictNotReady, VerdictView
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import Trust
from unmask.schemas.topics import Topics

__all__ = ["Reading"]

View = TypeVar("View", bound=FollowedTopic)


class Reading:
    """Answers from views that stay and are followed, or, not `live`, from a reading for each question.

    Both are read to the end offset taken at the question. `on_progress` is told how much of a first reading is done.
    """

    def __init__(
        self,
        topics: Topics,
        bootstrap: str | None,
        *,
        live: bool,
        trust: Trust | None,
        on_progress: Callable[[float], None] | None = None,
    ) -> None:
        self._verdicts = TopicSource(topics.verdicts.name, bootstrap)
        self._admissions = TopicSource(topics.admissions.name, bootstrap, compacted=False)
        self._sessions = TopicSource(topics.sessions.name, bootstrap)
        self._live = live
        self._trust = trust
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._verdict_views: dict[int, VerdictView] = {}
        self._discharge_views: dict[int, DischargesView] = {}
        self._snapshot_views: dict[int, SnapshotsView] = {}
        self._closed = False

    def entry(self, key: str, deadline: float) -> Entry:
        """What stands under a session's key. Raises NotRead and TopicUnreadable, each with its cause."""
        partition = self._partition(self._verdicts, key, deadline)
        if self._live:
            view = self._kept(self._verdict_views, partition, self._new_verdicts)
            self._await(view, deadline)
            view.catch_up(partition, deadline - time.monotonic())
            return view.entry(key)
        # It takes its own end offset, after the question came.
        with VerdictView(self._verdicts, partitions=[partition], only=key, trust=self._trust) as brief:
            self._await(brief, deadline)
            return brief.entry(key)

    def discharge(self, key: str, digest: str, *, mutating: bool, deadline: float) -> Discharge | None:
        """What was recorded of this very verdict. Raises NotRead and TopicUnreadable, each with its cause."""
        partition = self._partition(self._admissions, key, deadline)
        if self._live:
            view = self._kept(self._discharge_views, partition, self._new_discharges)
            view.catch_up(partition, deadline - time.monotonic())
            return view.of(key, digest, mutating=mutating)
        with DischargesView(self._admissions, partitions=[partition], only=key, trust=self._trust) as brief:
            brief.wait_ready(deadline - time.monotonic())
            return brief.of(key, digest, mutating=mutating)

    def snapshots(self, key: str, deadline: float) -> list[Mapping[str, Any]]:
        """What the ledger has seen of a session. Raises NotRead and TopicUnreadable, each with its cause."""
        partition = self._partition(self._sessions, key, deadline)
        if self._live:
            view = self._kept(self._snapshot_views, partition, self._new_snapshots)
            view.catch_up(partition, deadline - time.monotonic())
            return view.of(key)
        with SnapshotsView(self._sessions, partitions=[partition], only=key) as brief:
            brief.wait_ready(deadline - time.monotonic())
            return brief.of(key)

    def ancestors(self, deadline: float) -> "AncestorsRead":
        """What is known of other sessions by then."""
        return AncestorsRead(self, deadline)

    def close(self) -> None:
        """Let go of everything; whoever asks from now on is told so."""
        with self._lock:
            self._closed = True
            kept = (self._verdict_views, self._discharge_views, self._snapshot_views)
            views: list[FollowedTopic] = [view for each in kept for view in each.values()]
            for each in kept:
                each.clear()
        for view in views:
            view.close()

    def _partition(self, source: TopicSource, key: str, deadline: float) -> int:
        if self._closed:
            raise VerdictNotReady(_CLOSED)
        return partition_for(key, source.shape(deadline - time.monotonic()).partitions)

    def _await(self, view: VerdictView, deadline: float) -> None:
        if not view.ready:
            view.wait_ready(deadline - time.monotonic(), self._on_progress)

    def _kept(self, views: dict[int, View], partition: int, make: Callable[[int], View]) -> View:
        with self._lock:
            if self._closed:
                raise VerdictNotReady(_CLOSED)
            view = views.get(partition)
            if view is None:
                view = views[partition] = make(partition).start()
            return view

    def _new_verdicts(self, partition: int) -> VerdictView:
        return VerdictView(self._verdicts, partitions=[partition], trust=self._trust)

    def _new_discharges(self, partition: int) -> DischargesView:
        return DischargesView(self._admissions, partitions=[partition], trust=self._trust)

    def _new_snapshots(self, partition: int) -> SnapshotsView:
        return SnapshotsView(self._sessions, partitions=[partition])


class AncestorsRead:
    """Other sessions as a reading has them. Raises NotRead and TopicUnreadable, each with its cause."""

    def __init__(self, reading: Reading, deadline: float) -> None:
        self._reading = reading
        self._deadline = deadline

    def snapshots(self, session_id: str) -> list[Mapping[str, Any]]:
        """What the stream has seen of the session."""
        return self._reading.snapshots(session_id, self._deadline)

    def entry(self, session_id: str) -> Entry:
        """What the verdict topic holds for it."""
        return self._reading.entry(session_id, self._deadline)

    def discharge(self, session_id: str, digest: str) -> Discharge | None:
        """What was recorded of this very verdict; what an operator allowed a reader does not count."""
        return self._reading.discharge(session_id, digest, mutating=True, deadline=self._deadline)


_CLOSED = "This gate is closed; make a new one."
