"""One view of a session, from the snapshots of all source partitions that know of it, in any order."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from unmask.schemas.codes import Evidence
from unmask.schemas.scope import Scope
from unmask.streams.verdict.delegations import Delegation, merge_delegations

__all__ = ["SessionView", "merge_tallies"]

_MAX_MASKED = 64
# What makes the whole unproven comes first.
_WORST_FIRST = (Evidence.LOSSY, Evidence.PENDING, Evidence.ABSENT, Evidence.COMPLETE)


@dataclass(frozen=True, slots=True)
class SessionView:
    """What the stream knows of a session. Instants are microseconds."""

    session_id: str
    scope: Scope
    emitters: tuple[str, ...]
    opened_at: int | None
    last_seen_at: int
    predecessor: str | None
    fallbacks: int
    masked_errors: int
    degraded_operations: int
    """Distinct operations that went through a fallback."""
    masked: tuple[dict[str, Any], ...]
    """The first 64, by time."""
    unreachable: int
    exhausted: int
    not_equivalent: int
    shape_drifts: int
    teardowns: tuple[dict[str, Any], ...]
    """All that are known, by time."""
    evidence: Evidence
    """As its source partitions have it, and PENDING while an emitter of it may still tell something of its time."""
    abandoned_at: int | None
    """Where an emitter left the session open, and no emitter that was seen later still has it open or ended it."""
    left_open: bool
    """Whether some emitter left it open before it ended, if it ended at all: what came after is not accounted for."""
    sources: tuple[tuple[int, int], ...]
    """Source partition and the offset before which everything has been taken into account."""
    selections: tuple[dict[str, Any], ...] = ()
    """All that are kept, of every emitter; `unmask.schemas.recovery` puts them in order."""
    selections_cut_through: int | None = None
    """Up to when selections may be missing, since snapshots keep the newest only; None where all are there."""
    told: bool = True
    """Whether no emitter may still tell something of the time up to `last_seen_at`; of an ended session the evidence
    says so."""
    delegations: tuple[Delegation, ...] = ()
    """By identifier."""
    identity_conflicts: tuple[str, ...] = ()
    """Emitters whose identity another life claims too."""

    @property
    def identity_in_doubt(self) -> bool:
        """Whether somebody claims what is somebody else's, so that it is not known who did what."""
        return bool(self.identity_conflicts) or any(known.identity_conflicts for known in self.delegations)

    @property
    def ended(self) -> bool:
        """Whether somebody ended it, or everybody left it."""
        return bool(self.teardowns) or self.abandoned_at is not None


def merge_tallies(tallies: Iterable[dict[str, Any]], accounts: Mapping[int, int] | None = None) -> SessionView:
    """Merges decoded session_tally records of one session: the highest offset of each partition, summed.

    `accounts` says for each source partition up to when all of its live emitters have accounted, as an instant; one
    that is not named has not. Raises ValueError where there are no records.
    """
    newest: dict[int, dict[str, Any]] = {}
    for tally in tallies:
        known = newest.get(tally["partition"])
        if known is None or tally["offset"] >= known["offset"]:
            newest[tally["partition"]] = tally
    if not newest:
        raise ValueError("a session is judged by at least one snapshot of it")
    parts = [newest[partition] for partition in sorted(newest)]
    oldest_first = sorted(parts, key=_beginning)
    teardowns = _teardowns(parts)
    left = [part for part in parts if part["abandoned_at"] is not None]
    ended_at = teardowns[-1]["occurred_at"] if teardowns else None
    return SessionView(
        session_id=parts[0]["session_id"],
        scope=Scope(**oldest_first[0]["scope"]),
        emitters=tuple(sorted({emitter for part in parts for emitter in part["emitters"]})),
        opened_at=min((part["opened_at"] for part in parts if part["opened_at"] is not None), default=None),
        last_seen_at=max(part["last_seen_at"] for part in parts),
        predecessor=next(
            (p["predecessor_session_id"] for p in oldest_first if p["predecessor_session_id"] is not None), None
        ),
        fallbacks=sum(part["fallbacks"] for part in parts),
        masked_errors=sum(part["masked_errors"] for part in parts),
        degraded_operations=_degraded(parts),
        masked=tuple(sorted((m for part in parts for m in part["masked"]), key=_masked_order)[:_MAX_MASKED]),
        unreachable=sum(part["unreachable"] for part in parts),
        exhausted=sum(part["exhausted"] for part in parts),
        not_equivalent=sum(part["not_equivalent"] for part in parts),
        shape_drifts=sum(part["shape_drifts"] for part in parts),
        teardowns=teardowns,
        evidence=_evidence(parts, ended_at, accounts or {}),
        abandoned_at=_abandoned_at(parts, left) if not teardowns else None,
        # Whoever had accounted for all of the session's time when it left owes nothing: another one took it over.
        left_open=any(ended_at is None or part["abandoned_at"] < ended_at for part in left),
        sources=tuple((part["partition"], part["offset"]) for part in parts),
        selections=tuple(selection for part in parts for selection in part["selections"]),
        selections_cut_through=_selections_cut_through(parts),
        told=bool(teardowns) or _told(parts, accounts or {}),
        delegations=merge_delegations(parts),
        identity_conflicts=_claimed_twice(parts),
    )


def _claimed_twice(parts: list[dict[str, Any]]) -> tuple[str, ...]:
    """Emitters that partitions found in dispute, and those of which two partitions know.

    An emitter keeps the partition that it chose at its start, so that on another one somebody else claims its name.
    """
    told = Counter(emitter for part in parts for emitter in set(part["emitters"]))
    between = {emitter for emitter, partitions in told.items() if partitions > 1}
    return tuple(sorted(between.union(*(part["identity_conflicts"] for part in parts))))


def _selections_cut_through(parts: list[dict[str, Any]]) -> int | None:
    kept = [part["selections"] for part in parts if (part["selections_total"] or 0) > len(part["selections"])]
    oldest = [min(selection["occurred_at"] for selection in selections) for selections in kept if selections]
    return max(oldest, default=None)


def _told(parts: list[dict[str, Any]], accounts: Mapping[int, int]) -> bool:
    """Whether all that the session's emitters know of it up to now is known here; one alone tells in order."""
    if len(parts) == 1 and len(parts[0]["emitters"]) <= 1:
        return True
    seen = max(part["last_seen_at"] for part in parts)
    return all(part["abandoned_at"] is not None or accounts.get(part["partition"], -1) >= seen for part in parts)


def _beginning(part: dict[str, Any]) -> tuple[int, int]:
    opened = part["opened_at"]
    return (part["last_seen_at"] if opened is None else opened, part["partition"])


def _masked_order(masked: dict[str, Any]) -> tuple[Any, ...]:
    return (masked["occurred_at"], masked["operation_id"], masked["upstream"], masked["masked_upstream_signature"])


def _degraded(parts: list[dict[str, Any]]) -> int:
    """Distinct over all partitions as far as they are listed; what is not listed is not taken to be the same."""
    listed = {operation for part in parts for operation in part["degraded_operations"]}
    unlisted = sum(max(0, part["degraded_operations_total"] - len(set(part["degraded_operations"]))) for part in parts)
    return int(len(listed) + unlisted)


def _teardowns(parts: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    distinct: list[dict[str, Any]] = []
    for part in parts:
        distinct.extend(teardown for teardown in part["teardowns"] if teardown not in distinct)
    return tuple(sorted(distinct, key=lambda t: (t["occurred_at"], t["emitter_id"], t["outcome"], t["operations"])))


def _evidence(parts: list[dict[str, Any]], ended_at: int | None, accounts: Mapping[int, int]) -> Evidence:
    states = {Evidence(part["evidence"]) for part in parts}
    if ended_at is not None and any(_owes(part, ended_at, accounts.get(part["partition"])) for part in parts):
        states.add(Evidence.PENDING)
    return next(state for state in _WORST_FIRST if state in states)


def _owes(part: dict[str, Any], ended_at: int, accounted: int | None) -> bool:
    """Whether emitters of the session on this partition may still tell something of its time.

    Whoever ended it has told everything. Others have once they sent a batch that was cut after its end; one that ended
    nothing and still speaks of it after that end goes on with it.
    """
    if part["abandoned_at"] is not None:
        return False
    if not part["teardowns"] and part["last_seen_at"] > ended_at:
        return True
    enders = {teardown["emitter_id"] for teardown in part["teardowns"]}
    return not enders.issuperset(part["emitters"]) and (accounted is None or accounted < ended_at)


def _abandoned_at(parts: list[dict[str, Any]], left: list[dict[str, Any]]) -> int | None:
    if not left:
        return None
    # An emitter on another partition took the session up and still has it: its end is yet to come.
    if any(p["abandoned_at"] is None and p["last_seen_at"] > max(q["last_seen_at"] for q in left) for p in parts):
        return None
    return int(max(part["abandoned_at"] for part in left))
