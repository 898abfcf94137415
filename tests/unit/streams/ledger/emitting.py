"""A host's side of the contract in plain values: events recorded, batches cut, the account kept. No clock."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.scope import Scope

__all__ = ["MINUTE", "SCOPE", "SECOND", "T0", "Life", "opening_batch"]

SECOND = 1_000_000
MINUTE = 60 * SECOND
T0 = 1_759_996_800 * SECOND
"""A full hour."""
SCOPE = Scope("r1", "v1", "kafka", "strict", "s1")
_FIELDS = {
    "kernel_fallback": "kernel_fallbacks",
    "masked_error": "masked_errors",
    "session_teardown": "session_teardowns",
    "route_selection": "route_selections",
    "delegation_progress": "delegation_progress",
    "delegation_effect": "delegation_effects",
}


@dataclass
class Life:
    """One life of an emitter."""

    emitter_id: str = "emitter-a"
    started_at: int = T0
    scope: Scope = SCOPE
    heartbeat_ms: int = 10_000
    seq: int = 0
    recorded: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = field(default_factory=dict)
    pending: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    witnesses: tuple[str, ...] = ()
    """Families beyond the first four of which it says that it can tell."""

    def attempt(self, at: int, n: int = 1, capability: str = "search", entry_point: str = "chat") -> None:
        for _ in range(n):
            body = {"capability": capability, "entry_point": entry_point, "occurred_at": at}
            self.pending.append(("route_attempt", body))

    def fallback(self, at: int, **more: Any) -> None:
        body = {
            "event_type": "kernel_fallback.v1", "occurred_at": at, "capability": "search", "reason_code": "timeout",
            "route_expected": "kernel", "runtime_route": "legacy", "entry_point": None, "run_id": None,
            "tenant_id": None, "conversation_id": None, "session_id": None, "operation_id": None,
        }  # fmt: skip
        self.pending.append(("kernel_fallback", body | more))

    def masked(self, at: int, session_id: str = "session-1", operation_id: str = "op-1", **more: Any) -> None:
        body = {
            "session_id": session_id, "operation_id": operation_id, "occurred_at": at, "upstream": "search-api",
            "masked_upstream_signature": "HTTP_503", "fallback_execution_receipt": "cache", "equivalence": "unproven",
            "primary_shape": None, "fallback_shape": None,
        }  # fmt: skip
        self.pending.append(("masked_error", body | more))

    def open(self, at: int, session_id: str = "session-1", predecessor: str | None = None) -> None:
        body = {"session_id": session_id, "occurred_at": at, "predecessor_session_id": predecessor}
        self.pending.append(("session_opening", body))

    def tear_down(self, at: int, session_id: str = "session-1", **more: Any) -> None:
        body = {
            "session_id": session_id, "occurred_at": at, "outcome": "success", "operations": 1,
            "degraded_operations": 0, "claims": [],
        }  # fmt: skip
        self.pending.append(("session_teardown", body | more))

    def select(self, at: int, session_id: str = "session-1", **more: Any) -> None:
        body = {
            "session_id": session_id, "occurred_at": at, "turn": 1, "profile": "profile-a", "source": "user",
            "scope": "session", "timeline": "live", "cleared_by": None, "reason_code": None, "emergency": False,
            "expires_at": None,
        }  # fmt: skip
        self.pending.append(("route_selection", body | more))

    def progress(self, at: int, session_id: str = "session-1", **more: Any) -> None:
        body = {
            "delegation_id": "delegation-1", "session_id": session_id, "invocation_id": "run-1", "occurred_at": at,
            "step": 1, "turn": 1, "outcome": "succeeded", "attempt": 1, "tokens": 10, "signal": "tests",
            "state_digest": "state-1", "conditions": None, "subject": None, "measure": None, "declared_scope": None,
            "budget_calls": None, "budget_tokens": None, "budget_attempts": None,
        }  # fmt: skip
        self.pending.append(("delegation_progress", body | more))

    def effect(self, at: int, step: str, session_id: str = "session-1", **more: Any) -> None:
        body = {
            "delegation_id": "delegation-1", "session_id": session_id, "invocation_id": "run-1", "occurred_at": at,
            "turn": 1, "step": step, "enforcer": None, "answer": None, "effect_key": None, "fingerprint": None,
            "fencing_token": None, "receipt": None, "by": None, "reason_code": None,
        }  # fmt: skip
        self.pending.append(("delegation_effect", body | more))

    def drop(self, family: str, n: int = 1, cause: str = "buffer_full") -> None:
        """Events recorded since the last cut that never come into a batch."""
        self.recorded[family] += n
        self.dropped.setdefault(family, Counter())[cause] += n

    def give_up(self, batch: dict[str, Any], cause: str = "outbox_expired") -> None:
        """A batch that was cut and will never be sent: its events stay recorded, later batches tell of the loss."""
        for family, n in counted(batch).items():
            if n:
                self.dropped.setdefault(family, Counter())[cause] += n

    def cut(self, sent_at: int, *, closing: bool = False) -> dict[str, Any]:
        """The batch of everything recorded since the last cut."""
        self.seq += 1
        groups: dict[tuple[str, str], list[int]] = {}
        rest: dict[str, list[dict[str, Any]]] = {name: [] for name in _FIELDS.values()}
        openings = []
        for family, body in self.pending:
            if family == "route_attempt":
                groups.setdefault((body["capability"], body["entry_point"]), []).append(body["occurred_at"])
            elif family == "session_opening":
                openings.append(body)
            else:
                rest[_FIELDS[family]].append(body)
            if family != "session_opening":
                self.recorded[family] += 1
        self.pending = []
        return {
            "emitter": {
                "emitter_id": self.emitter_id, "started_at": self.started_at, "scope": self.scope._asdict(),
                "heartbeat_ms": self.heartbeat_ms, "sdk": "test",
            },
            "batch_seq": self.seq,
            "sent_at": sent_at,
            "closing": closing,
            "accounts": [
                {
                    "family": family,
                    "recorded": n,
                    "dropped": [
                        {"cause": cause, "count": count} for cause, count in self.dropped.get(family, {}).items()
                    ],
                }
                for family, n in self.recorded.items()
            ],
            "route_attempts": [
                {"capability": capability, "entry_point": entry, "occurred_at": times, "run_id": []}
                for (capability, entry), times in groups.items()
            ],
            **rest,
            "session_openings": openings,
            "witnesses": list(self.witnesses),
        }  # fmt: skip


def counted(batch: dict[str, Any]) -> dict[str, int]:
    """Events of a batch by family."""
    attempts = sum(len(group["occurred_at"]) for group in batch["route_attempts"])
    return {"route_attempt": attempts} | {family: len(batch[name]) for family, name in _FIELDS.items()}


def opening_batch(life: Life) -> dict[str, Any]:
    """The heartbeat that every life begins with."""
    return life.cut(life.started_at + 1)
