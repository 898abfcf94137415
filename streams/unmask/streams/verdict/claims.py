"""Claims: what hosts said at the end of a session, and in what it falls short of what the stream saw."""

from dataclasses import dataclass
from typing import Any

from unmask.schemas.codes import Contradiction, Family, SessionOutcome
from unmask.streams.verdict.merge import SessionView

__all__ = ["Claim", "claim_of", "contradictions"]

# The worse word stands, whichever came last.
_OUTCOMES = (SessionOutcome.FAILURE, SessionOutcome.UNKNOWN_OUTCOME, SessionOutcome.SUCCESS)


@dataclass(frozen=True, slots=True)
class Claim:
    """What was claimed of a session at its end."""

    outcome: SessionOutcome
    ended_at: int
    operations: int
    """The newest word of each emitter, over all of them: each counts what it did itself."""
    degraded_operations: int
    """The highest word on it: a clean teardown never takes a degraded one back."""
    all_degraded: int
    """The newest word of each emitter, over all of them."""
    families: dict[str, int] | None
    """Events per family that the hosts counted, over all emitters; None where none said anything."""
    disagree: bool
    """Whether one emitter said two things of the session, or two emitters do not agree on its outcome."""


def claim_of(view: SessionView) -> Claim | None:
    """The claim in a session's teardowns; None without any.

    A session that was resumed on another host is torn down there, and perhaps on the first one too: each tells of what
    it did itself, and contradiction is only what exceeds the sum of the newest words of each.
    """
    if not view.teardowns:
        return None
    newest = view.teardowns[-1]
    by_emitter = {teardown["emitter_id"]: teardown for teardown in view.teardowns}
    said = {SessionOutcome(teardown["outcome"]) for teardown in view.teardowns}
    return Claim(
        outcome=next(outcome for outcome in _OUTCOMES if outcome in said),
        ended_at=newest["occurred_at"],
        operations=sum(teardown["operations"] for teardown in by_emitter.values()),
        degraded_operations=max(teardown["degraded_operations"] for teardown in view.teardowns),
        all_degraded=sum(teardown["degraded_operations"] for teardown in by_emitter.values()),
        families=_families(list(by_emitter.values())),
        disagree=len(said) > 1 or len({_words(teardown) for teardown in view.teardowns}) > len(by_emitter),
    )


def contradictions(view: SessionView, claim: Claim | None) -> list[Contradiction]:
    """In what the claim falls short of the stream's count, in the order of the enum (design, section 6, rule 5)."""
    if claim is None:
        return []
    seen = {Family.MASKED_ERROR: view.masked_errors, Family.KERNEL_FALLBACK: view.fallbacks}
    short = {
        Contradiction.DEGRADED_OPERATIONS: view.degraded_operations > claim.all_degraded,
        Contradiction.OPERATIONS: max(view.degraded_operations, claim.degraded_operations) > claim.operations,
        Contradiction.MASKED_ERRORS: _short(claim, Family.MASKED_ERROR, seen),
        Contradiction.KERNEL_FALLBACKS: _short(claim, Family.KERNEL_FALLBACK, seen),
        Contradiction.TEARDOWNS_DISAGREE: claim.disagree,
    }
    return [contradiction for contradiction, holds in short.items() if holds]


def _short(claim: Claim, family: Family, seen: dict[Family, int]) -> bool:
    return claim.families is not None and claim.families.get(family.value, 0) < seen[family]


def _words(teardown: dict[str, Any]) -> tuple[Any, ...]:
    return (teardown["emitter_id"], teardown["outcome"], teardown["operations"], teardown["degraded_operations"])


def _families(teardowns: list[dict[str, Any]]) -> dict[str, int] | None:
    claims = [claim for teardown in teardowns for claim in teardown["claims"]]
    if not claims:
        return None
    totals: dict[str, int] = {}
    for claim in claims:
        totals[claim["family"]] = totals.get(claim["family"], 0) + claim["count"]
    return totals
