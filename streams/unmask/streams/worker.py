"""A stream worker: both ledgers in threads, the tables in the event loop, the web endpoints beside them."""

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Callable

from unmask.schemas.topic_admin import discover_topics, require_topics
from unmask.schemas.topics import Topics
from unmask.streams.effects.service import EffectsService
from unmask.streams.effects.status import EffectsStatus
from unmask.streams.ledger.service import LedgerService
from unmask.streams.ledger.status import LedgerStatus
from unmask.streams.settings import StreamSettings
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.service import TablesService
from unmask.streams.tables.status import TablesStatus
from unmask.streams.tables.verdict_check import RecordCheck
from unmask.streams.web.metrics import WorkerCollector
from unmask.streams.web.overview_view import OverviewView
from unmask.streams.web.page.answers import PageSetting
from unmask.streams.web.page.routes import Page
from unmask.streams.web.page.trust import page_trust
from unmask.streams.web.page.values import PartLine
from unmask.streams.web.server import Readiness, WebServer

__all__ = ["EFFECTS", "LEDGER", "TABLES", "Worker", "find_topics"]

LEDGER, TABLES, EFFECTS = "ledger", "tables", "effects"
_CHECK_S = 0.2
_LEDGER_STOP_S = 15.0
_logger = logging.getLogger(__name__)


def find_topics(settings: StreamSettings) -> Topics:
    """The namespace's topics as they are, verified. Raises TopicMissing, TopicPolicyMismatch, BrokerUnreachable."""
    topics = discover_topics(settings.bootstrap, settings.namespace)
    require_topics(settings.bootstrap, topics)
    return topics


class Worker:
    """Runs the parts of a worker until it is told to stop or one of them fails."""

    def __init__(
        self, settings: StreamSettings, topics: Topics, parts: tuple[str, ...] = (LEDGER, TABLES, EFFECTS)
    ) -> None:
        self._settings = settings
        self._topics = topics
        self._parts = parts
        self._rules = TableRules.of(settings, topics.table_partitions)
        self._ledger: LedgerService | None = None
        self._tables: TablesService | None = None
        self._effects: EffectsService | None = None
        self._stop = asyncio.Event()
        self._failed = False
        self.port = 0

    async def run(self, on_started: Callable[[int], None] | None = None) -> None:
        """Runs until `stop` or a signal; `on_started` gets the port of the web endpoints.

        Raises the error of the part that failed.
        """
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            # Not every platform and not every thread can take signals; then stop() is what ends the worker.
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(name, self.stop)
        view = OverviewView(self._settings.bootstrap, self._topics, self._rules, int(time.time() * 1000))
        collector = WorkerCollector(
            view.read,
            self._settings.capabilities,
            self._ledger_status,
            self._tables_status,
            self._effects_status,
            caught_up=view.follower.caught_up.is_set,
        )
        page = self._page(view) if self._settings.page else None
        server = WebServer(
            self._settings.host,
            self._settings.port,
            collector=collector,
            alive=lambda: not self._failed,
            readiness=lambda: self._readiness(view),
            routes=() if page is None else page.routes(),
        )
        self.port = await server.start()
        try:
            view.follower.start()
            if LEDGER in self._parts:
                self._ledger = LedgerService(self._settings, self._topics)
                self._ledger.start()
            if EFFECTS in self._parts:
                self._effects = EffectsService(self._settings, self._topics)
                self._effects.start()
            if TABLES in self._parts:
                self._tables = TablesService(self._settings, self._topics, cross_window_alerts=view.cross_window_alerts)
                await self._tables.start()
            if on_started is not None:
                on_started(self.port)
            await self._until_stopped(view)
        finally:
            await self._end(view)
            if page is not None:
                await page.stop()
            await server.stop()

    def stop(self) -> None:
        """Ends the worker, from the event loop."""
        self._stop.set()

    async def _until_stopped(self, view: OverviewView) -> None:
        while not self._stop.is_set():
            error = self._error(view)
            if error is not None:
                self._failed = True
                raise error
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _CHECK_S)

    def _error(self, view: OverviewView) -> BaseException | None:
        for status in (self._ledger_status(), self._effects_status()):
            if status is not None and status.error is not None:
                return status.error
        if self._tables is not None and self._tables.error is not None:
            return self._tables.error
        return view.follower.error

    async def _end(self, view: OverviewView) -> None:
        loop = asyncio.get_running_loop()
        view.follower.stop()
        # The ledger's last transaction may still bring something for the tables, so that it ends first.
        if self._ledger is not None:
            await loop.run_in_executor(None, self._ledger.stop, _LEDGER_STOP_S)
        if self._effects is not None:
            await loop.run_in_executor(None, self._effects.stop, _LEDGER_STOP_S)
        if self._tables is not None:
            await self._tables.stop()

    def _ledger_status(self) -> LedgerStatus | None:
        return None if self._ledger is None else self._ledger.status()

    def _effects_status(self) -> EffectsStatus | None:
        return None if self._effects is None else self._effects.status()

    def _tables_status(self) -> TablesStatus | None:
        return None if self._tables is None else self._tables.status()

    def _page(self, view: OverviewView) -> Page:
        settings, topics = self._settings, self._topics
        trust = page_trust(settings.signing_key, settings.trusted_keys)
        setting = PageSetting(
            topics=topics,
            instance=settings.instance,
            ledger_group=settings.ledger_group,
            tables_group=settings.tables_group,
            stalled_s=settings.stalled_s,
            parts=lambda: self._part_lines(view),
            overview=view.read,
            check=RecordCheck(topics.verdicts.name, topics.admissions.name, trust),
        )
        return Page(settings.bootstrap, setting)

    def _part_lines(self, view: OverviewView) -> tuple[PartLine, ...]:
        reasons = self._readiness(view).reasons
        statuses = self._statuses()
        return tuple(
            PartLine(
                part=part,
                ready=part not in reasons,
                reason=reasons.get(part, ""),
                partitions=() if (status := statuses[part]) is None else status.partitions,
            )
            for part in self._parts
        )

    def _statuses(self) -> dict[str, LedgerStatus | TablesStatus | EffectsStatus | None]:
        return {LEDGER: self._ledger_status(), TABLES: self._tables_status(), EFFECTS: self._effects_status()}

    def _readiness(self, view: OverviewView) -> Readiness:
        parts: dict[str, str] = {}
        for name, status in self._statuses().items():
            if name in self._parts:
                parts[name] = "starting" if status is None else status.reason if not status.ready else ""
        parts["metrics"] = "" if view.follower.caught_up.is_set() else "reading windows and alerts"
        return Readiness(
            {name: reason for name, reason in parts.items() if reason}, tuple(p for p in parts if not parts[p])
        )
