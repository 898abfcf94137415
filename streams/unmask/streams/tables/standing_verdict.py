"""What stands on the verdict topic for a session, and whether a new judgement may take its place.

A verdict never gets better because less is known. Snapshots of a session are given up some time after it ended, each
partition's at a time of its own, and a worker may have read less than the one before it.
"""

from dataclasses import dataclass
from typing import Any

from unmask.schemas.codes import Directive, SessionOutcome, VerdictKind
from unmask.streams.tables.standing import content_digest
from unmask.streams.verdict.obligation import rank_of

__all__ = ["StandingVerdict", "may_replace", "next_sequence"]

_KIND_RANK = {VerdictKind.CLEAN_SUCCESS: 0, VerdictKind.DEGRADED_SUCCESS: 1, VerdictKind.HARD_FAILURE: 2}
# A session without a teardown may still get one; what a teardown once said is never unsaid.
_OUTCOME_RANK = {SessionOutcome.UNKNOWN_OUTCOME.value: 1, SessionOutcome.FAILURE.value: 2}


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
        )


def may_replace(standing: StandingVerdict, candidate: StandingVerdict) -> bool:
    """Whether a judgement that says something else may take the place of what stands.

    It may where it rests on all that the other rests on and denies nothing of it; one that rests on less in any place
    may only make things worse, and one that is older altogether may do nothing.
    """
    if candidate.content == standing.content:
        return False
    if _covers(candidate, standing):
        return not _denies(candidate, standing) or _severity(candidate) > _severity(standing)
    return not _covers(standing, candidate) and _severity(candidate) > _severity(standing)


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
        or _OUTCOME_RANK.get(candidate.outcome or "", 0) < _OUTCOME_RANK.get(standing.outcome or "", 0)
    )


def _severity(verdict: StandingVerdict) -> tuple[int, int, int]:
    return (_KIND_RANK[verdict.kind], rank_of(verdict.directive), verdict.degraded_operations)
