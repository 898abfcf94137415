"""The session table: what one table partition knows of its sessions, their verdicts, and the alerts they give rise to.

All snapshots of a session, whichever source partition they come from, are routed to one table partition.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from unmask.schemas.codes import Directive
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.session_alerts import session_alerts
from unmask.streams.verdict import Obligation, adjudicate, merge_tallies

__all__ = ["JudgedSession", "KnownVerdicts", "SessionTable"]


class KnownVerdicts(Protocol):
    """What is known of other sessions, wherever their verdicts lie."""

    def knows(self, session_id: str) -> bool:
        """Whether there is a verdict of the session."""

    def open_obligation(self, session_id: str) -> Obligation | None:
        """What the session left to be done and nobody has done yet."""

    def discharged_at(self, session_id: str, digest: str) -> int | None:
        """When the directive of this very verdict was carried out; None where it was not."""


@dataclass(frozen=True, slots=True)
class JudgedSession:
    """What follows from a session's snapshots."""

    session_id: str
    verdict: dict[str, Any] | None
    alerts: list[dict[str, Any]]


class SessionTable:
    """The sessions of one table partition. No clock, no I/O."""

    def __init__(self, rules: TableRules, known: KnownVerdicts) -> None:
        self._rules = rules
        self._known = known
        self._sessions: dict[str, dict[int, dict[str, Any]]] = {}
        self._successors: dict[str, set[str]] = {}
        self._dirty: set[str] = set()

    def apply(self, key: str, record: dict[str, Any] | None) -> None:
        """Takes one record of the sessions topic in; None is a snapshot that the ledger has given up.

        A session of which no snapshot is left is forgotten; its verdict stands.
        """
        if record is None:
            self._give_up(*key.rsplit("|", 1))
            return
        session_id, partition = record["session_id"], record["partition"]
        parts = self._sessions.setdefault(session_id, {})
        known = parts.get(partition)
        if known is not None and known["offset"] > record["offset"]:
            return
        parts[partition] = record
        predecessor = record["predecessor_session_id"]
        if predecessor is not None:
            self._successors.setdefault(predecessor, set()).add(session_id)
        self._dirty.add(session_id)

    def _give_up(self, session_id: str, partition: str) -> None:
        parts = self._sessions.get(session_id, {})
        gone = parts.pop(int(partition), None)
        if gone is None:
            return
        predecessor = gone["predecessor_session_id"]
        if predecessor is not None and not any(p["predecessor_session_id"] == predecessor for p in parts.values()):
            self._successors[predecessor].discard(session_id)
            if not self._successors[predecessor]:
                del self._successors[predecessor]
        if not parts:
            del self._sessions[session_id]
            self._dirty.discard(session_id)

    def touch(self, session_id: str) -> None:
        """Something changed in what is known of a session's verdict: it and its successors are judged again."""
        self._dirty.update(
            name for name in (session_id, *self._successors.get(session_id, ())) if name in self._sessions
        )

    def touch_all(self) -> None:
        """Every session is judged again."""
        self._dirty.update(self._sessions)

    def take_judged(self, standing: Callable[[str], dict[str, Any] | None]) -> list[JudgedSession]:
        """Judges every session that changed since the last call.

        `standing` gives the verdict that stands on the output topic: what it inherited stays inherited while nothing
        is known of the predecessor, so that a worker that sees less never turns a verdict clean.
        """
        dirty, self._dirty = self._dirty, set()
        return [self._judge(session_id, standing(session_id)) for session_id in sorted(dirty)]

    def _judge(self, session_id: str, standing: dict[str, Any] | None) -> JudgedSession:
        view = merge_tallies(self._sessions[session_id].values())
        obligations = self._obligations(view.predecessor, standing)
        verdict = adjudicate(
            self._sessions[session_id].values(), threshold=self._rules.threshold, obligations=obligations
        )
        digests = [v["digest"] for v in (verdict, standing) if v is not None]
        discharges = [self._known.discharged_at(session_id, digest) for digest in digests]
        discharged_at = next((at for at in discharges if at is not None), None)
        return JudgedSession(session_id, verdict, session_alerts(view, verdict, discharged_at=discharged_at))

    def _obligations(self, predecessor: str | None, standing: dict[str, Any] | None) -> list[Obligation]:
        if predecessor is None:
            return []
        if self._known.knows(predecessor):
            obligation = self._known.open_obligation(predecessor)
            return [] if obligation is None else [obligation]
        if standing is None or not standing["inherited_from"]:
            return []
        first, *rest = standing["inherited_from"]
        return [Obligation(first, Directive(standing["directive"]), tuple(rest))]

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._sessions

    def __len__(self) -> int:
        return len(self._sessions)
