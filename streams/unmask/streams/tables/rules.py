"""The tables' parameters. All instants and durations are microseconds, but window sizes, which are seconds."""

from dataclasses import dataclass

from unmask.schemas.windowing import MICROS
from unmask.streams.settings import StreamSettings
from unmask.streams.verdict.delegation_rules import BLOCKED_TURNS

__all__ = ["TableRules"]

_HOUR = 3600 * MICROS


@dataclass(frozen=True, slots=True)
class TableRules:
    """What the tables need to know beside their inputs. Equal on all workers of a namespace."""

    table_partitions: int
    window_seconds: tuple[int, ...] = (60, 3600)
    alert_seconds: int = 60
    """Size of the windows that drive alerts."""
    threshold: float = 0.05
    fallback_rate_threshold: float = 0.05
    outage_sessions: int = 2
    blocked_turns: int = BLOCKED_TURNS
    """Turns with a refusal and without an accepted write, from which on enforcement is found to block."""
    alert_horizon: int = _HOUR
    """How long after its window's end a loss that never healed still fires."""
    window_horizon: int = 6 * 24 * _HOUR
    """How long after its start a window is kept."""
    stalled: int = 60 * MICROS
    """Age at which a source partition's mark counts as stalled."""

    @classmethod
    def of(cls, settings: StreamSettings, table_partitions: int) -> "TableRules":
        """The parameters of a worker with these settings."""
        return cls(
            table_partitions=table_partitions,
            window_seconds=settings.window_seconds,
            alert_seconds=settings.alert_seconds,
            threshold=settings.threshold,
            fallback_rate_threshold=settings.fallback_rate_threshold,
            outage_sessions=settings.outage_sessions,
            alert_horizon=settings.alert_horizon_s * MICROS,
            window_horizon=settings.window_horizon_s * MICROS,
            stalled=settings.stalled_s * MICROS,
        )
