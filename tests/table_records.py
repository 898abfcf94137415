"""Records of the tables' inputs for tests: as the ledger writes them, with explicit instants."""

from typing import Any

from unmask.schemas import keys
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = [
    "BLUE",
    "GREEN",
    "MINUTE",
    "at",
    "cell",
    "closing_mark",
    "flaw",
    "loss",
    "mark",
    "masked",
    "session_tally",
    "teardown",
    "window_evidence",
]

MINUTE = 60 * MICROS
BLUE = Scope("r1", "contract.v1", "kafka", "strict", "board.a")
GREEN = Scope("r2", "contract.v1", "kafka", "strict", "board.a")
_BASE = 1_700_000_040 * MICROS  # a full minute that is no full hour

Keyed = tuple[str, dict[str, Any]]


def at(minute: float) -> int:
    """The instant so many minutes after the tests' beginning."""
    return _BASE + round(minute * MINUTE)


def cell(
    measure: str, count: int, *, minute: int = 0, seconds: int = 60, partition: int = 0, offset: int = 10,
    scope: Scope = BLUE, capability: str = "search", code: str = "api", sessions: tuple[str, ...] = (),
    correction: tuple[str, int] | None = None,
) -> Keyed:  # fmt: skip
    """Key and record of a tally."""
    start = 0 if seconds == 0 else at(minute)
    if measure in ("emitters", "late", "skewed", "duplicates"):
        capability = code = "-"
    elif measure == "witnesses":
        code = "-"
    record = {
        "partition": partition,
        "offset": offset,
        "window_start": start,
        "window_seconds": seconds,
        "scope": scope._asdict(),
        "measure": measure,
        "capability": capability,
        "code": code,
        "count": count,
        "sessions": list(sessions),
        "correction": None if correction is None else {"emitter_id": correction[0], "batch_seq": correction[1]},
    }
    return keys.tally_key(partition, start, seconds, scope, measure, capability, code, correction), record


def loss(family: str, missing: int = 0, **dropped: int) -> dict[str, Any]:
    """An entry of a flaw's losses."""
    entries = [{"cause": cause, "count": count} for cause, count in dropped.items()]
    return {"family": family, "missing": missing, "dropped": entries}


def flaw(
    *losses: dict[str, Any], minute: int = 0, seconds: int = 60, partition: int = 0, offset: int = 10,
    scope: Scope | None = BLUE, emitter: str | None = "e1", from_seq: int = 3, to_seq: int = 5, cause: str = "gap",
) -> Keyed:  # fmt: skip
    """Key and record of an evidence flaw."""
    record = {
        "partition": partition,
        "offset": offset,
        "window_start": at(minute),
        "window_seconds": seconds,
        "scope": None if scope is None else scope._asdict(),
        "emitter_id": emitter,
        "from_seq": from_seq,
        "to_seq": to_seq,
        "cause": cause,
        "losses": list(losses),
    }
    return keys.flaw_key(partition, at(minute), seconds, scope, emitter, from_seq, to_seq, cause), record


def mark(
    through: int, *, partition: int = 0, partitions: int = 1, offset: int = 100, grace_ms: int = 5000,
    accounted: dict[Scope, int] | None = None, unaccounted: tuple[tuple[str, str, int], ...] = (),
) -> Keyed:  # fmt: skip
    """Key and record of a mark; `accounted` has one live emitter per scope."""
    record = {
        "partition": partition,
        "partitions": partitions,
        "offset": offset,
        "read_through": through,
        "grace_ms": grace_ms,
        "scopes": [
            {"scope": scope._asdict(), "accounted_through": instant, "emitters": 1}
            for scope, instant in (accounted or {}).items()
        ],
        "unaccounted": [
            {"emitter_id": emitter, "scope": BLUE._asdict(), "cause": cause, "since": since}
            for emitter, cause, since in unaccounted
        ],
        "unaccounted_total": len(unaccounted),
    }
    return keys.mark_key(partition), record


def closing_mark(minute: float, **settings: Any) -> Keyed:
    """A mark that closes every window that ends at or before the minute."""
    return mark(at(minute) + 5 * MICROS, **settings)


def window_evidence(record: dict[str, Any]) -> dict[str, str]:
    """Family to state."""
    return {entry["family"]: entry["state"] for entry in record["evidence"]}


def masked(
    operation: str, *, signature: str = "HTTP_503", minute: float = 0, upstream: str = "primary",
    equivalence: str = "unproven",
) -> dict[str, Any]:  # fmt: skip
    """A masked error as it stands in a session's snapshot."""
    return {
        "operation_id": operation,
        "occurred_at": at(minute),
        "upstream": upstream,
        "masked_upstream_signature": signature,
        "fallback_execution_receipt": f"receipt-{operation}",
        "equivalence": equivalence,
        "primary_shape": None,
        "fallback_shape": None,
    }


def teardown(
    operations: int, degraded: int = 0, *, outcome: str = "success", minute: float = 5, emitter: str = "e1",
    claims: dict[str, int] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A teardown as it stands in a session's snapshot."""
    return {
        "emitter_id": emitter,
        "occurred_at": at(minute),
        "outcome": outcome,
        "operations": operations,
        "degraded_operations": degraded,
        "claims": [{"family": family, "count": count} for family, count in (claims or {}).items()],
    }


def session_tally(session_id: str = "s1", **parts: Any) -> dict[str, Any]:
    """A session's snapshot: a clean, running session but for what is given.

    `degraded` is a list of operation ids.
    """
    degraded = parts.pop("degraded", [])
    errors = parts.get("masked", [])
    tally: dict[str, Any] = {
        "session_id": session_id,
        "partition": 0,
        "offset": 10,
        "scope": BLUE._asdict(),
        "emitters": ["e1"],
        "opened_at": at(0),
        "last_seen_at": at(5),
        "predecessor_session_id": None,
        "fallbacks": 0,
        "masked_errors": len(errors),
        "degraded_operations": degraded,
        "degraded_operations_total": len(degraded),
        "masked": [],
        "unreachable": 0,
        "exhausted": 0,
        "not_equivalent": len(degraded),
        "shape_drifts": 0,
        "teardowns": [],
        "evidence": "COMPLETE",
        "abandoned_at": None,
        "selections": [],
        "selections_total": None,
        "delegations": [],
        "identity_conflicts": [],
    }
    unknown = parts.keys() - tally.keys()
    assert not unknown, unknown
    return tally | parts
