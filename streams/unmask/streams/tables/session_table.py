"""The session table: what one table partition knows of its sessions, their verdicts, and the alerts they give rise to.

All snapshots of a session, whichever source partition they come from, are routed to one table partition.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from unmask.schemas.codes import Evidence, VerdictKind
from unmask.streams.tables.finding_alerts import finding_alerts
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.session_alerts import session_alerts
from unmask.streams.tables.standing_verdict import StandingVerdict
from unmask.streams.verdict import Obligation, adjudicate, merge_tallies

__all__ = ["JudgedSession", "KnownVerdicts", "SessionTable"]


class KnownVerdicts(Protocol):
    """What is known of other sessions, wherever their verdicts lie."""

    def knows(self, session_id: str) -> bool:
        """Whether there is a verdict of the session."""

    def open_obligation(self, session_id: str) -> Obligation | None:
        """What the session left to be done and nobody has done yet."""

    def cuts_circle(self, session_id: str, predecessor: str) -> bool:
        """Whether sessions continue one another in a circle, and this one is where it is cut: it inherits nothing."""

    def discharged_at(self, session_id: str, digest: str) -> int | None:
        """When the directive of this very verdict was carried out; None where it was not."""

    def withdrawn_at(self, session_id: str) -> int | None:
        """When an operator withdrew the session's verdict; None where nobody did."""


@dataclass(frozen=True, slots=True)
class JudgedSession:
    """What follows from a session's snapshots."""

    session_id: str
    verdict: dict[str, Any] | None
    alerts: list[dict[str, Any]]
    past: list[dict[str, Any]] = field(default_factory=list)
    """Alerts to what held and is over, perhaps before it was told of."""
    withdrawn: bool = False
    """Whether an operator withdrew the verdict, and nothing of the session happened since."""


class SessionTable:
    """The sessions of one table partition. No clock, no I/O."""

    def __init__(self, rules: TableRules, known: KnownVerdicts) -> None:
        self._rules = rules
        self._known = known
        self._sessions: dict[str, dict[int, dict[str, Any]]] = {}
        self._given_up: dict[str, set[int]] = {}
        self._successors: dict[str, set[str]] = {}
        self._dirty: set[str] = set()
        self._pending: set[str] = set()
        self._accounts: dict[int, int] = {}

    def apply(self, key: str, record: dict[str, Any] | None) -> None:
        """Takes one record of the sessions topic in; None is a snapshot that the ledger has given up.

        A session whose every snapshot was given up is forgotten; its verdict stands. Until then what any of them said
        counts: one partition may give a session up while it goes on in another.
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
        self._given_up.get(session_id, set()).discard(partition)
        predecessor = record["predecessor_session_id"]
        if predecessor is not None:
            self._successors.setdefault(predecessor, set()).add(session_id)
        self._dirty.add(session_id)

    def _give_up(self, session_id: str, partition: str) -> None:
        parts = self._sessions.get(session_id, {})
        if int(partition) not in parts:
            return
        gone = self._given_up.setdefault(session_id, set())
        gone.add(int(partition))
        if gone.issuperset(parts):
            self._forget(session_id)

    def _forget(self, session_id: str) -> None:
        parts = self._sessions.pop(session_id)
        del self._given_up[session_id]
        for predecessor in {part["predecessor_session_id"] for part in parts.values()}:
            successors = self._successors.get(predecessor, set())
            successors.discard(session_id)
            if not successors:
                self._successors.pop(predecessor, None)
        self._dirty.discard(session_id)
        self._pending.discard(session_id)

    def account(self, accounts: Mapping[int, int]) -> None:
        """Takes in up to when the live emitters of each source partition have accounted, as merge_tallies reads it."""
        if accounts != self._accounts:
            self._accounts = dict(accounts)
            self._dirty |= self._pending

    def touch(self, session_id: str) -> None:
        """Something changed in what is known of a session's verdict: it and its successors are judged again."""
        self._dirty.update(
            name for name in (session_id, *self._successors.get(session_id, ())) if name in self._sessions
        )

    def touch_all(self) -> None:
        """Every session is judged again."""
        self._dirty.update(self._sessions)

    def take_judged(self, standing: Callable[[str], StandingVerdict | None]) -> list[JudgedSession]:
        """Judges every session that changed since the last call.

        `standing` gives the verdict that stands on the output topic: what it inherited stays inherited while nothing
        is known of the predecessor, so that a worker that sees less never turns a verdict clean.
        """
        dirty, self._dirty = self._dirty, set()
        return [self._judge(session_id, standing(session_id)) for session_id in sorted(dirty)]

    def _judge(self, session_id: str, standing: StandingVerdict | None) -> JudgedSession:
        tallies = self._sessions[session_id].values()
        view = merge_tallies(tallies, self._accounts)
        verdict = adjudicate(
            tallies,
            threshold=self._rules.threshold,
            obligations=self._obligations(session_id, view.predecessor, standing),
            accounts=self._accounts,
            blocked_turns=self._rules.blocked_turns,
        )
        pending = verdict is not None and view.evidence is Evidence.PENDING
        # What is found of its recoveries waits for what others may still tell, also while it goes on.
        waits = pending or (bool(view.selections) and not view.told)
        (self._pending.add if waits else self._pending.discard)(session_id)
        digests = [] if verdict is None else [verdict["digest"]]
        digests += [] if standing is None else [standing.digest]
        discharges = [self._known.discharged_at(session_id, digest) for digest in digests]
        discharged_at = next((at for at in discharges if at is not None), None)
        withdrawn_at = self._known.withdrawn_at(session_id)
        found = finding_alerts(view, verdict, blocked_turns=self._rules.blocked_turns, discharged_at=discharged_at)
        sure = None if pending and _merely_unsure(verdict) else verdict
        return JudgedSession(
            session_id,
            verdict,
            [*session_alerts(view, sure, discharged_at=discharged_at), *found.current],
            found.past,
            withdrawn=withdrawn_at is not None and view.last_seen_at <= withdrawn_at,
        )

    def _obligations(
        self, session_id: str, predecessor: str | None, standing: StandingVerdict | None
    ) -> list[Obligation]:
        if predecessor is None or self._known.cuts_circle(session_id, predecessor):
            return []
        if self._known.knows(predecessor):
            obligation = self._known.open_obligation(predecessor)
            return [] if obligation is None else [obligation]
        if standing is None or not standing.inherited_from:
            return []
        first, *rest = standing.inherited_from
        return [Obligation(first, standing.directive, tuple(rest), standing.inherited_cut)]

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._sessions

    def __len__(self) -> int:
        return len(self._sessions)


def _merely_unsure(verdict: dict[str, Any] | None) -> bool:
    """Whether waiting for what others may still tell is all that can be wrong: no more is sure than while it runs."""
    return verdict is None or (
        verdict["verdict"] == VerdictKind.DEGRADED_SUCCESS.value and not verdict["contradictions"]
    )
