"""The ledger's shell: a thread in which one life follows the other until it is stopped or nothing helps any more."""

import time

from unmask.schemas.framing import Framing, framing_from_environment
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.errors import LedgerStalled, LogRewound, PartitionsAdded, WorkerNameTaken
from unmask.streams.ledger.fold import QuarantineFlood
from unmask.streams.ledger.life import Life
from unmask.streams.ledger.lives import Lives
from unmask.streams.ledger.pieces import LedgerStateUnreadable
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.status import LedgerStatus, Progress
from unmask.streams.settings import StreamSettings

__all__ = ["LedgerService", "LedgerStalled", "LogRewound", "QuarantineFlood", "WorkerNameTaken", "rules_from"]

_QUIET_S = 10.0


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


class LedgerService(Lives):
    """Runs the ledger in a thread of its own."""

    pause_s = 0.5
    hopeless = (QuarantineFlood, LedgerStateUnreadable, LogRewound, PartitionsAdded)

    def __init__(self, settings: StreamSettings, topics: Topics, framing: Framing | None = None) -> None:
        self._settings = settings
        self._topics = topics
        self._framing = framing or framing_from_environment()
        self._rules = rules_from(settings)
        super().__init__("ledger", "unmask-ledger", settings.instance, Progress())
        self._life: Life | None = None

    def _begin(self) -> Life:
        self._life = Life(self._settings, self._topics, self._rules, self._framing, self._progress)
        return self._life

    def _stalled(self, seconds: float, cause: Exception) -> Exception:
        return LedgerStalled(seconds, cause)

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
