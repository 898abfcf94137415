"""What a partition's log proves, computed from scratch over a list of its records: the model to compare with.

Written to be plainly right, not quick: an emitter is a sorted list of accepted batches, a flaw is what two
neighbours in it lack, a count is a loop over all events.
"""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.property.streams.ledger.reference_work import Told, WorkFacts
from tests.property.streams.ledger.world import Logged

from unmask.schemas.scope import Scope
from unmask.schemas.signatures import classify_signature
from unmask.streams.ledger.rules import FoldRules

__all__ = ["Reference", "SessionFacts"]

SECOND = 1_000_000
SKEW = 300 * SECOND
HOUR = 3600 * SECOND
EVENTS = {
    "kernel_fallback": "kernel_fallbacks",
    "masked_error": "masked_errors",
    "session_teardown": "session_teardowns",
    "route_selection": "route_selections",
    "delegation_progress": "delegation_progress",
    "delegation_effect": "delegation_effects",
}
WORK = ("route_selection", "delegation_progress", "delegation_effect")
NAMING = (*EVENTS.values(), "session_openings")
REMEMBERED = 8
"""Of so many batches, the last by number, it is known whether one that comes again is the same."""
CountKey = tuple[Scope, str, str, str, int, int]
"""Scope, measure, capability, code, start, seconds."""
FlawKey = tuple[int, int, Scope | None, str | None, int, int, str, frozenset[str]]
"""Start, seconds, scope, emitter, from, to, cause, families (none: all)."""


@dataclass
class Accepted:
    """A batch that was counted."""

    seq: int
    cut: int
    ahead: bool
    batch: dict[str, Any] | None
    """None for the start, at which nothing had been recorded."""

    def books(self) -> dict[str, tuple[int, Counter[str]]]:
        """Per family: recorded, and dropped by cause."""
        if self.batch is None:
            return {}
        return {
            a["family"]: (a["recorded"], Counter({d["cause"]: d["count"] for d in a["dropped"]}))
            for a in self.batch["accounts"]
        }

    def events(self, family: str) -> list[dict[str, Any]]:
        if self.batch is None:
            return []
        if family == "route_attempt":
            return [
                {"capability": g["capability"], "entry_point": g["entry_point"], "occurred_at": at}
                for g in self.batch["route_attempts"]
                for at in g["occurred_at"]
            ]
        return list(self.batch[EVENTS[family]])


@dataclass
class Known:
    """One emitter."""

    scope: Scope
    accepted: list[Accepted]
    last_arrival: int = 0
    heartbeat: int = 0
    closed: bool = False
    claim: tuple[int, dict[str, str]] = (0, {})
    """What it said of itself: start and scope."""
    witnesses: list[str] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    disputed: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of which batches told that were not its own."""


@dataclass
class SessionFacts:
    """One session."""

    emitters: set[str] = field(default_factory=set)
    opened: int | None = None
    last_seen: int = 0
    fallbacks: int = 0
    masked: int = 0
    degraded: set[str] = field(default_factory=set)
    anonymous: int = 0
    unproven: set[str] = field(default_factory=set)
    proven: set[str] = field(default_factory=set)
    teardowns: list[int] = field(default_factory=list)
    work: WorkFacts = field(default_factory=WorkFacts)


class Reference:
    """Reads a whole log at once."""

    def __init__(self, log: list[Logged], rules: FoldRules, read_through: int) -> None:
        self.rules = rules
        self.through = read_through
        self.emitters: dict[str, Known] = {}
        self.counts: Counter[CountKey] = Counter()
        self.flaws: set[FlawKey] = set()
        self.sessions: dict[str, SessionFacts] = {}
        self.fallbacks: list[tuple[str, int, int]] = []
        self.quarantined: list[int] = []
        newest = 0
        for offset, record in enumerate(log):
            newest = max(newest, record.arrival)
            if record.batch is None:
                self._unreadable(offset, record)
            else:
                self._take(record.arrival, record.batch, newest)
        for name, known in self.emitters.items():
            self._compare(name, known)
            self._standing(name, known)

    # Batches.

    def _take(self, arrival: int, batch: dict[str, Any], newest: int) -> None:
        said = batch["emitter"]
        name, seq, sent = said["emitter_id"], batch["batch_seq"], batch["sent_at"]
        known = self.emitters.get(name)
        if known is None:
            started = min(said["started_at"], arrival) if sent > arrival + SKEW else min(said["started_at"], sent)
            known = self.emitters[name] = Known(Scope(**said["scope"]), [Accepted(0, started, False, None)])
            known.claim = (said["started_at"], said["scope"])
        place = bisect_left([a.seq for a in known.accepted], seq)
        if known.claim != (said["started_at"], said["scope"]) or self._is_other(known, place, batch):
            self._refuse(name, known, batch, arrival)
            return
        known.last_arrival = max(known.last_arrival, arrival)
        if place < len(known.accepted) and known.accepted[place].seq == seq:
            self._count(known.scope, "duplicates", "-", "-", arrival)
            return
        left = known.accepted[place - 1]
        if place == len(known.accepted):
            known.heartbeat = said["heartbeat_ms"] * 1000
            ahead = sent > arrival + SKEW
            cut = max(left.cut, arrival if ahead else sent)
            self._witness(known.scope, left, cut)
            self._witness_families(known, left, cut, batch["witnesses"])
        else:
            right = known.accepted[place]
            ahead = right.ahead and sent > right.cut
            cut = sorted((left.cut, sent, right.cut))[1]
        accepted = Accepted(seq, cut, ahead, batch)
        known.accepted.insert(place, accepted)
        known.closed = known.closed or batch["closing"]
        self._count_events(known.scope, accepted, arrival, newest)
        self._sessions_of(name, batch, cut if ahead else 1 << 62)
        self.fallbacks += [(name, seq, index) for index in range(len(batch["kernel_fallbacks"]))]

    def _count_events(self, scope: Scope, accepted: Accepted, arrival: int, newest: int) -> None:
        def place(at: int) -> int:
            instead = accepted.cut if accepted.ahead else arrival
            if at > (accepted.cut if accepted.ahead else max(arrival + SKEW, accepted.cut)):
                self._count(scope, "skewed", "-", "-", instead)
                return instead
            return at

        def add(measure: str, capability: str, code: str, at: int) -> int:
            at = place(at)
            self._count(scope, measure, capability, code, at)
            for start, seconds in self._windows(at, at):
                if start + seconds * SECOND + self.rules.grace_us <= newest:
                    self.counts[scope, "late", "-", "-", start, seconds] += 1
            return at

        for event in accepted.events("route_attempt"):
            add("route_attempt", event["capability"], event["entry_point"], event["occurred_at"])
        for event in accepted.events("kernel_fallback"):
            add("kernel_fallback", event["capability"], event["reason_code"], event["occurred_at"])
        for event in accepted.events("masked_error"):
            kind = classify_signature(event["masked_upstream_signature"]).value
            add("masked_error", event["upstream"], kind, event["occurred_at"])
        for event in accepted.events("session_teardown"):
            add("session_teardown", "-", event["outcome"], event["occurred_at"])
        for event in accepted.events("route_selection"):
            add("route_selection", event["source"], event["timeline"], event["occurred_at"])
        for event in accepted.events("delegation_progress"):
            add("delegation_progress", "-", event["outcome"], event["occurred_at"])
        for event in accepted.events("delegation_effect"):
            add("delegation_effect", event["enforcer"] or "-", event["step"], event["occurred_at"])

    def _witness(self, scope: Scope, left: Accepted, cut: int) -> None:
        first = left.batch is None
        for start, seconds in self._windows(left.cut, cut):
            if first or start > left.cut:
                self.counts[scope, "emitters", "-", "-", start, seconds] += 1
        if first:
            self.counts[scope, "emitters", "-", "-", 0, 0] += 1

    def _witness_families(self, known: Known, left: Accepted, cut: int, said: list[str]) -> None:
        for family in known.witnesses:
            for start, seconds in self._windows(left.cut, cut):
                if start > left.cut:
                    self.counts[known.scope, "witnesses", family, "-", start, seconds] += 1
        for family in said:
            if family not in known.witnesses:
                known.witnesses.append(family)
                for start, seconds in (*self._windows(left.cut, cut), (0, 0)):
                    self.counts[known.scope, "witnesses", family, "-", start, seconds] += 1

    # Identity.

    @staticmethod
    def _is_other(known: Known, place: int, batch: dict[str, Any]) -> bool:
        """Whether another batch was read under this number, and that is still known."""
        seq, newest = batch["batch_seq"], known.accepted[-1].seq
        if place == len(known.accepted) or known.accepted[place].seq != seq or seq <= newest - REMEMBERED:
            return False
        return known.accepted[place].batch != batch

    def _refuse(self, name: str, known: Known, batch: dict[str, Any], arrival: int) -> None:
        cut = known.accepted[-1].cut
        instants = [at for group in batch["route_attempts"] for at in group["occurred_at"]]
        instants += [event["occurred_at"] for field_name in NAMING for event in batch[field_name]]
        first = min([cut, *instants])
        last = max(arrival, cut, min(max(instants, default=0), arrival + SKEW))
        for start, seconds in self._windows(first, last):
            for scope in {known.scope, Scope(**batch["emitter"]["scope"])}:
                self.flaws.add((start, seconds, scope, name, -1, -1, "identity", frozenset()))
        beside = [(a, b) for a, b in known.disputed if not (first <= b and a <= last)]
        touching = [stretch for stretch in known.disputed if stretch not in beside]
        ends = [first, last, *(end for stretch in touching for end in stretch)]
        known.disputed = [*beside, (min(ends), max(ends))]
        named = {event["session_id"] for field_name in NAMING for event in batch[field_name]}
        for session_id, facts in self.sessions.items():
            is_open = name in facts.emitters and not facts.teardowns and not known.closed
            if is_open or session_id in named:
                facts.work.disputed.add(name)

    def _count(self, scope: Scope, measure: str, capability: str, code: str, at: int) -> None:
        for start, seconds in (*self._windows(at, at), (0, 0)):
            self.counts[scope, measure, capability, code, start, seconds] += 1

    def _windows(self, first: int, last: int) -> list[tuple[int, int]]:
        """Every window of every size that overlaps the closed interval."""
        found = []
        for seconds in self.rules.window_seconds:
            size = seconds * SECOND
            start = first // size * size
            while start <= last:
                found.append((start, seconds))
                start += size
        return found

    # Flaws.

    def _unreadable(self, offset: int, record: Logged) -> None:
        self.quarantined.append(offset)
        known = self.emitters.get(record.key or "")
        since = record.arrival - 10 * SECOND
        if known is not None:
            since = max(known.accepted[-1].cut, record.arrival - HOUR)
        for start, seconds in self._windows(min(since, record.arrival), max(since, record.arrival)):
            self.flaws.add((start, seconds, None, None, offset, offset + 1, "quarantined", frozenset()))

    def lossy_families(self, left: Accepted, right: Accepted) -> dict[str, int]:
        """Per family that two neighbours do not account for: how many events."""
        lost = {}
        for family in ("route_attempt", *EVENTS):
            recorded = right.books().get(family, (0, Counter()))[0] - left.books().get(family, (0, Counter()))[0]
            if n := recorded - len(right.events(family)):
                lost[family] = n
        return lost

    def _compare(self, name: str, known: Known) -> None:
        for left, right in zip(known.accepted, known.accepted[1:], strict=False):
            lost = self.lossy_families(left, right)
            if not lost:
                continue
            drops, any_drops = {}, False
            for family in lost:
                before = left.books().get(family, (0, Counter()))[1]
                after = right.books().get(family, (0, Counter()))[1]
                drops[family] = sum(after.values()) - sum(before.values())
                # Of two lives with one name, one may have dropped what the other has not.
                any_drops = any_drops or +before != +after
            shipped = any(n - drops[family] > 0 for family, n in lost.items())
            cause = "gap" if right.seq > left.seq + 1 and shipped else "dropped" if any_drops else "miscount"
            for start, seconds in self._windows(left.cut, right.cut):
                key = (start, seconds, known.scope, name, left.seq, right.seq, cause, frozenset(lost))
                self.flaws.add(key)

    def silence(self, known: Known) -> tuple[str | None, int]:
        """Silent, behind or neither, and up to when windows are flawed by it."""
        allowed = self.rules.silence_factor * known.heartbeat
        if known.closed or known.accepted[-1].cut + allowed >= self.through:
            return None, 0
        cause = "silent" if known.last_arrival + allowed < self.through else "behind"
        until = min(self.through, known.last_arrival + allowed + self.rules.write_off_us)
        return cause, max(known.accepted[-1].cut, until)

    def _standing(self, name: str, known: Known) -> None:
        cause, until = self.silence(known)
        if cause is not None:
            for start, seconds in self._windows(known.accepted[-1].cut, until):
                self.flaws.add((start, seconds, known.scope, name, -1, -1, cause, frozenset()))

    # Sessions.

    def _sessions_of(self, name: str, batch: dict[str, Any], latest: int) -> None:
        def named(event: dict[str, Any]) -> SessionFacts:
            facts = self.sessions.setdefault(event["session_id"], SessionFacts())
            facts.emitters.add(name)
            facts.last_seen = max(facts.last_seen, min(event["occurred_at"], latest))
            return facts

        for opening in batch["session_openings"]:
            facts = named(opening)
            at = min(opening["occurred_at"], latest)
            facts.opened = at if facts.opened is None else min(at, facts.opened)
        for masked in batch["masked_errors"]:
            facts = named(masked)
            facts.masked += 1
            facts.degraded.add(masked["operation_id"])
            proof = facts.proven if masked["equivalence"] == "bit_for_bit" else facts.unproven
            proof.add(masked["operation_id"])
        for fallback in batch["kernel_fallbacks"]:
            if fallback["session_id"] is not None:
                facts = named(fallback)
                facts.fallbacks += 1
                if fallback["operation_id"] is None:
                    facts.anonymous += 1
                else:
                    facts.degraded.add(fallback["operation_id"])
        for teardown in batch["session_teardowns"]:
            named(teardown).teardowns.append(min(teardown["occurred_at"], latest))
        for selection in batch["route_selections"]:
            named(selection).work.selections.append((name, _within(selection, latest)))
        for event in (*batch["delegation_progress"], *batch["delegation_effects"]):
            work, moved = named(event).work, self.emitters[name].moved
            work.told.append(Told(name, _within(event, latest), frozenset(moved)))
            if "outcome" in event:
                moved.update(work.moved_by(event["delegation_id"]))

    def session_lossy(self, facts: SessionFacts) -> bool:
        """Whether events of the session are missing, or may be."""
        begin, end = facts.opened or 0, max(facts.teardowns, default=1 << 62)
        if facts.work.disputed:
            return True
        for name in facts.emitters:
            known = self.emitters[name]
            for left, right in zip(known.accepted, known.accepted[1:], strict=False):
                lossy = set(self.lossy_families(left, right)) - {"route_attempt"}
                if name not in facts.work.selecting():
                    lossy -= {"route_selection"}
                if name not in facts.work.delegating():
                    lossy -= {"delegation_progress", "delegation_effect"}
                # Everything up to its cut is the left one's; where there is but one cut, nobody can tell.
                behind = left.cut < end or left.cut == right.cut == end
                if lossy and begin <= right.cut and behind:
                    return True
            if any(begin <= last and (first < end or first == last == end) for first, last in known.disputed):
                return True
            if self.silence(known)[0] is not None and known.accepted[-1].cut < end:
                return True
        return False

    def session_abandoned(self, facts: SessionFacts) -> bool:
        """Whether nobody who named the session can still end it."""
        names = [self.emitters[name] for name in facts.emitters]
        return not facts.teardowns and all(known.closed or self.silence(known)[0] == "silent" for known in names)


def _within(event: dict[str, Any], latest: int) -> dict[str, Any]:
    """An event not after an instant; what it says of its own end is as long after it as before."""
    by = max(0, event["occurred_at"] - latest)
    moved = event | {"occurred_at": event["occurred_at"] - by}
    if event.get("expires_at") is not None:
        moved["expires_at"] = event["expires_at"] - by
    return moved
