"""The ledger's shell: a thread in which one life follows the other until it is stopped or nothing helps any more."""

import logging
import threading
import time
from collections import deque

from unmask.schemas.framing import Framing, framing_from_environment
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.errors import (
    BrokerRefuses,
    LedgerStalled,
    LogRewound,
    PartitionsAdded,
    WorkerNameTaken,
    is_fencing,
    is_refusal,
)
from unmask.streams.ledger.fold import QuarantineFlood
from unmask.streams.ledger.life import Life
from unmask.streams.ledger.pieces import LedgerStateUnreadable
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.status import LedgerStatus, Progress
from unmask.streams.settings import StreamSettings

__all__ = ["LedgerService", "LedgerStalled", "LogRewound", "QuarantineFlood", "WorkerNameTaken", "rules_from"]

logger = logging.getLogger(__name__)

_PAUSE_S = 0.5
_STALLED_S = 120.0
_QUIET_S = 10.0
_FENCINGS, _FENCINGS_S = 8, 60.0  # one fencing is a pause that took too long; this many are two workers of one name
_HOPELESS = (QuarantineFlood, LedgerStateUnreadable, LogRewound, PartitionsAdded)


def rules_from(settings: StreamSettings) -> FoldRules:
    """The fold's parameters from a worker's settings."""
    return FoldRules(
        window_seconds=settings.window_seconds,
        outage_seconds=settings.alert_seconds,
        grace_us=settings.grace_ms * 1000,
        horizon_us=settings.open_horizon_s * MICROS,
        silence_factor=settings.silence_factor,
        write_off_us=settings.write_off_s * MICROS,
        quarantine_limit=settings.quarantine_limit,
    )


class LedgerService:
    """Runs the ledger in a thread of its own."""

    def __init__(self, settings: StreamSettings, topics: Topics, framing: Framing | None = None) -> None:
        self._settings = settings
        self._topics = topics
        self._framing = framing or framing_from_environment()
        self._rules = rules_from(settings)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unmask-ledger", daemon=True)
        self._progress = Progress()
        self._life: Life | None = None
        self._error: BaseException | None = None
        self._fenced: deque[float] = deque(maxlen=_FENCINGS)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self, timeout: float = 15.0) -> None:
        """Commits what was folded and ends the thread, within `timeout` seconds if the broker lets it."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def status(self) -> LedgerStatus:
        """The ledger's condition, from any thread."""
        life, progress = self._life, self._progress
        states = list(life.states.values()) if life is not None else []
        ends = dict(life.frontier.ends) if life is not None else {}
        reason = str(self._error) if self._error is not None else progress.reason or self._stuck(life)
        return LedgerStatus(
            ready=not reason and self._error is None,
            reason=reason,
            partitions=tuple(sorted(state.partition for state in states)),
            lag=sum(max(0, ends.get(state.partition, 0) - state.next_offset) for state in states),
            records=progress.records,
            events=progress.events,
            transactions=progress.transactions,
            quarantined=progress.quarantined,
            emitters=sum(len(state.emitters) for state in states),
            cells=sum(len(state.cells) for state in states),
            sessions=sum(len(state.sessions) for state in states),
            error=self._error,
        )

    def _stuck(self, life: Life | None) -> str:
        now, allowed = time.monotonic(), 3 * self._settings.snapshot_ms / 1000 + _QUIET_S
        idle = now - self._progress.moved_at
        if idle > allowed:
            return f"nothing was committed for {idle:.0f} s"
        unanswered = 0.0 if life is None else now - life.frontier.answered_at
        if unanswered > allowed:
            return f"the broker has not told where the log ends for {unanswered:.0f} s"
        return ""

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._live()
            self._progress.reason = "stopped"
        except BaseException as error:
            self._error = error
            logger.error("ledger ends: %s: %s", type(error).__name__, error)

    def _live(self) -> None:
        self._life = life = Life(self._settings, self._topics, self._rules, self._framing, self._progress)
        failed = False
        try:
            life.run(self._stopping)
        except _HOPELESS:
            raise
        except Exception as error:
            # Marks may be committed in every life, and a record that none of them survives come after them.
            stuck = self._progress.failed(f"{type(error).__name__}: {error}", time.monotonic())
            if is_refusal(error):
                raise BrokerRefuses(error) from error
            if is_fencing(error) and self._keeps_being_fenced():
                raise WorkerNameTaken(self._settings.instance) from error
            if stuck > _STALLED_S:
                raise LedgerStalled(stuck, error) from error
            failed = True
            logger.warning("ledger starts anew: %s", self._progress.reason)
        finally:
            # At once: while nobody polls, rebalances pile up in the client.
            life.close()
        if failed:
            self._stopping.wait(_PAUSE_S)

    def _keeps_being_fenced(self) -> bool:
        now = time.monotonic()
        self._fenced.append(now)
        return len(self._fenced) == _FENCINGS and now - self._fenced[0] < _FENCINGS_S
