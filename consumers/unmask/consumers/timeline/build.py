"""From what is on record of a session to its timelines. Pure: no Kafka, no clock."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from unmask.consumers.delegations.gather import Judged, lines_of, session_evidence
from unmask.consumers.record_answers import RecordAnswer
from unmask.consumers.timeline.document import (
    DelegationsPart,
    MomentPart,
    RecoveryPart,
    SelectionsPart,
    SessionPart,
    Timeline,
    TurnsPart,
    VerdictPart,
)
from unmask.consumers.timeline.evidence import proof_of, session_words
from unmask.consumers.timeline.recoveries import recovery_part
from unmask.consumers.timeline.turns import ALL_TURNS, Turns
from unmask.schemas.codes import ClearedBy, Evidence, Family, ReasonCode, SelectionScope
from unmask.schemas.codes import SelectionSource as Source
from unmask.schemas.codes import SelectionTimeline as Lane
from unmask.schemas.instants import iso
from unmask.schemas.recovery import Moment, Overlay, overlay

__all__ = ["SessionRecord", "build_timeline", "nothing_to_show"]

_State = Literal["RUNNING", "ENDED", "ABANDONED", "FORGOTTEN"]


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Everything that is on record of a session."""

    session_id: str
    tallies: tuple[Mapping[str, Any], ...] = ()
    """Its snapshots, one for each source partition."""
    verdict: Mapping[str, Any] | None = None
    """Its verdict, where it can be believed."""
    flaw: str | None = None
    """Why the record under its key is not believed."""
    withdrawn: bool = False
    witnessed: frozenset[Family] | None = frozenset()
    """Families beyond the first four of which somebody of its scopes told in its time; None: not known."""


def build_timeline(record: SessionRecord, *, now: int, turns: Turns = ALL_TURNS) -> Timeline:
    """The timelines of a session of which something is on record; `now` in microseconds."""
    judged = None if record.verdict is None else Judged.of(record.verdict)
    evidence = session_evidence(record.tallies, None if judged is None else judged.evidence)
    seen = _overlay(record, evidence, now)
    numbered = _recoveries(record, seen)
    shown = [moment for moment in seen.moments if turns.holds(moment.selection.turn)]
    named = {moment.recovery + 1 for moment in shown if moment.recovery is not None}
    return Timeline(
        format=1,
        answer="SHOWN",
        reason=None,
        session_id=record.session_id,
        generated_at=iso(now),
        turns=None if turns == ALL_TURNS else TurnsPart(first=turns.first, last=turns.last),
        session=_session(record, evidence),
        verdict=_verdict(record),
        selections=_selections(record, evidence, shown),
        recoveries=[part for part in numbered if part.number in named or turns.touches(part.turn, _last_turn(part))],
        findings=list(seen.findings),
        user_profile=seen.user_profile,
        delegations=_delegations(record, evidence, judged),
    )


def nothing_to_show(session_id: str, answer: RecordAnswer, reason: str, *, now: int) -> Timeline:
    """The document where there is nothing to show."""
    return Timeline(
        format=1,
        answer=answer.value,
        reason=reason,
        session_id=session_id,
        generated_at=iso(now),
        turns=None,
        session=None,
        verdict=None,
        selections=None,
        recoveries=[],
        findings=[],
        user_profile=None,
        delegations=None,
    )


def _kept(record: SessionRecord) -> list[Mapping[str, Any]]:
    return [selection for tally in record.tallies for selection in tally["selections"]]


def _total(record: SessionRecord) -> int | None:
    totals = [tally["selections_total"] for tally in record.tallies if tally["selections_total"] is not None]
    return sum(totals) if totals else None


def _overlay(record: SessionRecord, evidence: Evidence, now: int) -> Overlay:
    kept, end = _kept(record), _end(record)
    as_of = now if end is None else end
    unknown_through = _cut_through(record) if _is_certain(record, evidence) else as_of
    return overlay(kept, as_of=as_of, over=end is not None, unknown_through=unknown_through)


def _is_certain(record: SessionRecord, evidence: Evidence) -> bool:
    """Whether nothing of it is missing or still to come, but what snapshots do not keep.

    The verdict knows, since it has the emitters' accounts; before it, only one emitter alone tells in order.
    """
    if record.verdict is not None:
        return evidence is Evidence.COMPLETE
    tallies = record.tallies
    alone = len(tallies) == 1 and len(tallies[0]["emitters"]) <= 1 and not tallies[0]["identity_conflicts"]
    return alone and all(tally["evidence"] == Evidence.COMPLETE for tally in tallies)


def _cut_through(record: SessionRecord) -> int | None:
    """Up to when selections may be missing, since snapshots keep the newest only."""
    cut = [t["selections"] for t in record.tallies if (t["selections_total"] or 0) > len(t["selections"])]
    return max((min(one["occurred_at"] for one in kept) for kept in cut if kept), default=None)


def _end(record: SessionRecord) -> int | None:
    """When it ended, microseconds; None while it goes on."""
    if record.verdict is not None:
        return int(record.verdict["ended_at"])
    ends = [teardown["occurred_at"] for tally in record.tallies for teardown in tally["teardowns"]]
    ends += [tally["abandoned_at"] for tally in record.tallies if tally["abandoned_at"] is not None]
    # A session that was taken up again after its teardown goes on.
    opened = max((tally["opened_at"] or 0 for tally in record.tallies), default=0)
    return max(ends) if ends and max(ends) >= opened else None


def _session(record: SessionRecord, evidence: Evidence) -> SessionPart:
    tallies, verdict = record.tallies, record.verdict
    opened = [tally["opened_at"] for tally in tallies if tally["opened_at"] is not None]
    if verdict is not None and verdict["opened_at"] is not None:
        opened.append(verdict["opened_at"])
    end, seen = _end(record), max((tally["last_seen_at"] for tally in tallies), default=None)
    emitters = {name for tally in tallies for name in tally["emitters"]}
    if verdict is not None:
        emitters |= set(verdict["emitters"])
    sources = {str(tally["partition"]): tally["offset"] for tally in tallies}
    if not sources and verdict is not None:
        sources = {str(source["partition"]): source["offset"] for source in verdict["sources"]}
    return SessionPart(
        state=_state(record, end),
        opened_at=_iso(min(opened, default=None)),
        ended_at=_iso(end),
        last_seen_at=_iso(seen),
        evidence=evidence,
        evidence_words=session_words(evidence),
        emitters=sorted(emitters),
        identity_conflicts=_claimed_twice(tallies),
        sources=sources,
    )


def _claimed_twice(tallies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Emitters in dispute on a partition, and those of which two know, though an emitter keeps to one."""
    told = Counter(name for tally in tallies for name in set(tally["emitters"]))
    disputed = {name for tally in tallies for name in tally["identity_conflicts"]}
    return sorted(disputed.union(name for name, partitions in told.items() if partitions > 1))


def _state(record: SessionRecord, end: int | None) -> _State:
    if not record.tallies:
        return "FORGOTTEN"
    if end is None:
        return "RUNNING"
    torn_down = any(tally["teardowns"] for tally in record.tallies)
    return "ENDED" if torn_down else "ABANDONED"


def _verdict(record: SessionRecord) -> VerdictPart | None:
    verdict = record.verdict
    if verdict is None and record.flaw is None and not record.withdrawn:
        return None
    said: Mapping[str, Any] = verdict or {}
    return VerdictPart(
        believed=verdict is not None,
        withdrawn=record.withdrawn,
        flaw=record.flaw,
        verdict=said.get("verdict"),
        directive=said.get("directive"),
        evidence=said.get("evidence"),
        findings=list(said.get("findings", ())),
        user_profile=said.get("user_profile"),
        digest=said.get("digest"),
    )


def _selections(record: SessionRecord, evidence: Evidence, shown: list[Moment]) -> SelectionsPart:
    kept, total = len(_kept(record)), _total(record)
    families = frozenset((Family.ROUTE_SELECTION,))
    known = record.witnessed if total is None or record.witnessed is None else record.witnessed | families
    proof = proof_of(
        "selections", evidence, on_record=max(kept, total or 0), kept=kept, families=families, witnessed=known
    )  # fmt: skip
    if not record.tallies:
        words = "no longer kept: a day after a session's last event only its verdict tells of its recoveries"
        return SelectionsPart(evidence=Evidence.ABSENT, evidence_words=words, on_record=0, total=None, moments=[])
    return SelectionsPart(
        evidence=proof.evidence,
        evidence_words=proof.words,
        on_record=kept,
        total=total,
        moments=[_moment(moment) for moment in shown],
    )


def _moment(moment: Moment) -> MomentPart:
    selection = moment.selection
    return MomentPart(
        turn=selection.turn,
        at=iso(selection.occurred_at),
        timeline=Lane(selection.timeline),
        profile=selection.profile,
        source=Source(selection.source),
        scope=SelectionScope(selection.scope),
        cleared_by=None if selection.cleared_by is None else ClearedBy(selection.cleared_by),
        reason_code=None if selection.reason_code is None else ReasonCode(selection.reason_code),
        emergency=selection.emergency,
        expires_at=_iso(selection.expires_at),
        emitter_id=selection.emitter_id,
        live=moment.live,
        persisted=moment.persisted,
        persisted_source=None if moment.persisted_source is None else Source(moment.persisted_source),
        recovery=None if moment.recovery is None else moment.recovery + 1,
    )


def _recoveries(record: SessionRecord, seen: Overlay) -> list[RecoveryPart]:
    if seen.recoveries or record.verdict is None:
        told = [
            {**recovery.as_record(), "source": recovery.source, "ended_turn": recovery.ended_turn}
            for recovery in seen.recoveries
        ]
        return [recovery_part(number, one) for number, one in enumerate(told, 1)]
    # The stream has forgotten the selections; the verdict keeps what became of them.
    return [recovery_part(number, one) for number, one in enumerate(record.verdict["recoveries"], 1)]


def _last_turn(part: RecoveryPart) -> int | None:
    """The last turn that a recovery touched, as far as is known; None where it goes on."""
    if part.ended_turn is not None:
        return part.ended_turn
    return None if part.state == "open" or part.source is None else part.turn


def _delegations(record: SessionRecord, evidence: Evidence, judged: Judged | None) -> DelegationsPart:
    session = record.session_id
    lines = lines_of(
        {session: record.tallies} if record.tallies else {}, {} if judged is None else {session: judged}
    )  # fmt: skip
    families = frozenset((Family.DELEGATION_PROGRESS, Family.DELEGATION_EFFECT))
    proof = proof_of(
        "delegations", evidence, on_record=len(lines), kept=None, families=families, witnessed=record.witnessed
    )  # fmt: skip
    return DelegationsPart(evidence=proof.evidence, evidence_words=proof.words, delegations=lines)


def _iso(instant: int | None) -> str | None:
    return None if instant is None else iso(instant)
