"""Batches by hand: a host that keeps its books as the contract asks for, and a log to append them to."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.codec import encode
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = ["BASE", "BLUE", "GREEN", "Host", "Log", "Record", "at", "window_at"]

BASE = 1_767_268_800 * MICROS
"""2026-01-01T12:00:00Z: a full minute and a full hour."""
BLUE = Scope("r1", "contract-1", "kafka", "strict", "board-a")
GREEN = Scope("r2", "contract-1", "kafka", "strict", "board-a")

_FIELDS = {
    "route_attempts": "route_attempt",
    "kernel_fallbacks": "kernel_fallback",
    "masked_errors": "masked_error",
    "session_teardowns": "session_teardown",
    "route_selections": "route_selection",
    "delegation_progress": "delegation_progress",
    "delegation_effects": "delegation_effect",
}


def at(seconds: float) -> int:
    """The instant so many seconds after the tests' beginning."""
    return BASE + round(seconds * MICROS)


def window_at(seconds: float, size: int = 60) -> int:
    """Start of the window that holds that instant."""
    return at(seconds) - at(seconds) % (size * MICROS)


@dataclass
class Host:
    """One emitter. Records, then `cut`; what is `drop`ped is accounted for and never sent."""

    emitter_id: str
    scope: Scope = BLUE
    started: float = 0.0
    base: int = BASE
    """The instant that all seconds count from."""
    heartbeat_ms: int = 10_000
    seq: int = 0
    last_cut: int = 0
    recorded: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = field(default_factory=dict)
    parts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    witnesses: set[str] = field(default_factory=set)
    """Families of which it says that it tells."""

    def at(self, second: float) -> int:
        """The instant so many seconds after its base."""
        return self.base + round(second * MICROS)

    def attempt(self, second: float, *more: float, capability: str = "search", entry_point: str = "api") -> None:
        instants = [self.at(instant) for instant in (second, *more)]
        group = {"capability": capability, "entry_point": entry_point, "occurred_at": instants, "run_id": []}
        self._add("route_attempts", group, len(instants))

    def fallback(self, second: float, reason: str = "timeout", **changes: Any) -> None:
        event = {
            "event_type": "kernel_fallback.v1", "occurred_at": self.at(second), "capability": "search",
            "reason_code": reason, "route_expected": "kernel", "runtime_route": "legacy", "entry_point": None,
            "run_id": None, "tenant_id": None, "conversation_id": None, "session_id": None, "operation_id": None,
        }  # fmt: skip
        self._add("kernel_fallbacks", event | changes)

    def masked(self, second: float, session_id: str, operation: str, **changes: Any) -> None:
        event = {
            "session_id": session_id, "operation_id": operation, "occurred_at": self.at(second), "upstream": "prices",
            "masked_upstream_signature": "HTTP_503", "fallback_execution_receipt": "cache-1",
            "equivalence": "unproven", "primary_shape": None, "fallback_shape": None,
        }  # fmt: skip
        self._add("masked_errors", event | changes)

    def opening(self, second: float, session_id: str, predecessor: str | None = None) -> None:
        event = {"session_id": session_id, "occurred_at": self.at(second), "predecessor_session_id": predecessor}
        self.parts.setdefault("session_openings", []).append(event)

    def teardown(self, second: float, session_id: str, operations: int = 20, degraded: int = 0, **changes: Any) -> None:
        event = {
            "session_id": session_id, "occurred_at": self.at(second), "outcome": "success", "operations": operations,
            "degraded_operations": degraded, "claims": [],
        }  # fmt: skip
        self._add("session_teardowns", event | changes)

    def selection(self, second: float, session_id: str, **changes: Any) -> None:
        event = {
            "session_id": session_id, "occurred_at": self.at(second), "turn": 1, "profile": "mini", "source": "auto",
            "scope": "turn", "timeline": "live", "cleared_by": None, "reason_code": "timeout", "emergency": False,
            "expires_at": None,
        }  # fmt: skip
        self._add("route_selections", event | changes)

    def call(self, second: float, session_id: str, **changes: Any) -> None:
        event = {
            "delegation_id": "d-1", "session_id": session_id, "invocation_id": "i-1", "occurred_at": self.at(second),
            "step": 1, "turn": 1, "outcome": "succeeded", "attempt": 1, "tokens": 5, "signal": "checks",
            "state_digest": "x", "conditions": "c", "subject": None, "measure": -3, "declared_scope": None,
            "budget_calls": 40, "budget_tokens": None, "budget_attempts": None,
        }  # fmt: skip
        self._add("delegation_progress", event | changes)

    def effect(self, second: float, session_id: str, **changes: Any) -> None:
        event = {
            "delegation_id": "d-1", "session_id": session_id, "invocation_id": "i-1", "occurred_at": self.at(second),
            "turn": 1, "step": "refused", "enforcer": "gate", "answer": "HALTED", "effect_key": None,
            "fingerprint": None, "fencing_token": None, "receipt": None, "by": None, "reason_code": None,
        }  # fmt: skip
        self._add("delegation_effects", event | changes)

    def _add(self, part: str, event: dict[str, Any], n: int = 1) -> None:
        self.parts.setdefault(part, []).append(event)
        self.recorded[_FIELDS[part]] += n

    def drop(self, family: str, n: int = 1, cause: str = "buffer_full") -> None:
        self.recorded[family] += n
        self.dropped.setdefault(family, Counter())[cause] += n

    def cut(self, second: float, *, closing: bool = False, **changes: Any) -> dict[str, Any]:
        """The next batch: everything recorded since the last one."""
        self.seq += 1
        self.last_cut = max(self.last_cut, self.at(second))
        parts, self.parts = self.parts, {}
        accounts = [
            {
                "family": family,
                "recorded": n,
                "dropped": [{"cause": c, "count": k} for c, k in self.dropped.get(family, {}).items()],
            }
            for family, n in self.recorded.items()
        ]
        batch = {
            "emitter": {
                "emitter_id": self.emitter_id, "started_at": self.at(self.started), "scope": self.scope._asdict(),
                "heartbeat_ms": self.heartbeat_ms, "sdk": "test-1",
            },
            "batch_seq": self.seq, "sent_at": self.last_cut, "closing": closing, "accounts": accounts,
            **{name: parts.get(name, []) for name in (*_FIELDS, "session_openings")},
            "witnesses": sorted(self.witnesses),
        }  # fmt: skip
        return batch | changes


@dataclass(frozen=True)
class Record:
    """One record of the log; `arrival` is the broker's time in microseconds."""

    partition: int
    offset: int
    arrival: int
    key: bytes
    value: bytes


@dataclass
class Log:
    """The events topic in memory."""

    partitions: int = 2
    records: list[Record] = field(default_factory=list)
    ends: Counter[int] = field(default_factory=Counter)

    def append(self, second: float, batch: dict[str, Any] | bytes, partition: int = 0, key: str | None = None) -> None:
        """Appends a batch, or bytes as they are, at a broker's time, which never goes back on a partition."""
        if isinstance(batch, bytes):
            name, value = key or "nobody", batch
        else:
            name, value = key or batch["emitter"]["emitter_id"], encode("event_batch", batch)
        newest = max((r.arrival for r in self.records if r.partition == partition), default=0)
        arrival = max(newest, at(second) - at(second) % 1000)
        self.records.append(Record(partition, self.ends[partition], arrival, name.encode(), value))
        self.ends[partition] += 1

    def skip(self, offsets: int, partition: int = 0) -> None:
        """Leaves a hole."""
        self.ends[partition] += offsets
