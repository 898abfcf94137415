"""The effects ledger's shell: a thread in which one life follows the other until it is stopped or nothing helps."""

import logging
import threading
import time
from collections import deque

from unmask.schemas.framing import Framing, framing_from_environment
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.streams.effects.errors import (
    EffectsLogRewound,
    EffectsStalled,
    EffectsStateUnreadable,
    RequestPartitionsAdded,
)
from unmask.streams.effects.life import EffectsLife
from unmask.streams.effects.rules import EffectRules
from unmask.streams.effects.status import EffectsProgress, EffectsStatus
from unmask.streams.ledger.errors import BrokerRefuses, WorkerNameTaken, is_fencing, is_refusal
from unmask.streams.settings import StreamSettings

__all__ = ["EffectsService", "rules_from"]

logger = logging.getLogger(__name__)

_PAUSE_S = 0.2
_STALLED_S = 120.0
_QUIET_S = 10.0
_FENCINGS, _FENCINGS_S = 8, 60.0  # one fencing is a pause that took too long; this many are two workers of one name
_HOPELESS = (EffectsStateUnreadable, EffectsLogRewound, RequestPartitionsAdded)


def rules_from(settings: StreamSettings) -> EffectRules:
    """The fold's parameters from a worker's settings."""
    return EffectRules(
        retention_us=settings.effects_retention_s * MICROS,
        tenant_keys=settings.effects_tenant_keys,
        keys=settings.effects_keys,
    )


class EffectsService:
    """Runs the effects ledger in a thread of its own."""

    def __init__(self, settings: StreamSettings, topics: Topics, framing: Framing | None = None) -> None:
        self._settings = settings
        self._topics = topics
        self._framing = framing or framing_from_environment()
        self._rules = rules_from(settings)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unmask-effects", daemon=True)
        self._progress = EffectsProgress()
        self._life: EffectsLife | None = None
        self._error: BaseException | None = None
        self._fenced: deque[float] = deque(maxlen=_FENCINGS)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self, timeout: float = 15.0) -> None:
        """Ends the thread after what it is at, within `timeout` seconds if the broker lets it."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def status(self) -> EffectsStatus:
        """The ledger's condition, from any thread."""
        life, progress = self._life, self._progress
        states = list(life.states.values()) if life is not None else []
        ends = dict(life.log.ends) if life is not None else {}
        reason = str(self._error) if self._error is not None else progress.reason or self._stuck(life)
        return EffectsStatus(
            ready=not reason and self._error is None,
            reason=reason,
            partitions=tuple(sorted(state.partition for state in states)),
            lag=sum(max(0, ends.get(state.partition, 0) - state.next_offset) for state in states),
            requests=progress.records,
            transactions=progress.transactions,
            quarantined=progress.quarantined,
            answers=dict(progress.answers),
            keys=sum(len(state.effects) for state in states),
            budgets=sum(len(state.budgets) for state in states),
            error=self._error,
        )

    def _stuck(self, life: EffectsLife | None) -> str:
        now = time.monotonic()
        idle = now - self._progress.moved_at
        if idle > _QUIET_S:
            return f"requests wait, and nothing was decided for {idle:.0f} s"
        unanswered = 0.0 if life is None else now - life.log.answered_at
        if unanswered > _QUIET_S:
            return f"the broker has not told where the log ends for {unanswered:.0f} s"
        return ""

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._live()
            self._progress.reason = "stopped"
        except BaseException as error:
            self._error = error
            logger.error("effects ledger ends: %s: %s", type(error).__name__, error)

    def _live(self) -> None:
        self._life = life = EffectsLife(self._settings, self._topics, self._rules, self._framing, self._progress)
        failed = False
        try:
            life.run(self._stopping)
        except _HOPELESS:
            raise
        except Exception as error:
            stuck = self._progress.failed(f"{type(error).__name__}: {error}", time.monotonic())
            if is_refusal(error):
                raise BrokerRefuses(error) from error
            if is_fencing(error) and self._keeps_being_fenced():
                raise WorkerNameTaken(self._settings.instance) from error
            if stuck > _STALLED_S:
                raise EffectsStalled(stuck, error) from error
            failed = True
            logger.warning("effects ledger starts anew: %s", self._progress.reason)
        finally:
            # At once: while nobody polls, rebalances pile up in the client.
            life.close()
        if failed:
            self._stopping.wait(_PAUSE_S)

    def _keeps_being_fenced(self) -> bool:
        now = time.monotonic()
        self._fenced.append(now)
        return len(self._fenced) == _FENCINGS and now - self._fenced[0] < _FENCINGS_S
