"""Reads admissions, events, the effects ledger's decisions and the sessions' snapshots, and makes the report."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unmask.consumers.delegations.merge import Delegation, merged, parts_of
from unmask.consumers.enforcement.count import DecisionCount, GateCount, HostCount
from unmask.consumers.enforcement.document import EnforcementReport, Origin
from unmask.consumers.enforcement.make import Gathered, make_report
from unmask.consumers.gate.enforcement import Enforcement
from unmask.consumers.sessions_view import read_all_sessions, sessions_source
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicNotThere
from unmask.consumers.windows_view import NotReadInTime, Progress
from unmask.schemas.codec import HEADER_LENGTH, header
from unmask.schemas.errors import DecodeError
from unmask.schemas.instants import iso
from unmask.schemas.signing import Trust, admission_flaw
from unmask.schemas.topics import Topics, TopicSpec
from unmask.schemas.wire import decode

__all__ = ["read_report"]

_POLL_SECONDS = 0.1
_DAY_MS = 86_400_000
_GATES = (
    "every answer that a gate could record in the time that the topic keeps; a question whose record did not reach the "
    "broker is missing, an appeal or an override is not possible without one"
)
_HOSTS = (
    "at least so many: each batch once, of the time that the topic keeps, and nothing of what hosts dropped or lost "
    "(`unmask report windows` says how much that is)"
)
_NOBODY = "nothing: nobody tells of effects here, so that none on record does not mean that none were refused"
_DECISIONS = "every decision of the effects ledger in the time that the topic keeps; a claim that nobody read is none"
_SNAPSHOTS = (
    "what the stream still knows: a session's snapshots are kept for about a day after its last event, and with LOSSY "
    "evidence there may have been more"
)


@dataclass(slots=True)
class _Read:
    """How much of a topic was read."""

    spec: TopicSpec
    oldest: int | None = None
    records: int = 0
    unusable: int = 0

    def origin(self, proves: str) -> Origin:
        retention = self.spec.config.get("retention.ms")
        return Origin(
            topic=self.spec.name,
            kept_days=None if retention is None else int(retention) // _DAY_MS,
            oldest=None if self.oldest is None else iso(self.oldest),
            records=self.records,
            unusable=self.unusable,
            proves=proves,
        )


def read_report(
    topics: Topics,
    bootstrap: str,
    *,
    timeout: float,
    now: int,
    trust: Trust | None = None,
    progress: Progress | None = None,
) -> EnforcementReport:
    """The report as things stand at the call. Raises a TopicUnreadable that names the cause.

    Topics of the effects ledger that do not exist are remarked on: a cluster that has none has no effects ledger.
    """
    reading = _Reading(bootstrap, time.monotonic() + timeout, progress)
    gate, answers = GateCount(), Enforcement()
    hosts, decisions = HostCount(), DecisionCount()

    def admission(row: Row) -> None:
        record = decode("admission", row.value)
        key = (row.key or b"").decode("utf-8", "replace")
        if admission_flaw(record, session_id=key, topic=topics.admissions.name, trust=trust) is not None:
            raise _Unbelieved
        gate.take(record)
        answers.take(record)

    def events(row: Row) -> None:
        # A batch of the first version has no room for what is counted here.
        if row.value is None or row.value[:HEADER_LENGTH] != header("event_batch"):
            hosts.take(decode("event_batch", row.value))

    remarks: list[str] = []
    admissions = reading.read(topics.admissions, admission)
    told = reading.read(topics.events, events)
    decided: _Read | None = None
    try:
        decided = reading.read(
            topics.effects_decisions, lambda row: decisions.take(decode("effect_decision", row.value))
        )
    except TopicNotThere as missing:
        remarks.append(f"The effects ledger's own decisions are not known. {missing}")
    sessions, delegations = reading.delegations(topics)
    return make_report(
        Gathered(
            gate=gate,
            refusals_upheld=answers.report().refusals_upheld,
            hosts=hosts,
            decisions=None if decided is None else decisions,
            delegations=delegations,
            admissions_origin=admissions.origin(_GATES),
            hosts_origin=told.origin(_HOSTS if hosts.witnesses else _NOBODY),
            decisions_origin=None if decided is None else decided.origin(_DECISIONS),
            sessions_origin=sessions.origin(_SNAPSHOTS),
            remarks=tuple(remarks),
        ),
        now=now,
    )


class _Unbelieved(Exception):
    """A record that no gate wrote, or that no trusted key signed."""


class _Reading:
    def __init__(self, bootstrap: str, deadline: float, progress: Progress | None) -> None:
        self._bootstrap = bootstrap
        self._deadline = deadline
        self._progress = progress

    def read(self, spec: TopicSpec, take: Callable[[Row], None]) -> _Read:
        """Hands every record of a topic on, to the end that it has now."""
        done = _Read(spec)
        source = TopicSource(spec.name, self._bootstrap, compacted=False)
        with TopicReader(source, committed=True, timeout=self._left()) as reader:
            total = reader.remaining
            while not reader.caught_up:
                if time.monotonic() > self._deadline:
                    raise NotReadInTime(spec.name, reader.remaining)
                for row in reader.read(_POLL_SECONDS):
                    done.records += 1
                    at = row.timestamp_ms * 1000
                    done.oldest = at if done.oldest is None else min(done.oldest, at)
                    try:
                        take(row)
                    except (DecodeError, _Unbelieved):
                        done.unusable += 1
                if self._progress is not None:
                    self._progress(total, reader.remaining)
        return done

    def delegations(self, topics: Topics) -> tuple[_Read, list[Delegation]]:
        """Delegations as the sessions' snapshots have them."""
        found = read_all_sessions(
            sessions_source(self._bootstrap, topics.namespace), timeout=self._left(), progress=self._progress
        )
        tallies: list[Mapping[str, Any]] = [tally for of in found.tallies.values() for tally in of]
        seen = [tally["opened_at"] or tally["last_seen_at"] for tally in tallies]
        done = _Read(topics.sessions, min(seen, default=None), len(tallies), len(found.unreadable))
        return done, merged(parts_of(tallies))

    def _left(self) -> float:
        return max(0.1, self._deadline - time.monotonic())
