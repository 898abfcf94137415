"""One view of each delegation of a session, from what all source partitions know of it, in any order."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unmask.schemas.breaker import Budget, Spent
from unmask.schemas.delegation_tallies import (
    Commit,
    different_commits,
    is_tripped,
    newest_of,
    run_claims,
    turns_blocked,
)

__all__ = ["Delegation", "Refusals", "merge_delegations"]


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
    blocked = turns_blocked(tallies)
    firsts = [tally["first_trip_call"] for tally in tallies if tally["first_trip_call"] is not None]
    return Delegation(
        delegation_id=name,
        calls=_sum(tallies, "calls"),
        spent=Spent(_sum(tallies, "calls"), _sum(tallies, "tokens"), _most(tallies, "highest_attempt")),
        budget=Budget(*(_least(tallies, f"budget_{part}") for part in ("calls", "tokens", "attempts"))),
        unchanged=newest_of(tallies)["unchanged"],
        longest_unchanged=_most(tallies, "longest_unchanged"),
        tripped=is_tripped(tallies),
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


def _doubts(tallies: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    doubts: Counter[str] = Counter()
    for tally in tallies:
        doubts.update({str(entry["doubt"]): entry["count"] for entry in tally["doubts"]})
    return dict(sorted(doubts.items()))


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
    if len(tallies) < 2:
        return 0
    return run_claims((run["invocation_id"], run["emitter_id"]) for tally in tallies for run in tally["invocations"])


def _commits(tally: Mapping[str, Any]) -> dict[str, set[Commit]]:
    commits: dict[str, set[Commit]] = {}
    for commit in tally["commits"]:
        commits.setdefault(commit["effect_key"], set()).add((commit["fencing_token"], commit["receipt"]))
    return commits


def _repeated_between(tallies: Sequence[Mapping[str, Any]]) -> int:
    """Commits of one effect on several partitions that each of them takes for the first."""
    told: dict[str, list[set[Commit]]] = {}
    for tally in tallies:
        for effect, commits in _commits(tally).items():
            told.setdefault(effect, []).append(commits)
    return sum(
        max(0, different_commits(set().union(*commits)) - 1 - sum(different_commits(known) - 1 for known in commits))
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
        if len(committers) > 1 and different_commits(set().union(*committers.values())) > 1
        for name in committers
    }
