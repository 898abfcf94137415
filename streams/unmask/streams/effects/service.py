"""The effects ledger's shell: a thread in which one life follows the other until it is stopped or nothing helps."""

import time

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
from unmask.streams.ledger.lives import Lives
from unmask.streams.settings import StreamSettings

__all__ = ["EffectsService", "rules_from"]

_QUIET_S = 10.0


def rules_from(settings: StreamSettings) -> EffectRules:
    """The fold's parameters from a worker's settings."""
    return EffectRules(
        retention_us=settings.effects_retention_s * MICROS,
        tenant_keys=settings.effects_tenant_keys,
        keys=settings.effects_keys,
    )


class EffectsService(Lives):
    """Runs the effects ledger in a thread of its own."""

    _progress: EffectsProgress
    pause_s = 0.2
    hopeless = (EffectsStateUnreadable, EffectsLogRewound, RequestPartitionsAdded)

    def __init__(self, settings: StreamSettings, topics: Topics, framing: Framing | None = None) -> None:
        self._settings = settings
        self._topics = topics
        self._framing = framing or framing_from_environment()
        self._rules = rules_from(settings)
        super().__init__("effects ledger", "unmask-effects", settings.instance, EffectsProgress())
        self._life: EffectsLife | None = None

    def _begin(self) -> EffectsLife:
        self._life = EffectsLife(self._settings, self._topics, self._rules, self._framing, self._progress)
        return self._life

    def _stalled(self, seconds: float, cause: Exception) -> Exception:
        return EffectsStalled(seconds, cause)

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
