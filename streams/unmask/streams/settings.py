"""Every knob of a stream worker, in one frozen value. Durations carry their unit in their name."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from unmask.schemas.topics import DEFAULT_NAMESPACE
from unmask.schemas.windowing import LIFETIME

__all__ = ["ALERT_WINDOW_SECONDS", "DEFAULT_WINDOW_SECONDS", "SettingsError", "StreamSettings"]

DEFAULT_WINDOW_SECONDS = (60, 3600)
ALERT_WINDOW_SECONDS = 60
"""Windows of this size drive alerts, where it is configured; otherwise the smallest size does."""


class SettingsError(ValueError):
    """A knob has a value that cannot work; the message says which and what would."""


def _random_instance() -> str:
    # No host name and no PID: both would end in transactional ids and consumer groups that everybody can list.
    return f"w-{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Settings of one worker. Raises SettingsError where a value cannot work."""

    bootstrap: str = "localhost:9092"
    """Bootstrap servers, as for every Kafka client."""
    namespace: str = DEFAULT_NAMESPACE
    """First part of all topic names, consumer groups and transactional ids."""
    instance: str = field(default_factory=_random_instance)
    """Name of the worker slot. A worker that returns under its name takes its place and fences its predecessor."""
    static_membership: bool = False
    """Whether the name is kept over restarts, so that the group holds the slot's partitions for it meanwhile."""

    window_seconds: tuple[int, ...] = DEFAULT_WINDOW_SECONDS
    """Sizes of the closing windows, smallest first. The lifetime window (0) is always kept beside them."""
    grace_ms: int = 5_000
    """How long after its end a window still waits for stragglers before it closes."""
    silence_factor: int = 3
    """An emitter is silent after this many of its own heartbeat intervals without a batch."""
    write_off_s: int = 0
    """How much longer than its silence an emitter's windows stay LOSSY, for hosts that may be cut off for long."""
    snapshot_ms: int = 1_000
    """How often a cell that still changes is published, and how often marks are."""
    transaction_ms: int = 100
    """The longest time that a ledger transaction stays open."""
    transaction_timeout_ms: int = 10_000
    """After this time the broker aborts the transaction of a worker that died, and readers go on."""
    open_horizon_s: int = 3_600
    """How long after its end the ledger keeps a window's cells open; what is later goes to correction cells."""
    quarantine_limit: int = 1_000
    """This many unreadable records without a readable one between them stop the ledger: it would divert everything."""
    effects_retention_s: int = 30 * 86_400
    """The effects ledger remembers a key and a budget for so long after their last change; longer than any lease."""
    effects_tenant_keys: int = 100_000
    """Keys that one tenant may have on record in a partition of the effects; further claims of it abstain."""
    effects_keys: int = 1_000_000
    """Keys that a partition of the effects may have on record in all."""
    session_timeout_ms: int = 6_000
    """After this time without a heartbeat the group gives a worker's partitions away."""

    threshold: float = 0.05
    """A session whose degraded ratio is strictly above it is DEGRADED."""
    fallback_rate_threshold: float = 0.05
    """FALLBACK_RATE fires where fallbacks/attempts of a closed window is strictly above it."""
    outage_sessions: int = 2
    """UPSTREAM_OUTAGE fires when this many sessions met one unreachable upstream in one alert window."""
    alert_horizon_s: int = 3_600
    """A TELEMETRY_LOSS that never healed is resolved this long after its window's end."""
    window_horizon_s: int = 6 * 86_400
    """The tables forget a window this long after its start; its last record stays on the output topic. Must be less
    than the retention of the tallies, or windows would be computed from what is left of their cells."""
    stalled_s: int = 60
    """A source partition whose mark is older than this is stalled: an alert, and not ready."""
    publish_ms: int = 200
    """How often changed windows are published; verdicts and alerts are at once."""
    capabilities: tuple[str, ...] = ()
    """Capabilities whose metric series exist from the start; others appear when they are first seen."""
    replay_timeout_s: float = 120.0
    """How long the tables may take to read their inputs back before the worker gives up."""

    signing_key: Path | None = None
    """File of the private key that signs verdicts; None publishes them unsigned."""
    trusted_keys: Path | None = None
    """Public keys, a file or a folder, of whose records alone are believed; None with a signing key: that key's."""

    host: str = "127.0.0.1"
    """Address that the web endpoints listen on."""
    port: int = 8080
    """Their port; 0 takes a free one."""
    page: bool = True
    """Whether the live page is served beside them. It names sessions and emitters, which the metrics never do."""

    def __post_init__(self) -> None:
        sizes = self.window_seconds
        if not sizes or any(size <= LIFETIME for size in sizes) or list(sizes) != sorted(set(sizes)):
            raise SettingsError("window sizes are positive numbers of seconds, each once, smallest first, e.g. 60,3600")
        for name in ("threshold", "fallback_rate_threshold"):
            # The comparison is written so that NaN is refused too.
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise SettingsError(f"{name} is a share between 0 and 1")
        positive = (
            "silence_factor", "snapshot_ms", "transaction_ms", "transaction_timeout_ms", "open_horizon_s",
            "quarantine_limit", "session_timeout_ms", "outage_sessions", "alert_horizon_s", "window_horizon_s",
            "publish_ms", "stalled_s", "replay_timeout_s", "effects_tenant_keys", "effects_keys",
        )  # fmt: skip
        for name in positive:
            if getattr(self, name) <= 0:
                raise SettingsError(f"{name} must be positive")
        for name in ("grace_ms", "write_off_s"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} must not be negative")
        if self.effects_retention_s < 86_400:
            raise SettingsError("effects_retention_s is at least 86400, a day: as long as a lease may be")
        if not self.instance:
            raise SettingsError("a worker slot needs a name; leave --instance out for a random one")

    @property
    def granularities(self) -> tuple[int, ...]:
        """All window sizes that the ledger counts, the lifetime window (0) last."""
        return (*self.window_seconds, LIFETIME)

    @property
    def alert_seconds(self) -> int:
        """Size of the windows that drive alerts."""
        return ALERT_WINDOW_SECONDS if ALERT_WINDOW_SECONDS in self.window_seconds else self.window_seconds[0]

    @property
    def ledger_group(self) -> str:
        """Consumer group of the ledger."""
        return f"{self.namespace}.ledger"

    @property
    def effects_group(self) -> str:
        """Consumer group of the effects ledger."""
        return f"{self.namespace}.effects"

    @property
    def effects_transactional_id(self) -> str:
        """As `transactional_id`, of the effects ledger."""
        return f"{self.namespace}.effects.{self.instance}"

    @property
    def tables_group(self) -> str:
        """Consumer group of the tables."""
        return f"{self.namespace}.tables"

    @property
    def transactional_id(self) -> str:
        """Stable per worker slot, so that a restarted worker fences what its predecessor left open."""
        return f"{self.namespace}.ledger.{self.instance}"
