"""Sessions as values: snapshots, verdicts and what gates recorded, put together by session."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.codes import AdmissionStep, Evidence
from unmask.schemas.instants import from_micros
from unmask.schemas.scope import Scope
from unmask.schemas.wire import decode
from unmask.streams.tables.obligations import ObligationBook
from unmask.streams.tables.verdict_check import RecordCheck, Unsound
from unmask.streams.web.page.lines.recoveries import work_of
from unmask.streams.web.page.values import AdmissionLine, MaskedLine, SessionDetail, SessionLine

__all__ = ["SessionFacts", "session_detail", "session_facts", "session_line"]

_SHOWN_MASKED = 64


@dataclass(slots=True)
class SessionFacts:
    """What the topics hold of one session."""

    session_id: str
    parts: list[dict[str, Any]] = field(default_factory=list)
    """Its snapshots, one for each source partition."""
    verdict: dict[str, Any] | None = None
    withdrawn: bool = False
    flaw: str | None = None
    admissions: list[dict[str, Any]] = field(default_factory=list)
    """Oldest first."""

    @property
    def known(self) -> bool:
        """Whether anything stands of it but a tombstone of long ago."""
        return bool(self.parts or self.verdict or self.flaw or self.withdrawn)


def session_facts(
    session_id: str, parts: Iterable[bytes], verdict: bytes | None, *, withdrawn: bool,
    admissions: Iterable[bytes], check: RecordCheck,
) -> SessionFacts:  # fmt: skip
    """Decodes what stands of a session. What is not to be believed counts for nothing, and is said."""
    facts = SessionFacts(session_id, [decode("session_tally", raw) for raw in parts], withdrawn=withdrawn)
    if verdict is not None:
        try:
            facts.verdict = check.verdict(session_id, verdict)
        except Unsound as unsound:
            facts.flaw = str(unsound)
    for raw in admissions:
        try:
            facts.admissions.append(check.admission(session_id, raw))
        except Unsound:
            continue
    facts.admissions.sort(key=lambda record: record["occurred_at"])
    return facts


def session_line(facts: SessionFacts) -> SessionLine:
    """The session in short."""
    verdict, book = facts.verdict, ObligationBook()
    if verdict is not None:
        book.apply_verdict(facts.session_id, verdict)
    for record in facts.admissions:
        book.apply_admission(record)
    discharged = None if verdict is None else book.discharged_at(facts.session_id, verdict["digest"])
    seen = max((part["last_seen_at"] for part in facts.parts), default=0 if verdict is None else verdict["ended_at"])
    scope = _scope(facts)
    return SessionLine(
        session_id=facts.session_id,
        verdict=None if verdict is None else verdict["verdict"],
        directive=None if verdict is None else verdict["directive"],
        open=book.open_obligation(facts.session_id) is not None,
        discharged_at=None if discharged is None else from_micros(discharged),
        withdrawn=facts.withdrawn,
        flaw=facts.flaw,
        evidence=_evidence(facts),
        operations=None if verdict is None else verdict["operations"],
        degraded_operations=_degraded(facts),
        degraded_operation_ratio=None if verdict is None else verdict["degraded_operation_ratio"],
        above_threshold=verdict is not None and verdict["above_threshold"],
        findings=() if verdict is None else tuple(verdict["findings"]),
        release_line=None if scope is None else scope.release_line,
        composition=None if scope is None else scope.composition,
        opened_at=_opened(facts),
        ended_at=_ended(facts),
        last_seen_at=from_micros(seen),
    )


def session_detail(facts: SessionFacts) -> SessionDetail:
    """Everything else that is known of it."""
    verdict, parts = facts.verdict, facts.parts
    known: dict[str, Any] = verdict or {}
    masked = known.get("masked") or [entry for part in parts for entry in part["masked"]]
    predecessors = [part["predecessor_session_id"] for part in parts if part["predecessor_session_id"]]
    emitters = known.get("emitters") or sorted({name for part in parts for name in part["emitters"]})
    signature = known.get("signature")
    work = work_of(parts, verdict, _evidence(facts))
    return SessionDetail(
        fallbacks=sum(part["fallbacks"] for part in parts),
        masked_errors=sum(part["masked_errors"] for part in parts),
        threshold=known.get("threshold"),
        equivalent=known.get("equivalent"),
        outcome_claimed=known.get("outcome_claimed"),
        contradictions=tuple(known.get("contradictions", ())),
        masked=tuple(_masked(entry) for entry in masked[:_SHOWN_MASKED]),
        masked_cut=known.get("masked_cut", 0) + max(0, len(masked) - _SHOWN_MASKED),
        predecessor_session_id=known.get("predecessor_session_id") or (predecessors[0] if predecessors else None),
        inherited_from=tuple(known.get("inherited_from", ())),
        inherited_cut=known.get("inherited_cut", 0),
        selections=work.selections,
        selections_total=work.selections_total,
        selections_evidence=work.evidence,
        recoveries=work.recoveries,
        user_profile=work.user_profile,
        delegations=work.delegations,
        identity_conflicts=work.identity_conflicts,
        emitters=tuple(emitters),
        sources={source["partition"]: source["offset"] for source in known.get("sources", ())}
        or {part["partition"]: part["offset"] for part in parts},
        writer=known.get("writer"),
        sequence=known.get("sequence"),
        digest=known.get("digest"),
        signed_by=None if signature is None else signature["key_id"],
        admissions=tuple(_admission(record) for record in reversed(facts.admissions)),
    )


def _degraded(facts: SessionFacts) -> int:
    if facts.verdict is not None:
        return int(facts.verdict["degraded_operations"])
    return sum(part["degraded_operations_total"] for part in facts.parts)


def _evidence(facts: SessionFacts) -> Evidence | None:
    if facts.verdict is not None:
        return Evidence(facts.verdict["evidence"])
    states = {part["evidence"] for part in facts.parts}
    return Evidence.LOSSY if Evidence.LOSSY.value in states else Evidence.PENDING if states else None


def _scope(facts: SessionFacts) -> Scope | None:
    found = (facts.verdict or {}).get("scope") or next((part["scope"] for part in facts.parts), None)
    return None if found is None else Scope(**found)


def _opened(facts: SessionFacts) -> Any:
    opened = [part["opened_at"] for part in facts.parts if part["opened_at"] is not None]
    if facts.verdict is not None and facts.verdict["opened_at"] is not None:
        opened.append(facts.verdict["opened_at"])
    return from_micros(min(opened)) if opened else None


def _ended(facts: SessionFacts) -> Any:
    if facts.verdict is not None:
        return from_micros(facts.verdict["ended_at"])
    ends = [teardown["occurred_at"] for part in facts.parts for teardown in part["teardowns"]]
    ends += [part["abandoned_at"] for part in facts.parts if part["abandoned_at"] is not None]
    return from_micros(max(ends)) if ends else None


def _masked(entry: dict[str, Any]) -> MaskedLine:
    plain = {name: entry[name] for name in MaskedLine.model_fields if name != "occurred_at"}
    return MaskedLine(**plain, occurred_at=from_micros(entry["occurred_at"]))


def _admission(record: dict[str, Any]) -> AdmissionLine:
    return AdmissionLine(
        occurred_at=from_micros(record["occurred_at"]),
        step=AdmissionStep(record["step"]),
        answer=record["answer"],
        successor_session_id=record["successor_session_id"],
        by=record["by"],
    )
