"""From counts to the report: every number with where it is from. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from unmask.consumers.delegations.merge import Delegation
from unmask.consumers.enforcement.count import DecisionCount, GateCount, HostCount, Refusals
from unmask.consumers.enforcement.document import (
    AnswerPart,
    BreakerPart,
    DecisionsPart,
    EffectsPart,
    EnforcementReport,
    GatePart,
    Origin,
    RefusalsPart,
    SaidPart,
    TurnsPart,
    WaitingDelegation,
)
from unmask.schemas.codes import Enforcer
from unmask.schemas.instants import iso

__all__ = ["Gathered", "make_report"]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that was counted. None where it could not be read."""

    gate: GateCount
    refusals_upheld: float | None
    hosts: HostCount
    decisions: DecisionCount | None
    delegations: list[Delegation]
    admissions_origin: Origin
    hosts_origin: Origin
    decisions_origin: Origin | None
    sessions_origin: Origin
    remarks: tuple[str, ...] = ()


def make_report(found: Gathered, *, now: int) -> EnforcementReport:
    """The report; `now` in microseconds."""
    gate, hosts = found.gate, found.hosts
    doubts: Counter[str] = Counter()
    for delegation in found.delegations:
        doubts.update({doubt.value: count for doubt, count in delegation.doubts.items()})
    return EnforcementReport(
        format=1,
        generated_at=iso(now),
        gate=GatePart(
            questions=gate.questions,
            recorded=_refusals(gate.refusals),
            overridden=gate.overridden,
            overrides=_said(gate.overrides),
            refusals_upheld=found.refusals_upheld,
            origin=found.admissions_origin,
            told=_refusals(hosts.of(Enforcer.GATE)),
        ),
        breaker=BreakerPart(
            told=_refusals(hosts.of(Enforcer.BREAKER)),
            trips=sum(delegation.trips for delegation in found.delegations),
            false_trips=sum(delegation.false_trips for delegation in found.delegations),
            tripped_now=sum(delegation.tripped for delegation in found.delegations),
            abstentions=doubts.total(),
            abstentions_by_reason=_sorted(doubts),
            origin=found.sessions_origin,
        ),
        effects=EffectsPart(decided=_decisions(found), told=_refusals(hosts.of(Enforcer.EFFECTS))),
        hosts=found.hosts_origin,
        turns_without_accepted_write=_turns(found),
        remarks=[*found.remarks, *_remarks(found)],
    )


def _refusals(counted: Refusals) -> RefusalsPart:
    answers = sorted({*counted.refused, *counted.appealed, *counted.vindicated})
    return RefusalsPart(
        refused=counted.refused.total(),
        appealed=counted.appealed.total(),
        vindicated=counted.vindicated.total(),
        by_answer={
            answer: AnswerPart(
                refused=counted.refused[answer],
                appealed=counted.appealed[answer],
                vindicated=counted.vindicated[answer],
            )
            for answer in answers
        },
        appeals=_said(counted.appeals),
        vindications=_said(counted.vindications),
    )


def _said(said: Mapping[tuple[str, str], int]) -> list[SaidPart]:
    most_first = sorted(said.items(), key=lambda item: (-item[1], item[0]))
    return [SaidPart(by=by, reason_code=reason, count=count) for (by, reason), count in most_first]


def _decisions(found: Gathered) -> DecisionsPart | None:
    decisions, origin = found.decisions, found.decisions_origin
    if decisions is None or origin is None:
        return None
    return DecisionsPart(
        claims=decisions.claims,
        granted=decisions.granted,
        refused=decisions.refused.total(),
        by_answer=_sorted(decisions.refused),
        abstained_by_reason=_sorted(decisions.abstained),
        fenced=decisions.fenced,
        origin=origin,
    )


def _turns(found: Gathered) -> TurnsPart:
    waiting = [one for one in found.delegations if one.blocked_turns or one.longest_blocked]
    waiting.sort(key=lambda one: (-one.longest_blocked, -one.blocked_turns, one.delegation_id))
    return TurnsPart(
        current=max((one.blocked_turns for one in waiting), default=0),
        longest=max((one.longest_blocked for one in waiting), default=0),
        delegations=[
            WaitingDelegation(
                delegation_id=one.delegation_id,
                sessions=sorted(one.sessions),
                current=one.blocked_turns,
                longest=one.longest_blocked,
            )
            for one in waiting
        ],
        origin=found.sessions_origin,
    )


def _remarks(found: Gathered) -> list[str]:
    unknown = found.hosts.of(Enforcer.UNKNOWN_ENFORCER).refused.total()
    return [f"Hosts tell of {unknown:,} more refusals, by none of these enforcers."] if unknown else []


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}
