"""The tables' shell: owns the partitions that the group gives this worker, feeds them, and publishes what they say.

Life of a partition: assigned, read back to the end of its topics, then live. It is published only while it is live;
when it is taken away nothing of it is published any more, and what is known of it is kept for a while, since most
rebalances give it back.

Faust is sent to the end that reading back came to, but it may begin behind that: it goes on handing out what it had
fetched before, and passes over what it fetches again of that. What it handed out too early is gone then, and no later
record says so. So from a moment on all that it brings is held, what stands in the topics then is read once more, and
what was held comes after it.
"""

import asyncio
import logging
import threading
import time
from typing import Any

from aiokafka.errors import KafkaError
from faust.types import TP

from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_setup import require_own_trust, signing_from_environment
from unmask.schemas.topics import Topics
from unmask.streams.settings import StreamSettings
from unmask.streams.tables.app import build_app
from unmask.streams.tables.errors import NotCopartitioned, TablesStalled
from unmask.streams.tables.flow import Source, topic_names
from unmask.streams.tables.obligations_view import ObligationsView
from unmask.streams.tables.partition import TablePartition
from unmask.streams.tables.publish_loop import CrossWindowAlerts, PublishLoop, wall_clock
from unmask.streams.tables.publisher import WRITER_HEADER, Publisher
from unmask.streams.tables.read_back import ReadBack
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.stall_watch import StallWatch
from unmask.streams.tables.status import TablesStatus
from unmask.streams.tables.verdict_check import RecordCheck

__all__ = ["TablesService"]

_logger = logging.getLogger(__name__)
_STALL_CHECK_S = 10.0
_STALLED_S = 40.0
_KEEP_REVOKED_S = 600.0
_STOP_S = 10.0


class TablesService:
    """Runs the tables in the event loop that it is started in. Raises KeyFileUnusable, OwnRecordsUntrusted."""

    def __init__(
        self,
        settings: StreamSettings,
        topics: Topics,
        *,
        cross_window_alerts: CrossWindowAlerts | None = None,
    ) -> None:
        self._settings = settings
        self._topics = topics
        self._rules = TableRules.of(settings, topics.table_partitions)
        self._names = topic_names(topics)
        signer, trust = signing_from_environment(settings.signing_key, settings.trusted_keys)
        require_own_trust(signer, trust, KeyUse.VERDICTS)
        self._check = RecordCheck(topics.verdicts.name, topics.admissions.name, trust)
        self._obligations = ObligationsView(settings.bootstrap, topics, wall_clock() // 1000, self._check)
        self._publisher = Publisher(settings.bootstrap, topics, settings.instance, signer)
        self._live: dict[int, TablePartition] = {}
        self._held: list[tuple[Source, Any]] | None = None
        """What Faust brings before the partitions are live; None where nothing is held."""
        self._loop = PublishLoop(
            lambda: self._live, self._publisher, self._obligations, cross_window_alerts, settings.publish_ms / 1000
        )
        self._kept: dict[int, tuple[float, TablePartition]] = {}
        self._cancelled = threading.Event()
        self._reason = "starting"
        self._fatal: BaseException | None = None
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self._app: Any = None

    async def start(self) -> None:
        """Joins the group. Must be called in the event loop that goes on running."""
        self._reason = "reading verdicts and admissions"
        self._obligations.follower.start()
        self._app = build_app(self._settings, self._topics, self._on_message)
        self._app.on_partitions_revoked.connect(self._on_revoked, weak=False)
        self._app.on_rebalance_complete.connect(self._on_assigned, weak=False)
        self._tasks = [
            asyncio.create_task(self._guarded(task()), name=f"tables-{task.__name__}")
            for task in (self._run_app, self._loop.run, self._watch)
        ]

    async def stop(self) -> None:
        """Leaves the group after everything was acknowledged."""
        self._stopping = True
        self._cancelled.set()
        self._live.clear()
        if self._app is not None:
            try:
                await asyncio.wait_for(self._app.stop(), _STOP_S)
            except TimeoutError:
                _logger.warning("the Faust app did not stop within %.0f s and is left behind", _STOP_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._obligations.follower.stop()
        if self._fatal is None:
            await asyncio.get_running_loop().run_in_executor(None, self._publisher.close)

    @property
    def error(self) -> BaseException | None:
        """What ended them."""
        return self._fatal

    def status(self) -> TablesStatus:
        """The tables' condition."""
        live = list(self._live.values())
        reason = self._reason or self._stalled_marks(live)
        if self._fatal is not None:
            reason = str(self._fatal)
        undecodable = {source.value: sum(p.undecodable[source] for p in live) for source in Source}
        return TablesStatus(
            ready=not reason,
            reason=reason,
            partitions=tuple(sorted(self._live)),
            windows=sum(len(p.windows) for p in live),
            cells=sum(p.windows.cells for p in live),
            sessions=sum(len(p.sessions) for p in live),
            firing=sum(len(p.alerts) for p in live),
            withheld=sum(p.withheld for p in live),
            undecodable={**undecodable, "obligations": self._obligations.undecodable},
            published={source.value: n for source, n in self._publisher.published.items()},
            applied={source.value: sum(p.applied[source] for p in live) for source in Source},
            error=self._fatal,
        )

    def _stalled_marks(self, live: list[TablePartition]) -> str:
        if not live:
            return ""
        marks = live[0].windows.marks
        oldest = wall_clock() - self._rules.stalled
        stalled = [str(source) for source, through in sorted(marks.read_through().items()) if through < oldest]
        return f"the ledger's marks of source partitions {', '.join(stalled)} are stalled" if stalled else ""

    async def _guarded(self, work: Any) -> None:
        try:
            await work
        except Exception as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error
            _logger.error("the tables ended: %s: %s", type(error).__name__, error)

    async def _run_app(self) -> None:
        await self._app.start()
        await self._app.wait_until_stopped()
        if not self._stopping:
            raise self._app._crash_reason or RuntimeError("the Faust app stopped by itself")

    def _on_message(self, source: Source, message: Any) -> None:
        if self._held is not None:
            self._held.append((source, message))
            return
        partition = self._live.get(message.partition)
        if partition is None:
            return
        try:
            taken = self._take(partition, source, message)
        except Exception as error:
            # Faust would acknowledge the record and go on, which loses it.
            self._fail(error)
            raise
        if taken and source in (Source.SESSIONS, Source.VERDICTS):
            self._loop.wake()

    def _take(self, partition: TablePartition, source: Source, message: Any) -> bool:
        own = any(name == WRITER_HEADER and value == self._publisher.writer for name, value in message.headers or ())
        return partition.apply(source, message.key, message.value, message.offset, own=own)

    async def _on_revoked(self, _app: Any, revoked: set[TP], **_: Any) -> None:
        self._cancelled.set()
        self._held = None
        self._reason = "waiting for partitions"
        now = time.monotonic()
        for number in {tp.partition for tp in revoked} & self._live.keys():
            self._kept[number] = (now, self._live.pop(number))

    async def _on_assigned(self, _app: Any, **_: Any) -> None:
        try:
            await self._take_over()
        except Exception as error:
            self._fail(error)
            raise

    async def _take_over(self) -> None:
        cancelled = self._cancelled = threading.Event()
        numbers = self._assigned()
        self._reason = f"reading {len(numbers)} partitions back"
        started = time.monotonic()
        partitions = {number: self._kept_or_new(number) for number in numbers}
        held: list[tuple[Source, Any]] = []
        self._kept.clear()
        loop = asyncio.get_running_loop()
        if not await loop.run_in_executor(
            None, self._obligations.follower.caught_up.wait, self._settings.replay_timeout_s
        ):
            raise self._obligations.follower.error or TimeoutError(
                "verdicts and admissions could not be read to their end"
            )
        since_ms = (wall_clock() - self._rules.window_horizon) // 1000
        reader = ReadBack(
            self._settings.bootstrap,
            self._topics,
            windows_since_ms=since_ms,
            patience_s=self._settings.replay_timeout_s,
        )
        ends = await loop.run_in_executor(None, reader.run, partitions, cancelled) if partitions else {}
        if ends and not cancelled.is_set():
            held = self._held = []
            # Faust goes on from here; should it begin before, what it brings again is passed over by its offset.
            await self._seek(ends, cancelled)
            ends = await loop.run_in_executor(None, reader.run, partitions, cancelled)
        if ends is None or cancelled.is_set():
            for number, partition in partitions.items():
                self._kept[number] = (time.monotonic(), partition)
            return
        self._held = None
        for source, message in held:
            if message.partition in partitions:
                self._take(partitions[message.partition], source, message)
        for partition in partitions.values():
            # What changed in other sessions while it was not live has been told to nobody.
            partition.sessions.touch_all()
        self._live = partitions
        self._reason = ""
        _logger.info(
            "tables: partitions %s are live; %d records read back in %.1f s",
            sorted(numbers),
            reader.records,
            time.monotonic() - started,
        )

    async def _seek(self, ends: dict[tuple[str, int], int], cancelled: threading.Event) -> None:
        try:
            await self._app.consumer.seek_wait({TP(topic, number): end for (topic, number), end in ends.items()})
        except KafkaError:
            if not cancelled.is_set():
                raise

    def _assigned(self) -> list[int]:
        found: dict[str, list[int]] = {name: [] for name in self._names.values()}
        for tp in self._app.consumer.assignment():
            found[tp.topic].append(tp.partition)
        sets = {tuple(sorted(numbers)) for numbers in found.values()}
        if len(sets) != 1:
            raise NotCopartitioned({topic: sorted(numbers) for topic, numbers in found.items()})
        return list(sets.pop())

    def _kept_or_new(self, number: int) -> TablePartition:
        kept = self._kept.get(number)
        # Beyond that, tombstones that were written meanwhile might be gone already.
        if kept is not None and time.monotonic() - kept[0] < _KEEP_REVOKED_S:
            return kept[1]
        return TablePartition(number, self._rules, self._obligations, self._check)

    async def _watch(self) -> None:
        """Ends the tables where an input has unread records for long and Faust reads none, which it does not tell."""
        watch: StallWatch[TP] = StallWatch()
        while not self._stopping:
            await asyncio.sleep(_STALL_CHECK_S)
            if self._obligations.follower.error is not None:
                raise self._obligations.follower.error
            watched = [TP(self._names[Source.TALLIES], number) for number in self._live]
            try:
                ends = await self._app.consumer.highwaters(*watched) if watched else {}
                positions = {tp: await self._app.consumer.position(tp) for tp in ends}
            except KafkaError:
                # The group moves partitions just now, or the broker does not answer: that shows elsewhere.
                watch.forget()
                continue
            stalled = watch.observe(ends, positions, time.monotonic())
            if stalled is not None and stalled[1] > _STALLED_S:
                raise TablesStalled(stalled[0].topic, stalled[0].partition, stalled[1])
