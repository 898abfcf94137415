"""Reads what is on record of one session: snapshots, verdict, and whether anybody would have told of more."""

import time

from unmask.consumers.gate.decide import decide
from unmask.consumers.gate.entry import NoRecord, Recorded, Tombstone, Unread
from unmask.consumers.gate.view import VerdictNotReady, VerdictView, verdict_source
from unmask.consumers.record_answers import NotShown, RecordAnswer
from unmask.consumers.sessions_view import read_session, sessions_source
from unmask.consumers.timeline.build import SessionRecord
from unmask.consumers.unreadable import TopicUnreadable
from unmask.consumers.windows_view import windows_source
from unmask.consumers.witnesses import find_witnesses
from unmask.schemas.codes import Family
from unmask.schemas.partitioner import partition_for
from unmask.schemas.scope import Scope
from unmask.schemas.signing import Trust
from unmask.schemas.tokens import opaque_id
from unmask.schemas.topics import Topics

__all__ = ["read_record"]


def read_record(
    topics: Topics, bootstrap: str, session_id: str, *, timeout: float, now: int, trust: Trust | None = None
) -> SessionRecord:
    """Everything on record of a session, as it stands at the call. Raises NotShown, which says why there is nothing."""
    key, deadline = opaque_id(session_id), time.monotonic() + timeout
    try:
        found = read_session(sessions_source(bootstrap, topics.namespace), key, timeout=timeout)
        if key in found.unreadable:
            raise NotShown(
                RecordAnswer.UNREADABLE,
                f"What the stream has seen of session {key} cannot be read here ({found.unreadable[key]}). Upgrade "
                "this installation to the workers' version.",
            )
        record = _judged(topics, bootstrap, SessionRecord(key, found.of(key)), deadline, trust)
    except (TopicUnreadable, VerdictNotReady) as error:
        raise NotShown(RecordAnswer.NOT_READY, str(error)) from error
    if not record.tallies and record.verdict is None and record.flaw is None and not record.withdrawn:
        raise NotShown(
            RecordAnswer.ABSENT,
            f"Nothing is on record of session {key}: no host has told of it, or it is older than the topics keep "
            "(its snapshots about a day after its last event, its verdict 90 days).",
        )
    return _witnessed(topics, bootstrap, record, deadline, now)


def _judged(
    topics: Topics, bootstrap: str, record: SessionRecord, deadline: float, trust: Trust | None
) -> SessionRecord:
    source = verdict_source(bootstrap, topics.namespace)
    key = record.session_id
    left = max(0.1, deadline - time.monotonic())
    partition = partition_for(key, source.shape(left).partitions)
    with VerdictView(source, partitions=[partition], only=key, trust=trust) as view:
        view.wait_ready(left)
        entry = view.entry(key)
    if isinstance(entry, Unread):
        raise VerdictNotReady(entry.cause)
    if isinstance(entry, NoRecord):
        return record
    if isinstance(entry, Tombstone):
        return SessionRecord(key, record.tallies, withdrawn=True)
    answer = decide(entry, topic=source.topic, trust=trust)
    if isinstance(entry, Recorded) and answer.verdict is not None:
        return SessionRecord(key, record.tallies, entry.verdict)
    return SessionRecord(key, record.tallies, flaw=answer.reason)


def _witnessed(topics: Topics, bootstrap: str, record: SessionRecord, deadline: float, now: int) -> SessionRecord:
    """Whether anybody would have told, asked only where nothing was told."""
    told: set[Family] = set()
    for tally in record.tallies:
        if tally["selections"] or tally["selections_total"] is not None:
            told.add(Family.ROUTE_SELECTION)
        if tally["delegations"]:
            told |= {Family.DELEGATION_PROGRESS, Family.DELEGATION_EFFECT}
    witnessed: frozenset[Family] | None = frozenset(told)
    if len(told) < 3 and record.tallies:
        begin = min(tally["opened_at"] or tally["last_seen_at"] for tally in record.tallies)
        end = max(tally["last_seen_at"] for tally in record.tallies)
        scopes = {Scope(**tally["scope"]) for tally in record.tallies}
        found = find_witnesses(
            windows_source(bootstrap, topics.namespace), scopes, begin, min(end, now),
            timeout=max(0.1, deadline - time.monotonic()),
        )  # fmt: skip
        witnessed = None if found is None else found | told
    return SessionRecord(
        record.session_id, record.tallies, record.verdict, record.flaw, record.withdrawn, witnessed
    )  # fmt: skip
