"""Whether the stream knows more of a session than its verdict says: then the verdict is from before and proves nothing.

The ledger publishes what it has seen of a session in the very transaction that counts it; the verdict follows. Where
the worker that judges is slow, paused or gone, the verdict that stands may be from before the session's last teardown.
Instants alone do not tell: another host's clock may be behind, and its later word bears an earlier time.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from unmask.consumers.gate.verdict_facts import VerdictFacts
from unmask.schemas.codes import Evidence, SessionOutcome, VerdictKind

__all__ = ["outdated"]


def outdated(facts: VerdictFacts, snapshots: Iterable[Mapping[str, Any]]) -> str | None:
    """What the verdict does not know yet, as half a sentence; None where it knows all that the snapshots tell.

    `snapshots` are the decoded session_tally records of all source partitions.
    """
    known = list(snapshots)
    newest = max((teardown["occurred_at"] for part in known for teardown in part["teardowns"]), default=None)
    if newest is not None and newest > facts.ended_at:
        return "it has ended again since"
    if any(_goes_on(part, facts.ended_at) for part in known):
        return "it goes on"
    if not facts.emitters_cut and not all(facts.emitters.issuperset(part["emitters"]) for part in known):
        return "another host took part in it"
    if facts.outcome_claimed is SessionOutcome.SUCCESS and any(map(_failed, known)):
        return "a host says that it failed"
    if any(_degraded(part) > facts.degraded_operations for part in known):
        return "more of its operations were degraded"
    if sum(part["masked_errors"] for part in known) > len(facts.masked) + facts.masked_cut:
        return "more of its upstreams' errors were masked"
    if facts.kind is VerdictKind.CLEAN_SUCCESS and any(part["fallbacks"] for part in known):
        return "operations of it went through a fallback"
    if facts.evidence is Evidence.COMPLETE and any(part["evidence"] != Evidence.COMPLETE for part in known):
        return "events of it are missing"
    return None


def _failed(part: Mapping[str, Any]) -> bool:
    return any(teardown["outcome"] != SessionOutcome.SUCCESS for teardown in part["teardowns"])


def _degraded(part: Mapping[str, Any]) -> int:
    """At least so many, by what was seen and by what was claimed."""
    claimed = (teardown["degraded_operations"] for teardown in part["teardowns"])
    return int(max(part["degraded_operations_total"], *claimed, 0))


def _goes_on(part: Mapping[str, Any], ended_at: int) -> bool:
    return not part["teardowns"] and part["abandoned_at"] is None and part["last_seen_at"] > ended_at
