"""For the tests of those who stand behind a gate: records as the streams would write them, without streams."""

from collections.abc import Mapping, Sequence
from typing import Any

from unmask.schemas.codes import Directive, Equivalence, Evidence, Family, SessionOutcome, VerdictKind
from unmask.schemas.scope import Scope
from unmask.schemas.verdict_digest import seal
from unmask.schemas.windowing import MICROS

__all__ = [
    "ENDED_AT",
    "SCOPE",
    "clean_verdict",
    "degraded_verdict",
    "failed_verdict",
    "masked_operation",
    "window_record",
]

ENDED_AT = 1_767_225_600 * MICROS
"""2026-01-01T00:00:00Z, in microseconds."""
SCOPE = Scope("line-1", "contract-1", "backend-1", "redaction-1", "switchboard-1")


def clean_verdict(session_id: str, *, operations: int = 20, **changes: Any) -> dict[str, Any]:
    """A sealed verdict that admits; `changes` replace fields before it is sealed."""
    record: dict[str, Any] = {
        "contract": 1,
        "session_id": session_id,
        "verdict": str(VerdictKind.CLEAN_SUCCESS),
        "directive": str(Directive.NONE),
        "evidence": str(Evidence.COMPLETE),
        "operations": operations,
        "degraded_operations": 0,
        "degraded_operation_ratio": 0.0 if operations else None,
        "threshold": 0.05,
        "above_threshold": False,
        "equivalent": False,
        "outcome_claimed": str(SessionOutcome.SUCCESS),
        "findings": [],
        "contradictions": [],
        "masked": [],
        "masked_cut": 0,
        "predecessor_session_id": None,
        "inherited_from": [],
        "inherited_cut": 0,
        "scope": SCOPE._asdict(),
        "emitters": ["emitter-1"],
        "emitters_cut": 0,
        "opened_at": ENDED_AT - 60 * MICROS,
        "ended_at": ENDED_AT,
        "sources": [{"partition": 0, "offset": 10}],
        "writer": None,
        "sequence": 0,
        "digest": "",
        "signature": None,
    }
    return seal({**record, **changes})


def masked_operation(number: int, *, equivalence: Equivalence = Equivalence.UNPROVEN) -> dict[str, Any]:
    """One masked error of a verdict: upstream `prices` answered 503, and a cache answered instead."""
    return {
        "operation_id": f"operation-{number}",
        "occurred_at": ENDED_AT - MICROS,
        "upstream": "prices",
        "masked_upstream_signature": "HTTP_503",
        "fallback_execution_receipt": f"cache-{number}",
        "equivalence": str(equivalence),
        "primary_shape": None,
        "fallback_shape": None,
    }


def degraded_verdict(
    session_id: str, *, operations: int = 20, degraded: int = 5, equivalent: bool = False, **changes: Any
) -> dict[str, Any]:
    """A sealed verdict of a session of which some operations went through a fallback."""
    equivalence = Equivalence.BIT_FOR_BIT if equivalent else Equivalence.UNPROVEN
    ratio = degraded / operations
    fields: dict[str, Any] = {
        "verdict": str(VerdictKind.DEGRADED_SUCCESS),
        "directive": str(Directive.PROBE_UPSTREAM_BEFORE_ACTION),
        "degraded_operations": degraded,
        "degraded_operation_ratio": ratio,
        "above_threshold": ratio > 0.05,
        "equivalent": equivalent,
        "masked": [masked_operation(number, equivalence=equivalence) for number in range(degraded)],
    }
    return clean_verdict(session_id, operations=operations, **{**fields, **changes})


def failed_verdict(session_id: str, **changes: Any) -> dict[str, Any]:
    """A sealed verdict of a session whose objective was not reached."""
    fields = {
        "verdict": str(VerdictKind.HARD_FAILURE),
        "directive": str(Directive.HALT_AND_ALERT_DEVELOPER),
        "outcome_claimed": str(SessionOutcome.FAILURE),
    }
    return clean_verdict(session_id, **{**fields, **changes})


_COUNTED = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.MASKED_ERROR, Family.SESSION_TEARDOWN)


def window_record(
    start: int,
    seconds: int = 60,
    *,
    scope: Scope | None = SCOPE,
    capability: str | None = None,
    states: Evidence | Mapping[Family, Evidence] = Evidence.COMPLETE,
    causes: Sequence[str] = (),
    **counts: Any,
) -> dict[str, Any]:
    """A record of unmask.windows; `start` in microseconds, `states` for all families or by family."""
    evidence = [
        {
            "family": str(family),
            "state": str(states if isinstance(states, Evidence) else states.get(family, Evidence.ABSENT)),
            "causes": list(causes),
            "missing": 0,
            "dropped": [],
        }
        for family in _COUNTED
    ]
    record: dict[str, Any] = {
        "window_start": start,
        "window_seconds": seconds,
        "scope": None if scope is None else scope._asdict(),
        "capability": capability,
        "attempts": 0,
        "attempts_by_entry_point": {},
        "fallbacks_total": 0,
        "fallbacks_by_reason": {},
        "masked_errors": 0,
        "masked_errors_by_class": {},
        "teardowns_by_outcome": {},
        "emitters": 1,
        "late": 0,
        "skewed": 0,
        "duplicates": 0,
        "quarantined": 0,
        "evidence": evidence,
        "revision": 1,
    }
    return {**record, **counts}
