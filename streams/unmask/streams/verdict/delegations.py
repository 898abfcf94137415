"""One view of each delegation of a session, from what all source partitions know of it, in any order."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unmask.schemas.breaker import Budget, Spent
from unmask.schemas.codes import SignalDoubt

__all__ = ["Delegation", "Refusals", "merge_delegations"]

# They take back what was counted of their signal, so that nothing follows from the counts that are left.
_UNSOUND = (SignalDoubt.UNSTABLE_SIGNAL.value, SignalDoubt.INDISTINCT_SIGNAL.value)
Commit = tuple[int, str | None]
"""Fencing token and receipt of a commit."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """Of one enforcer."""

    count: int
    appealed: int
    vindicated: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """What the stream knows of a delegation in one session. Instants are microseconds."""

    delegation_id: str
    calls: int
    """Calls that were made."""
    spent: Spent
    budget: Budget
    """Of each part the least that was stated anywhere."""
    unchanged: int
    longest_unchanged: int
    tripped: bool
    """Whether the breaker stands open on a partition, and nothing later shows that there was progress elsewhere."""
    trips: int
    false_trips: int
    first_trip_call: int | None
    doubts: Mapping[str, int]
    """Calls on which the breaker abstained, by the reason."""
    committed: int
    repeated_commits: int
    refusals: Mapping[str, Refusals]
    """By enforcer."""
    blocked_turns: int
    longest_blocked: int
    identity_conflicts: int
    """Invocations that two emitters claim."""
    last_step_at: int

    @property
    def refused(self) -> int:
        """Refusals of all enforcers."""
        return sum(refusals.count for refusals in self.refusals.values())


def merge_delegations(parts: Iterable[Mapping[str, Any]]) -> tuple[Delegation, ...]:
    """By identifier, from the session's snapshots, one for each source partition.

    A delegation that goes on elsewhere is counted there anew: counts are added, budgets hold for their sum.
    """
    told: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        for tally in part["delegations"]:
            told.setdefault(tally["delegation_id"], []).append(tally)
    merged = {name: _merged(name, tallies) for name, tallies in sorted(told.items())}
    for name in _share_an_effect(told):
        merged[name] = replace(merged[name], repeated_commits=max(1, merged[name].repeated_commits))
    return tuple(merged.values())


def _merged(name: str, tallies: Sequence[Mapping[str, Any]]) -> Delegation:
    blocked = _blocked(tallies)
    firsts = [tally["first_trip_call"] for tally in tallies if tally["first_trip_call"] is not None]
    return Delegation(
        delegation_id=name,
        calls=_sum(tallies, "calls"),
        spent=Spent(_sum(tallies, "calls"), _sum(tallies, "tokens"), _most(tallies, "highest_attempt")),
        budget=Budget(*(_least(tallies, f"budget_{part}") for part in ("calls", "tokens", "attempts"))),
        unchanged=max(tallies, key=_newest)["unchanged"],
        longest_unchanged=_most(tallies, "longest_unchanged"),
        tripped=_tripped(tallies),
        trips=_sum(tallies, "trips"),
        false_trips=_sum(tallies, "false_trips"),
        first_trip_call=min(firsts, default=None),
        doubts=_doubts(tallies),
        committed=_sum(tallies, "committed"),
        repeated_commits=_sum(tallies, "repeated_commits") + _repeated_between(tallies),
        refusals=_refusals(tallies),
        blocked_turns=blocked,
        longest_blocked=max(blocked, _most(tallies, "longest_blocked")),
        identity_conflicts=_sum(tallies, "identity_conflicts") + _claimed_by_two(tallies),
        last_step_at=_most(tallies, "last_step_at"),
    )


def _sum(tallies: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(tally[name] for tally in tallies)


def _most(tallies: Sequence[Mapping[str, Any]], name: str) -> int:
    return int(max(tally[name] for tally in tallies))


def _least(tallies: Sequence[Mapping[str, Any]], name: str) -> int | None:
    return min((tally[name] for tally in tallies if tally[name] is not None), default=None)


def _newest(tally: Mapping[str, Any]) -> tuple[int, int]:
    return tally["last_step_at"], tally["unchanged"]


def _doubts(tallies: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    doubts: Counter[str] = Counter()
    for tally in tallies:
        doubts.update({str(entry["doubt"]): entry["count"] for entry in tally["doubts"]})
    return dict(sorted(doubts.items()))


def _tripped(tallies: Sequence[Mapping[str, Any]]) -> bool:
    """A trip stands until progress; what was done later on another partition is seen there alone."""
    open_since = max((tally["last_step_at"] for tally in tallies if tally["tripped"]), default=None)
    if open_since is None:
        return False
    return not any(_moved(tally) for tally in tallies if not tally["tripped"] and tally["last_step_at"] > open_since)


def _moved(tally: Mapping[str, Any]) -> bool:
    """Whether something changed there: more calls succeeded than a beginning, a standstill and doubts explain."""
    doubts = _doubts((tally,))
    if any(doubt in doubts for doubt in _UNSOUND):
        return False
    return bool(tally["succeeded"] > 1 + tally["unchanged"] + sum(doubts.values()))


def _blocked(tallies: Sequence[Mapping[str, Any]]) -> int:
    """Turns with a refusal since the last accepted write; which partition had that last is known where none had one."""
    turns = [tally["blocked_turns"] for tally in tallies]
    return max(turns) if any(tally["committed"] for tally in tallies) else sum(turns)


def _refusals(tallies: Sequence[Mapping[str, Any]]) -> dict[str, Refusals]:
    sums: dict[str, Refusals] = {}
    for refusal in (refusal for tally in tallies for refusal in tally["refusals"]):
        known = sums.get(refusal["enforcer"], Refusals(0, 0, 0))
        sums[str(refusal["enforcer"])] = Refusals(
            known.count + refusal["count"],
            known.appealed + refusal["appealed"],
            known.vindicated + refusal["vindicated"],
        )
    return dict(sorted(sums.items()))


def _claimed_by_two(tallies: Sequence[Mapping[str, Any]]) -> int:
    """Invocations of which emitters of different partitions tell: each partition sees one of them."""
    emitters: dict[str, set[str]] = {}
    for tally in tallies:
        for invocation in tally["invocations"]:
            emitters.setdefault(invocation["invocation_id"], set()).add(invocation["emitter_id"])
    return sum(len(claimants) > 1 for claimants in emitters.values()) if len(tallies) > 1 else 0


def _commits(tally: Mapping[str, Any]) -> dict[str, set[Commit]]:
    commits: dict[str, set[Commit]] = {}
    for commit in tally["commits"]:
        commits.setdefault(commit["effect_key"], set()).add((commit["fencing_token"], commit["receipt"]))
    return commits


def _different(commits: set[Commit]) -> int:
    """Commits that are not one: under another token, or under one token with another receipt."""
    bare = {token for token, receipt in commits if receipt is None}
    receipted = {(token, receipt) for token, receipt in commits if receipt is not None}
    # Told once with its receipt and once without, it is one all the same.
    return len(receipted) + len(bare - {token for token, _ in receipted})


def _repeated_between(tallies: Sequence[Mapping[str, Any]]) -> int:
    """Commits of one effect on several partitions that each of them takes for the first."""
    told: dict[str, list[set[Commit]]] = {}
    for tally in tallies:
        for effect, commits in _commits(tally).items():
            told.setdefault(effect, []).append(commits)
    return sum(
        max(0, _different(set().union(*commits)) - 1 - sum(_different(known) - 1 for known in commits))
        for commits in told.values()
    )


def _share_an_effect(told: Mapping[str, Sequence[Mapping[str, Any]]]) -> set[str]:
    """Delegations that committed an effect which another one committed too, under another token or receipt."""
    by_effect: dict[str, dict[str, set[Commit]]] = {}
    for name, tallies in told.items():
        for tally in tallies:
            for effect, commits in _commits(tally).items():
                by_effect.setdefault(effect, {}).setdefault(name, set()).update(commits)
    return {
        name
        for committers in by_effect.values()
        if len(committers) > 1 and _different(set().union(*committers.values())) > 1
        for name in committers
    }
