"""Adjudication: from the snapshots of a session to its verdict record. Deterministic: equal inputs, equal digest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unmask.schemas.signing import CONTRACT
from unmask.schemas.verdict_digest import seal
from unmask.streams.verdict.claims import claim_of, contradictions
from unmask.streams.verdict.merge import merge_tallies
from unmask.streams.verdict.obligation import Obligation
from unmask.streams.verdict.rules import (
    above_threshold,
    degradation_of,
    directive_of,
    evidence_of,
    findings_of,
    is_equivalent,
    kind_of,
)

__all__ = ["adjudicate"]

# Bounds of the lists, so that a verdict always fits into a record; what is cut is counted.
_MAX_INHERITED = 16
_MAX_EMITTERS = 64


def adjudicate(
    tallies: Iterable[dict[str, Any]],
    *,
    threshold: float,
    obligations: Sequence[Obligation] = (),
    accounts: Mapping[int, int] | None = None,
) -> dict[str, Any] | None:
    """The verdict record of a session, with its digest; None while it has neither ended nor been abandoned.

    `tallies` are the decoded session_tally records of all source partitions, in any order; `obligations` what the
    predecessor left open; `accounts` as merge_tallies takes them. Writer and sequence are left to whoever publishes it.
    Raises ValueError without tallies.
    """
    view = merge_tallies(tallies, accounts)
    if not view.ended:
        return None
    claim = claim_of(view)
    evidence = evidence_of(view)
    contradicted = contradictions(view, claim)
    degradation = degradation_of(view, claim)
    kind = kind_of(view, claim, degradation, evidence, contradicted, obligations)
    inherited = _inherited(obligations)
    ended_at = claim.ended_at if claim is not None else view.abandoned_at
    assert ended_at is not None  # an ended session was torn down or abandoned
    return seal(
        {
            "contract": CONTRACT,
            "session_id": view.session_id,
            "verdict": kind.value,
            "directive": directive_of(kind, view, obligations).value,
            "evidence": evidence.value,
            "operations": degradation.operations,
            "degraded_operations": degradation.degraded,
            "degraded_operation_ratio": degradation.ratio,
            "threshold": threshold,
            "above_threshold": above_threshold(degradation, threshold),
            "equivalent": is_equivalent(view, degradation),
            "outcome_claimed": None if claim is None else claim.outcome.value,
            "findings": [finding.value for finding in findings_of(view, claim, evidence, contradicted, obligations)],
            "contradictions": [contradiction.value for contradiction in contradicted],
            "masked": list(view.masked),
            "masked_cut": max(0, view.masked_errors - len(view.masked)),
            "predecessor_session_id": view.predecessor,
            "inherited_from": inherited[:_MAX_INHERITED],
            "inherited_cut": max(0, len(inherited) - _MAX_INHERITED) + sum(o.inherited_cut for o in obligations),
            "scope": view.scope._asdict(),
            "emitters": list(view.emitters[:_MAX_EMITTERS]),
            "emitters_cut": max(0, len(view.emitters) - _MAX_EMITTERS),
            "opened_at": view.opened_at,
            "ended_at": ended_at,
            "sources": [{"partition": partition, "offset": offset} for partition, offset in view.sources],
            "writer": None,
            "sequence": 0,
        }
    )


def _inherited(obligations: Sequence[Obligation]) -> list[str]:
    names: dict[str, None] = {}
    for obligation in obligations:
        names[obligation.session_id] = None
        names.update(dict.fromkeys(obligation.inherited_from))
    return list(names)
