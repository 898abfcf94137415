"""What partitions and sessions know of one delegation, put together. Pure.

Each snapshot tells of calls and effects that no other one tells of, so that counts add up. What depends on the order
of calls (how many in a row changed nothing) is known for each snapshot alone: the longest is what is known at least.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.breaker import Budget, BudgetPart, Spent
from unmask.schemas.codes import Enforcer, Finding, SignalDoubt
from unmask.schemas.delegation_tallies import (
    Commit,
    different_commits,
    is_tripped,
    newest_of,
    run_claims,
    turns_blocked,
)

__all__ = ["Delegation", "Part", "Refused", "merged", "parts_of"]

CALIBRATION = "calibration."
"""How the names of what is no delegation begin: with these a host shows that a signal moves."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one snapshot of a session says of a delegation."""

    session_id: str
    tally: Mapping[str, Any]


@dataclass(slots=True)
class Refused:
    """Refusals by one enforcer."""

    count: int = 0
    appealed: int = 0
    vindicated: int = 0


@dataclass(slots=True)
class Delegation:
    """One delegation, over all of its invocations. Instants are microseconds."""

    delegation_id: str
    sessions: set[str] = field(default_factory=set)
    invocations: set[tuple[str, str]] = field(default_factory=set)
    """Those that are listed, each with the emitter that told of it."""
    invocations_unlisted: int = 0
    """How many more there may be."""
    calls: int = 0
    succeeded: int = 0
    failed: int = 0
    refused: int = 0
    tokens: int = 0
    highest_attempt: int = 0
    budget: Budget = field(default_factory=Budget)
    longest_unchanged: int = 0
    trips: int = 0
    false_trips: int = 0
    first_trip_calls: list[int] = field(default_factory=list)
    parts: list[Mapping[str, Any]] = field(default_factory=list)
    """The snapshots, for what is not a sum of them."""
    doubts: Counter[SignalDoubt] = field(default_factory=Counter)
    granted: int = 0
    committed: int = 0
    released: int = 0
    commits: set[tuple[str, int, str | None]] = field(default_factory=set)
    """Effect, fencing token and receipt of those that are listed."""
    repeated_commits: int = 0
    refusals: dict[Enforcer, Refused] = field(default_factory=dict)
    most_blocked: int = 0
    """The most turns without an accepted write that one snapshot knows of."""
    seen_conflicts: int = 0
    """Identities that two lives claim, as single snapshots know."""
    last_step_at: int = 0

    @property
    def over(self) -> tuple[BudgetPart, ...]:
        """Of which part of its budget more was spent than there was, over everything that is on record."""
        return Spent(self.calls, self.tokens, self.highest_attempt).exceeded(self.budget)

    @property
    def found_over_all(self) -> tuple[Finding, ...]:
        """What all of its sessions show together, in the enum's order.

        Not whether it stands still: how the calls of two sessions follow one another, no snapshot tells.
        """
        holds = {
            Finding.BUDGET_EXCEEDED: bool(self.over),
            Finding.DUPLICATE_EFFECT: bool(self.repeated_commits or self.duplicated),
            Finding.IDENTITY_CONFLICT: self.identity_conflicts > 0,
        }
        return tuple(finding for finding, found in holds.items() if found)

    @property
    def identity_conflicts(self) -> int:
        """Identities that two lives claim; of invocations on different partitions each of these sees one claimant."""
        between = run_claims(self.invocations) if len(self.parts) > 1 else 0
        return self.seen_conflicts + between

    @property
    def abstentions(self) -> int:
        """Calls on which the breaker gave no answer."""
        return self.doubts.total()

    @property
    def duplicated(self) -> tuple[str, ...]:
        """Effects that are listed with more than one commit."""
        effects: defaultdict[str, set[Commit]] = defaultdict(set)
        for effect, token, receipt in self.commits:
            effects[effect].add((token, receipt))
        return tuple(sorted(effect for effect, commits in effects.items() if different_commits(commits) > 1))

    @property
    def unchanged(self) -> int:
        """Calls in a row that succeeded and changed nothing, where its newest step was."""
        return int(newest_of(self.parts)["unchanged"]) if self.parts else 0

    @property
    def tripped(self) -> bool:
        """Whether the breaker stands tripped somewhere, and nothing later shows progress elsewhere."""
        return is_tripped(self.parts)

    @property
    def blocked_turns(self) -> int:
        """Turns with a refusal since the last accepted write; where none was accepted, those of all places."""
        return turns_blocked(self.parts)

    @property
    def longest_blocked(self) -> int:
        """The most such turns that are known of."""
        return max(self.blocked_turns, self.most_blocked)

    def add(self, part: Part) -> None:
        """Adds what a further snapshot says."""
        tally = part.tally
        self.sessions.add(part.session_id)
        listed = {(each["invocation_id"], each["emitter_id"]) for each in tally["invocations"]}
        self.invocations |= listed
        self.invocations_unlisted += max(0, tally["invocations_total"] - len(listed))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + tally[name])
        for name in _HIGHEST:
            setattr(self, name, max(getattr(self, name), tally[name]))
        self.budget = self.budget.tightest(
            Budget(tally["budget_calls"], tally["budget_tokens"], tally["budget_attempts"])
        )
        self.parts.append(tally)
        if tally["first_trip_call"] is not None:
            self.first_trip_calls.append(tally["first_trip_call"])
        for doubt in tally["doubts"]:
            self.doubts[SignalDoubt(doubt["doubt"])] += doubt["count"]
        self.commits |= {(one["effect_key"], one["fencing_token"], one["receipt"]) for one in tally["commits"]}
        for refusal in tally["refusals"]:
            found = self.refusals.setdefault(Enforcer(refusal["enforcer"]), Refused())
            found.count += refusal["count"]
            found.appealed += refusal["appealed"]
            found.vindicated += refusal["vindicated"]
        self.seen_conflicts += tally["identity_conflicts"]
        self.most_blocked = max(self.most_blocked, tally["longest_blocked"])
        self.last_step_at = max(self.last_step_at, tally["last_step_at"])


_SUMS = (
    "calls", "succeeded", "failed", "refused", "tokens", "trips", "false_trips", "granted", "committed", "released",
    "repeated_commits",
)  # fmt: skip
_HIGHEST = ("highest_attempt", "longest_unchanged")


def parts_of(tallies: Iterable[Mapping[str, Any]]) -> Iterator[Part]:
    """What snapshots of sessions say of delegations."""
    for tally in tallies:
        for delegation in tally["delegations"]:
            yield Part(tally["session_id"], delegation)


def merged(parts: Iterable[Part]) -> list[Delegation]:
    """The delegations behind the parts, those with the newest steps first; calibrations are none."""
    found: dict[str, Delegation] = {}
    for part in parts:
        name = part.tally["delegation_id"]
        if not name.startswith(CALIBRATION):
            found.setdefault(name, Delegation(name)).add(part)
    return sorted(found.values(), key=lambda delegation: (-delegation.last_step_at, delegation.delegation_id))
