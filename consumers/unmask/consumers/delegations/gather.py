"""Delegations with what verdicts find of them, and what all of it proves. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from unmask.consumers.delegations.document import (
    BreakerPart,
    BudgetsPart,
    CommitPart,
    DelegationLine,
    EffectsPart,
    InvocationPart,
    RefusalPart,
    SpentTurns,
)
from unmask.consumers.delegations.merge import Delegation, merged, parts_of
from unmask.schemas.codes import Evidence, Finding
from unmask.schemas.instants import iso

__all__ = ["Judged", "lines_of", "session_evidence"]

_WORST_FIRST = (Evidence.LOSSY, Evidence.PENDING, Evidence.COMPLETE)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the believed verdict of a session says of delegations."""

    evidence: Evidence
    findings: Mapping[str, tuple[Finding, ...]]
    """By delegation; one of which nothing is found is not named."""

    @classmethod
    def of(cls, verdict: Mapping[str, Any]) -> "Judged":
        """From a decoded verdict."""
        found = {one["delegation_id"]: tuple(map(Finding, one["findings"])) for one in verdict["delegations"]}
        return cls(Evidence(verdict["evidence"]), found)


def session_evidence(tallies: Iterable[Mapping[str, Any]], judged: Evidence | None) -> Evidence:
    """What is proven of a session: as its verdict says, else by its snapshots, which prove nothing whole yet."""
    if judged is not None:
        return judged
    states = {tally["evidence"] for tally in tallies}
    return Evidence.LOSSY if Evidence.LOSSY in states else Evidence.PENDING


def lines_of(tallies: Mapping[str, Iterable[Mapping[str, Any]]], judged: Mapping[str, Judged]) -> list[DelegationLine]:
    """A line for each delegation of these sessions, and for those of which only a verdict tells any more."""
    tallies = {session: tuple(found) for session, found in tallies.items()}
    evidence = {
        session: session_evidence(found, judged[session].evidence if session in judged else None)
        for session, found in tallies.items()
    }
    delegations = merged(part for found in tallies.values() for part in parts_of(found))
    told: defaultdict[str, set[str]] = defaultdict(set)
    for session, verdict in judged.items():
        evidence.setdefault(session, verdict.evidence)
        for name in verdict.findings:
            told[name].add(session)
    known = {delegation.delegation_id for delegation in delegations}
    delegations += [Delegation(name, set(sessions)) for name, sessions in sorted(told.items()) if name not in known]
    for delegation in delegations:
        delegation.sessions |= told[delegation.delegation_id]
    return [_line(delegation, judged, evidence) for delegation in delegations]


def _line(delegation: Delegation, judged: Mapping[str, Judged], evidence: Mapping[str, Evidence]) -> DelegationLine:
    verdicts = [judged[session] for session in delegation.sessions if session in judged]
    found = {finding for verdict in verdicts for finding in verdict.findings.get(delegation.delegation_id, ())}
    states = {evidence[session] for session in delegation.sessions}
    first = delegation.first_trip_calls
    return DelegationLine(
        delegation_id=delegation.delegation_id,
        sessions=sorted(delegation.sessions),
        invocations=len({name for name, _ in delegation.invocations}) + delegation.invocations_unlisted,
        invocations_listed=[
            InvocationPart(invocation_id=name, emitter_id=emitter) for name, emitter in sorted(delegation.invocations)
        ],
        calls=delegation.calls,
        succeeded=delegation.succeeded,
        failed=delegation.failed,
        refused=delegation.refused,
        tokens=delegation.tokens,
        highest_attempt=delegation.highest_attempt,
        budgets=BudgetsPart(
            calls=delegation.budget.calls,
            tokens=delegation.budget.tokens,
            attempts=delegation.budget.attempts,
            over=[part.value for part in delegation.over],
        ),
        breaker=BreakerPart(
            tripped=delegation.tripped,
            trips=delegation.trips,
            false_trips=delegation.false_trips,
            first_trip_call=first[0] if len(first) == 1 else None,
            unchanged=delegation.unchanged,
            longest_unchanged=delegation.longest_unchanged,
            abstentions=delegation.abstentions,
            doubts={doubt.value: count for doubt, count in sorted(delegation.doubts.items()) if count},
        ),
        effects=EffectsPart(
            granted=delegation.granted,
            committed=delegation.committed,
            released=delegation.released,
            repeated_commits=delegation.repeated_commits,
            duplicated=list(delegation.duplicated),
            commits=[
                CommitPart(effect_key=effect, fencing_token=token, receipt=receipt)
                for effect, token, receipt in sorted(delegation.commits, key=_commit_order)
            ],
        ),
        refusals={
            enforcer.value: RefusalPart(count=of.count, appealed=of.appealed, vindicated=of.vindicated)
            for enforcer, of in sorted(delegation.refusals.items())
        },
        turns_without_accepted_write=SpentTurns(current=delegation.blocked_turns, longest=delegation.longest_blocked),
        identity_conflicts=delegation.identity_conflicts,
        findings=[finding for finding in Finding if finding in found] if verdicts else None,
        findings_over_all=list(delegation.found_over_all),
        sessions_judged=len(verdicts),
        evidence=next((state for state in _WORST_FIRST if state in states), Evidence.PENDING),
        last_step_at=iso(delegation.last_step_at) if delegation.last_step_at else None,
    )


def _commit_order(commit: tuple[str, int, str | None]) -> tuple[str, int, str]:
    return commit[0], commit[1], commit[2] or ""
