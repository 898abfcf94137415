"""What stands on the verdict topic for a session, and whether a new judgement may take its place.

A verdict never gets better because less is known. Snapshots of a session are given up some time after it ended, each
partition's at a time of its own, and a worker may have read less than the one before it.
"""

from dataclasses import dataclass
from typing import Any

from unmask.schemas.codes import Directive, Finding, SessionOutcome, VerdictKind
from unmask.streams.tables.standing import content_digest
from unmask.streams.verdict.obligation import rank_of

__all__ = ["StandingVerdict", "may_replace", "next_sequence"]

_KIND_RANK = {VerdictKind.CLEAN_SUCCESS: 0, VerdictKind.DEGRADED_SUCCESS: 1, VerdictKind.HARD_FAILURE: 2}
# A session without a teardown may still get one; what a teardown once said is never unsaid.
_OUTCOME_RANK = {SessionOutcome.UNKNOWN_OUTCOME.value: 1, SessionOutcome.FAILURE.value: 2}
# What was seen once; that later snapshots keep less of it (their lists are bounded) takes nothing back.
_SETTLED = frozenset(
    finding.value for finding in (Finding.BUDGET_EXCEEDED, Finding.DUPLICATE_EFFECT, Finding.IDENTITY_CONFLICT)
)


@dataclass(frozen=True, slots=True)
class StandingVerdict:
    """As much of a verdict as is kept of it."""

    content: bytes
    """A digest over what it says, whatever it rests on and whoever published it."""
    digest: str
    sequence: int
    sources: tuple[tuple[int, int], ...]
    """Source partition to the offset before which everything was known."""
    kind: VerdictKind
    directive: Directive
    outcome: str | None
    degraded_operations: int
    masked: int
    inherited_from: tuple[str, ...]
    inherited_cut: int
    settled: frozenset[str]
    """Findings that nothing later can take back."""

    @classmethod
    def of(cls, record: dict[str, Any]) -> "StandingVerdict":
        """What is kept of a decoded verdict."""
        return cls(
            content=content_digest(record, "sources", "digest", "signature", "writer", "sequence"),
            digest=record["digest"],
            sequence=record["sequence"],
            sources=tuple((source["partition"], source["offset"]) for source in record["sources"]),
            kind=VerdictKind(record["verdict"]),
            directive=Directive(record["directive"]),
            outcome=record["outcome_claimed"],
            degraded_operations=record["degraded_operations"],
            masked=len(record["masked"]) + record["masked_cut"],
            inherited_from=tuple(record["inherited_from"]),
            inherited_cut=record["inherited_cut"],
            settled=_SETTLED.intersection(record["findings"]),
        )


def may_replace(standing: StandingVerdict, candidate: StandingVerdict) -> bool:
    """Whether a judgement that says something else may take the place of what stands.

    It may where it rests on all that the other rests on and denies nothing of it; one that rests on less in any place
    may only make things worse, and one that is older altogether may do nothing.
    """
    if candidate.content == standing.content:
        return False
    if _covers(candidate, standing):
        return not _denies(candidate, standing) or _is_worse(candidate, standing)
    return not _covers(standing, candidate) and _is_worse(candidate, standing)


def next_sequence(standing: StandingVerdict | None, now: int) -> int:
    """The number of the next verdict of a session; `now` in microseconds is where a session's numbers begin.

    Only the first number is a clock's: a worker that wakes from a long pause goes on with an old number and so cannot
    pass for newer than whoever took its place, and one that knows of no earlier verdict still numbers beyond it.
    """
    return now if standing is None else standing.sequence + 1


def _covers(one: StandingVerdict, other: StandingVerdict) -> bool:
    known = dict(one.sources)
    return all(known.get(partition, -1) >= offset for partition, offset in other.sources)


def _denies(candidate: StandingVerdict, standing: StandingVerdict) -> bool:
    """Whether something that was counted or said once is gone, which the log itself never takes back."""
    return (
        candidate.degraded_operations < standing.degraded_operations
        or candidate.masked < standing.masked
        or not candidate.settled >= standing.settled
        or _OUTCOME_RANK.get(candidate.outcome or "", 0) < _OUTCOME_RANK.get(standing.outcome or "", 0)
    )


def _is_worse(candidate: StandingVerdict, standing: StandingVerdict) -> bool:
    """By what it makes of the session; where that is the same, by what it counts, if it finds all that is settled."""
    ranks = [(_KIND_RANK[verdict.kind], rank_of(verdict.directive)) for verdict in (candidate, standing)]
    if ranks[0] != ranks[1]:
        return ranks[0] > ranks[1]
    counts = [(verdict.degraded_operations, len(verdict.settled)) for verdict in (candidate, standing)]
    return candidate.settled >= standing.settled and counts[0] > counts[1]
