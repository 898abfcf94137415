"""Adjudication: from the snapshots of a session to its verdict record. Deterministic: equal inputs, equal digest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unmask.schemas.codes import Evidence, Finding
from unmask.schemas.signing import CONTRACT
from unmask.schemas.verdict_digest import seal
from unmask.streams.verdict.claims import claim_of, contradictions
from unmask.streams.verdict.delegation_rules import BLOCKED_TURNS, delegation_findings
from unmask.streams.verdict.delegations import Delegation
from unmask.streams.verdict.merge import merge_tallies
from unmask.streams.verdict.obligation import Obligation
from unmask.streams.verdict.recoveries import are_all_told, recovered
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
_MAX_RECOVERIES = 64
_MAX_DELEGATIONS = 64


def adjudicate(
    tallies: Iterable[dict[str, Any]],
    *,
    threshold: float,
    obligations: Sequence[Obligation] = (),
    accounts: Mapping[int, int] | None = None,
    blocked_turns: int = BLOCKED_TURNS,
) -> dict[str, Any] | None:
    """The verdict record of a session, with its digest; None while it has neither ended nor been abandoned.

    `tallies` are the decoded session_tally records of all source partitions, in any order; `obligations` what the
    predecessor left open; `accounts` as merge_tallies takes them; `blocked_turns` from how many turns without an
    accepted write on enforcement is found to block. Writer and sequence are left to whoever publishes it.
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
    chosen = recovered(view, ended_at, certain=are_all_told(view))
    delegations = [(known, delegation_findings(known, blocked_turns)) for known in view.delegations]
    beside = {*chosen.findings, *(finding for _, found in delegations for finding in found)}
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
            "findings": [
                finding.value for finding in findings_of(view, claim, evidence, contradicted, obligations, beside)
            ],
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
            # A later choice of the user may be among what is missing.
            "user_profile": chosen.user_profile if evidence is Evidence.COMPLETE else None,
            "recoveries": [recovery.as_record() for recovery in chosen.recoveries[-_MAX_RECOVERIES:]],
            "delegations": _judged(delegations),
        }
    )


def _judged(delegations: Sequence[tuple[Delegation, tuple[Finding, ...]]]) -> list[dict[str, Any]]:
    """Those of which something is found, by identifier; of too many those that were heard of last."""
    found = [(known, findings) for known, findings in delegations if findings]
    found.sort(key=lambda entry: (-entry[0].last_step_at, entry[0].delegation_id))
    return [
        {"delegation_id": name, "findings": [finding.value for finding in findings]}
        for name, findings in sorted((known.delegation_id, findings) for known, findings in found[:_MAX_DELEGATIONS])
    ]


def _inherited(obligations: Sequence[Obligation]) -> list[str]:
    names: dict[str, None] = {}
    for obligation in obligations:
        names[obligation.session_id] = None
        names.update(dict.fromkeys(obligation.inherited_from))
    return list(names)
