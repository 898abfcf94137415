"""All topics in one place: names, keys, partitions, policies. Nothing else decides how a topic looks.

Names are `<namespace>.<name>`, with dots, never underscores (Kafka's metric names mix the two up). The namespace is
`unmask` unless UNMASK_NAMESPACE says otherwise.
"""

import os
import re
from dataclasses import dataclass, field

__all__ = ["DEFAULT_NAMESPACE", "TopicSpec", "Topics", "namespace_from_environment"]

DEFAULT_NAMESPACE = "unmask"
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9-]{0,40}(?:\.[a-z0-9-]{1,40})*")
_HOUR = 3_600_000
_DAY = 24 * _HOUR


def namespace_from_environment() -> str:
    """UNMASK_NAMESPACE, or `unmask`."""
    return os.environ.get("UNMASK_NAMESPACE") or DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """How one topic must look."""

    name: str
    partitions: int
    config: dict[str, str] = field(default_factory=dict)
    record: str | None = None
    """Record of its values, None where the values are the ledger's own."""
    key: str = ""
    """What the key is, for people."""

    @property
    def compacted(self) -> bool:
        """Whether the newest value per key is kept."""
        return "compact" in self.config["cleanup.policy"]


def _compacted(*, retention_ms: int | None, segment_ms: int = _HOUR, lag_ms: int | None = None) -> dict[str, str]:
    config = {
        "cleanup.policy": "compact" if retention_ms is None else "compact,delete",
        "segment.ms": str(segment_ms),
        "segment.bytes": str(16 * 1024 * 1024),
        "min.cleanable.dirty.ratio": "0.1",
        "delete.retention.ms": str(_DAY),
    }
    if retention_ms is not None:
        config["retention.ms"] = str(retention_ms)
    if lag_ms is not None:
        config["max.compaction.lag.ms"] = str(lag_ms)
    return config


def _log(retention_ms: int) -> dict[str, str]:
    return {"cleanup.policy": "delete", "retention.ms": str(retention_ms)}


class Topics:
    """The topics of one namespace.

    `events_partitions` is what `unmask.events` and the ledger have, `table_partitions` what everything behind them
    has; the latter must be equal for all tables, so that one worker owns the same partition of each.
    """

    def __init__(
        self, namespace: str = DEFAULT_NAMESPACE, *, events_partitions: int = 6, table_partitions: int = 6
    ) -> None:
        if _NAMESPACE.fullmatch(namespace) is None:
            raise ValueError("a namespace is lower-case letters, digits, '-' and '.'; underscores are not allowed")
        if events_partitions < 1 or table_partitions < 1:
            raise ValueError("a topic has at least one partition")
        self.namespace = namespace
        self.events_partitions = events_partitions
        self.table_partitions = table_partitions
        # The broker's clock stamps events and the ledger, so that worker and host clocks need not be trusted.
        broker_time = {"message.timestamp.type": "LogAppendTime"}
        tables = table_partitions
        spec = self._spec
        self.events = spec(
            "events", events_partitions, _log(7 * _DAY) | broker_time | {"max.message.bytes": "1048576"},
            "event_batch", "emitter_id",
        )  # fmt: skip
        self.ledger = spec(
            "ledger", events_partitions,
            _compacted(retention_ms=None, segment_ms=10 * 60_000, lag_ms=30 * 60_000) | broker_time,
            None, "piece of the partition's state",
        )  # fmt: skip
        self.tallies = spec(
            "tallies",
            tables,
            _compacted(retention_ms=7 * _DAY, segment_ms=10 * 60_000),
            "tally",
            "cell, routed by window",
        )
        self.sessions = spec(
            "sessions", tables, _compacted(retention_ms=7 * _DAY), "session_tally", "session_id and source partition"
        )
        self.windows = spec(
            "windows", tables, _compacted(retention_ms=400 * _DAY), "window", "window, scope, capability"
        )
        self.verdicts = spec("verdicts", tables, _compacted(retention_ms=90 * _DAY), "verdict", "session_id")
        self.alerts = spec("alerts", tables, _compacted(retention_ms=30 * _DAY), "alert", "alert_id")
        self.fallbacks = spec("fallbacks", events_partitions, _log(7 * _DAY), "fallback", "emitter_id")
        self.quarantine = spec("quarantine", 1, _log(30 * _DAY), "quarantine", "topic, partition, offset")
        self.admissions = spec("admissions", tables, _log(90 * _DAY), "admission", "session_id")
        self.parity = spec(
            "parity", 1, _compacted(retention_ms=400 * _DAY), "parity", "suite, release line, composition"
        )
        self.effects_requests = spec(
            "effects.requests", tables, _log(7 * _DAY) | broker_time, "effect_request", "tenant and budget key"
        )
        self.effects_state = spec(
            "effects.state", tables,
            _compacted(retention_ms=None, segment_ms=10 * 60_000, lag_ms=30 * 60_000) | broker_time,
            None, "piece of the partition's state",
        )  # fmt: skip
        self.effects_decisions = spec(
            "effects.decisions", tables, _log(30 * _DAY), "effect_decision", "tenant and budget key"
        )

    def _spec(self, name: str, partitions: int, config: dict[str, str], record: str | None, key: str) -> TopicSpec:
        return TopicSpec(f"{self.namespace}.{name}", partitions, config, record, key)

    def tables(self) -> tuple[TopicSpec, ...]:
        """The topics whose partition counts must be equal, since one worker owns the same partition of each."""
        return (
            self.tallies,
            self.sessions,
            self.windows,
            self.verdicts,
            self.alerts,
            self.admissions,
            self.effects_requests,
            self.effects_state,
            self.effects_decisions,
        )

    def is_table(self, spec: TopicSpec) -> bool:
        """Whether the topic is one of `tables()`."""
        return spec in self.tables()

    def all(self) -> tuple[TopicSpec, ...]:
        """Every topic, in the order of the flow."""
        return (
            self.events,
            self.ledger,
            self.tallies,
            self.sessions,
            self.windows,
            self.verdicts,
            self.alerts,
            self.fallbacks,
            self.quarantine,
            self.admissions,
            self.parity,
            self.effects_requests,
            self.effects_state,
            self.effects_decisions,
        )
