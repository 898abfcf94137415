"""A page's memory for tests, filled with records as the workers write them."""

from typing import Any

from tests.table_records import BLUE, at

from unmask.schemas.codec import encode
from unmask.schemas.keys import session_key, window_key
from unmask.schemas.scope import Scope
from unmask.schemas.verdict_digest import verdict_digest
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.pieces import emitter_piece, head_piece
from unmask.streams.ledger.state import Emitter, PartitionState
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.memory import Memory

__all__ = [
    "memory",
    "put_alert",
    "put_emitter",
    "put_head",
    "put_session",
    "put_verdict",
    "put_window",
    "verdict",
    "window",
]


def memory(**limits: int) -> Memory:
    """An empty memory."""
    return Memory(Limits(**limits))


def window(
    state: str = "COMPLETE", *, minute: int = 0, seconds: int = 60, scope: Scope | None = None,
    capability: str | None = None, attempts: int = 100, fallbacks: int = 3, states: dict[str, str] | None = None,
    **changes: Any,
) -> dict[str, Any]:  # fmt: skip
    """A record of the windows topic."""
    families = ("route_attempt", "kernel_fallback", "masked_error", "session_teardown")
    record = {
        "window_start": at(minute),
        "window_seconds": seconds,
        "scope": None if scope is None else scope._asdict(),
        "capability": capability,
        "attempts": attempts,
        "attempts_by_entry_point": {"api": attempts},
        "fallbacks_total": fallbacks,
        "fallbacks_by_reason": {"timeout": fallbacks},
        "masked_errors": 2,
        "masked_errors_by_class": {"timeout": 2},
        "teardowns_by_outcome": {"success": 4},
        "emitters": 1,
        "late": 0,
        "skewed": 0,
        "duplicates": 0,
        "quarantined": 0,
        "evidence": [
            {"family": family, "state": (states or {}).get(family, state), "causes": [], "missing": 0, "dropped": []}
            for family in families
        ],
        "revision": 1,
    }
    return {**record, **changes}


def put_window(into: Memory, record: dict[str, Any]) -> None:
    """The record under its key."""
    scope = None if record["scope"] is None else Scope(**record["scope"])
    key = window_key(record["window_start"], record["window_seconds"], scope, record["capability"])
    into.window(key, encode("window", record))


def put_session(into: Memory, tally: dict[str, Any], at: int = 1) -> None:
    """A session's snapshot."""
    into.session(session_key(tally["session_id"], tally["partition"]), encode("session_tally", tally), at)


def verdict(session_id: str = "s1", **changes: Any) -> dict[str, Any]:
    """A degraded session's verdict, with its digest."""
    record: dict[str, Any] = {
        "contract": 1,
        "session_id": session_id,
        "verdict": "DEGRADED_SUCCESS",
        "directive": "PROBE_UPSTREAM_BEFORE_ACTION",
        "evidence": "COMPLETE",
        "operations": 20,
        "degraded_operations": 5,
        "degraded_operation_ratio": 0.25,
        "threshold": 0.05,
        "above_threshold": True,
        "equivalent": False,
        "outcome_claimed": "success",
        "findings": ["PHANTOM_STABILITY"],
        "contradictions": [],
        "masked": [],
        "masked_cut": 0,
        "predecessor_session_id": None,
        "inherited_from": [],
        "inherited_cut": 0,
        "scope": BLUE._asdict(),
        "emitters": ["e1"],
        "emitters_cut": 0,
        "opened_at": at(0),
        "ended_at": at(5),
        "sources": [{"partition": 0, "offset": 10}],
        "writer": "w-1",
        "sequence": 1,
        "digest": "",
        "signature": None,
    }
    record |= changes
    return {**record, "digest": verdict_digest(record)}


def put_verdict(into: Memory, record: dict[str, Any], at: int = 1) -> None:
    """A verdict under its session."""
    into.verdicts.put(record["session_id"], encode("verdict", record), at)


def put_alert(into: Memory, record: dict[str, Any], at: int = 1) -> None:
    """An alert under its identity."""
    firing = record["state"] == "FIRING"
    into.alert(record["alert_id"], encode("alert", record), at, firing=firing)


def put_emitter(into: Memory, emitter_id: str, emitter: Emitter, *, partition: int = 0) -> None:
    """What the ledger keeps of an emitter."""
    key, value = emitter_piece(emitter_id, emitter)
    into.piece(partition, key.decode(), value, emitter.last_arrival)


def put_head(into: Memory, partition: int, *, next_offset: int, read_through: int, committed_at: int) -> None:
    """The head of the ledger's state of a partition."""
    state = PartitionState(partition, next_offset=next_offset, read_through=read_through)
    key, value = head_piece(state, "shop.ledger.w-1")
    into.piece(partition, key.decode(), value, committed_at // MICROS * MICROS)
