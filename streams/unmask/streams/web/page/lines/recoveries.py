"""A session's selections, recoveries and delegations as values, from its snapshots and its verdict."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from unmask.schemas.codes import ClearedBy, Evidence, ReasonCode, SelectionScope, SelectionSource, SelectionTimeline
from unmask.schemas.instants import from_micros
from unmask.schemas.recovery import Moment, Overlay
from unmask.streams.verdict import Delegation, SessionView, merge_tallies
from unmask.streams.verdict.delegation_rules import exceeded
from unmask.streams.verdict.recoveries import are_all_told, recovered
from unmask.streams.web.page.values import DelegationLine, RecoveryLine, RefusalLine, SelectionLine

__all__ = ["Work", "work_of"]

_SHOWN_SELECTIONS = 200
_SHOWN_DELEGATIONS = 64


class Work(NamedTuple):
    """What is chosen and delegated in a session."""

    selections: tuple[SelectionLine, ...] = ()
    selections_total: int | None = None
    evidence: Evidence = Evidence.ABSENT
    recoveries: tuple[RecoveryLine, ...] = ()
    user_profile: str | None = None
    delegations: tuple[DelegationLine, ...] = ()
    identity_conflicts: tuple[str, ...] = ()


def work_of(parts: Sequence[dict[str, Any]], verdict: Mapping[str, Any] | None, evidence: Evidence | None) -> Work:
    """From the snapshots, and where they are forgotten from what the verdict keeps; `evidence` is the session's."""
    if not parts:
        kept = () if verdict is None else verdict["recoveries"]
        profile = None if verdict is None else verdict["user_profile"]
        return Work(recoveries=tuple(map(_recovery, range(1, len(kept) + 1), kept)), user_profile=profile)
    view = merge_tallies(parts)
    chosen = recovered(view, _ended_at(view, verdict), certain=_is_certain(view, verdict))
    totals = [part["selections_total"] for part in parts if part["selections_total"] is not None]
    return Work(
        selections=tuple(map(_selection, chosen.moments[-_SHOWN_SELECTIONS:])),
        selections_total=sum(totals) if totals else None,
        evidence=evidence if (totals or view.selections) and evidence is not None else Evidence.ABSENT,
        recoveries=_recoveries(chosen),
        user_profile=chosen.user_profile,
        delegations=_delegations(view, verdict),
        identity_conflicts=view.identity_conflicts,
    )


def _ended_at(view: SessionView, verdict: Mapping[str, Any] | None) -> int | None:
    if verdict is not None:
        return int(verdict["ended_at"])
    if view.teardowns:
        return int(view.teardowns[-1]["occurred_at"])
    return view.abandoned_at


def _is_certain(view: SessionView, verdict: Mapping[str, Any] | None) -> bool:
    """Whether what is not on record was not: as the verdict knows, which has the emitters' accounts."""
    return are_all_told(view) if verdict is None else verdict["evidence"] == Evidence.COMPLETE


def _selection(moment: Moment) -> SelectionLine:
    selection = moment.selection
    return SelectionLine(
        turn=selection.turn,
        occurred_at=from_micros(selection.occurred_at),
        timeline=SelectionTimeline(selection.timeline),
        profile=selection.profile,
        source=SelectionSource(selection.source),
        scope=SelectionScope(selection.scope),
        cleared_by=None if selection.cleared_by is None else ClearedBy(selection.cleared_by),
        reason_code=None if selection.reason_code is None else ReasonCode(selection.reason_code),
        emergency=selection.emergency,
        expires_at=_instant(selection.expires_at),
        live=moment.live,
        persisted=moment.persisted,
        recovery=None if moment.recovery is None else moment.recovery + 1,
    )


def _recoveries(chosen: Overlay) -> tuple[RecoveryLine, ...]:
    return tuple(_recovery(number, each.as_record()) for number, each in enumerate(chosen.recoveries, 1))


def _recovery(number: int, record: Mapping[str, Any]) -> RecoveryLine:
    return RecoveryLine(
        number=number,
        profile=record["profile"],
        scope=record["scope"],
        emergency=record["emergency"],
        began_at=from_micros(record["began_at"]),
        turn=record["turn"],
        reason_code=record["reason_code"],
        persisted_at=_instant(record["persisted_at"]),
        state=record["state"],
        ended_at=_instant(record["ended_at"]),
        cleared_by=record["cleared_by"],
        findings=tuple(record["findings"]),
    )


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _delegations(view: SessionView, verdict: Mapping[str, Any] | None) -> tuple[DelegationLine, ...]:
    found: dict[str, tuple[str, ...]] | None = None
    if verdict is not None:
        found = {one["delegation_id"]: tuple(one["findings"]) for one in verdict["delegations"]}
    newest_first = sorted(view.delegations, key=lambda one: (-one.last_step_at, one.delegation_id))
    return tuple(
        _delegation(one, None if found is None else found.get(one.delegation_id, ()))
        for one in newest_first[:_SHOWN_DELEGATIONS]
    )


def _delegation(one: Delegation, findings: tuple[str, ...] | None) -> DelegationLine:
    return DelegationLine(
        delegation_id=one.delegation_id,
        calls=one.calls,
        tokens=one.spent.tokens,
        highest_attempt=one.spent.attempts,
        budget_calls=one.budget.calls,
        budget_tokens=one.budget.tokens,
        budget_attempts=one.budget.attempts,
        over=tuple(part.value for part in exceeded(one)),
        tripped=one.tripped,
        trips=one.trips,
        false_trips=one.false_trips,
        unchanged=one.unchanged,
        longest_unchanged=one.longest_unchanged,
        doubts=dict(one.doubts),
        committed=one.committed,
        repeated_commits=one.repeated_commits,
        refusals={
            enforcer: RefusalLine(count=of.count, appealed=of.appealed, vindicated=of.vindicated)
            for enforcer, of in one.refusals.items()
        },
        blocked_turns=one.blocked_turns,
        longest_blocked=one.longest_blocked,
        identity_conflicts=one.identity_conflicts,
        findings=findings,
        last_step_at=from_micros(one.last_step_at),
    )
