"""Reads everything that is on record of delegations, over all sessions, and makes the report of it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unmask.consumers.delegations.document import DelegationLine, DelegationsReport
from unmask.consumers.delegations.gather import Judged, lines_of, session_evidence
from unmask.consumers.delegations.verdicts import judged_delegations
from unmask.consumers.gate.view import VerdictNotReady
from unmask.consumers.record_answers import NotShown, RecordAnswer
from unmask.consumers.sessions_view import Snapshots, read_all_sessions, read_session, sessions_source
from unmask.consumers.timeline.evidence import Proof, proof_of
from unmask.consumers.unreadable import TopicUnreadable
from unmask.consumers.windows_view import Progress, windows_source
from unmask.consumers.witnesses import find_witnesses
from unmask.schemas.codes import Evidence, Family
from unmask.schemas.instants import iso
from unmask.schemas.scope import Scope
from unmask.schemas.signing import Trust
from unmask.schemas.topics import Topics

__all__ = ["Question", "no_report", "read_report"]

_FAMILIES = frozenset((Family.DELEGATION_PROGRESS, Family.DELEGATION_EFFECT))
_DAY = 86_400_000_000
_WORST_FIRST = (Evidence.LOSSY, Evidence.PENDING, Evidence.COMPLETE)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for; None for all."""

    delegation_id: str | None = None
    session_id: str | None = None


def read_report(
    topics: Topics,
    bootstrap: str,
    asked: Question,
    *,
    timeout: float,
    now: int,
    trust: Trust | None = None,
    progress: Progress | None = None,
) -> DelegationsReport:
    """The report as things stand at the call. Raises NotShown, which says why there is none."""
    deadline = time.monotonic() + timeout
    try:
        found = _snapshots(topics, bootstrap, asked, timeout, progress)
        if asked.session_id is not None and asked.session_id in found.unreadable:
            raise NotShown(
                RecordAnswer.UNREADABLE,
                f"What the stream has seen of session {asked.session_id} cannot be read here "
                f"({found.unreadable[asked.session_id]}). Upgrade this installation to the workers' version.",
            )
        working = {
            session: tallies
            for session, tallies in found.tallies.items()
            if session == asked.session_id or any(tally["delegations"] for tally in tallies)
        }
        judged, unbelieved = judged_delegations(
            topics, bootstrap, working, max(0.1, deadline - time.monotonic()), trust, only=asked.session_id
        )
    except (TopicUnreadable, VerdictNotReady) as error:
        raise NotShown(RecordAnswer.NOT_READY, str(error)) from error
    if asked.session_id is not None and not working and asked.session_id not in judged:
        raise NotShown(
            RecordAnswer.ABSENT,
            f"Nothing is on record of session {asked.session_id}: no host has told of it, or it is older than the "
            "topics keep.",
        )
    lines = [line for line in lines_of(working, judged) if asked.delegation_id in (None, line.delegation_id)]
    if asked.delegation_id is not None and not lines:
        raise NotShown(RecordAnswer.ABSENT, _absent(asked, found))
    proof = _proof(topics, bootstrap, asked, lines, working, judged, deadline, now)
    return DelegationsReport(
        format=1,
        answer="SHOWN",
        reason=None,
        generated_at=iso(now),
        delegation_id=asked.delegation_id,
        session_id=asked.session_id,
        evidence=proof.evidence,
        evidence_words=proof.words,
        delegations=lines,
        remarks=[*_remarks(found, asked), *unbelieved],
    )


def no_report(asked: Question, answer: RecordAnswer, reason: str, *, now: int) -> DelegationsReport:
    """The document where there is nothing to show."""
    return DelegationsReport(
        format=1,
        answer=answer.value,
        reason=reason,
        generated_at=iso(now),
        delegation_id=asked.delegation_id,
        session_id=asked.session_id,
        evidence=Evidence.ABSENT,
        evidence_words=reason,
        delegations=[],
        remarks=[],
    )


def _snapshots(topics: Topics, bootstrap: str, asked: Question, timeout: float, progress: Progress | None) -> Snapshots:
    source = sessions_source(bootstrap, topics.namespace)
    if asked.session_id is not None:
        return read_session(source, asked.session_id, timeout=timeout)
    return read_all_sessions(source, timeout=timeout, progress=progress)


def _proof(
    topics: Topics,
    bootstrap: str,
    asked: Question,
    lines: list[DelegationLine],
    working: Mapping[str, tuple[Mapping[str, Any], ...]],
    judged: Mapping[str, Judged],
    deadline: float,
    now: int,
) -> Proof:
    states = {line.evidence for line in lines}
    witnessed: frozenset[Family] | None = frozenset()
    if not lines:
        tallies = [tally for found in working.values() for tally in found]
        scopes = {Scope(**tally["scope"]) for tally in tallies} if asked.session_id is not None else None
        begin = min((tally["opened_at"] or tally["last_seen_at"] for tally in tallies), default=now - _DAY)
        witnessed = find_witnesses(
            windows_source(bootstrap, topics.namespace), scopes, begin, now,
            timeout=max(0.1, deadline - time.monotonic()),
        )  # fmt: skip
        states = {
            session_evidence(found, judged[session].evidence if session in judged else None)
            for session, found in working.items()
        }
    worst = next((state for state in _WORST_FIRST if state in states), Evidence.PENDING)
    tellers = {} if asked.session_id is not None else {"tellers": "hosts"}
    return proof_of(
        "delegations", worst, on_record=len(lines), kept=None, families=_FAMILIES, witnessed=witnessed, **tellers
    )  # fmt: skip


def _absent(asked: Question, found: Snapshots) -> str:
    where = "" if asked.session_id is None else f" in session {asked.session_id}"
    text = (
        f"Nothing is on record of delegation {asked.delegation_id}{where}: no host has told of it, or the stream has "
        "forgotten its sessions (about a day after their last event)."
    )
    return text if not found.unreadable else f"{text} {_unreadable(found)}"


def _remarks(found: Snapshots, asked: Question) -> list[str]:
    return [_unreadable(found)] if found.unreadable and asked.session_id is None else []


def _unreadable(found: Snapshots) -> str:
    return (
        f"Snapshots of {len(found.unreadable):,} sessions cannot be read here, and nothing of these is shown. Upgrade "
        "this installation to the workers' version."
    )
