"""What several snapshots of one delegation say together, where that is not a sum of what each says.

For the tables, which have the snapshots of one session, and for the commands, which have those of all sessions. A
snapshot is a `DelegationTally` of the contract; each tells of calls and effects of which no other one tells.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unmask.schemas.codes import SignalDoubt

__all__ = ["Commit", "different_commits", "is_tripped", "newest_of", "run_claims", "turns_blocked"]

Tally = Mapping[str, Any]
Commit = tuple[int, str | None]
"""Fencing token and receipt of a commit."""

# They take back what was counted of their signal, so that nothing follows from the counts that are left.
_UNSOUND = (SignalDoubt.UNSTABLE_SIGNAL.value, SignalDoubt.INDISTINCT_SIGNAL.value)


def newest_of(tallies: Iterable[Tally]) -> Tally:
    """The one with the newest step; of several the one that stands still for longest. Raises ValueError for none."""
    return max(tallies, key=lambda tally: (tally["last_step_at"], tally["unchanged"]))


def is_tripped(tallies: Sequence[Tally]) -> bool:
    """Whether the breaker stands open somewhere, and nothing later shows that there was progress elsewhere."""
    since = max((tally["last_step_at"] for tally in tallies if tally["tripped"]), default=None)
    if since is None:
        return False
    return not any(_moved(tally) for tally in tallies if not tally["tripped"] and tally["last_step_at"] > since)


def turns_blocked(tallies: Sequence[Tally]) -> int:
    """Turns with a refusal since the last accepted write; which had that last is known where none had one."""
    turns = [tally["blocked_turns"] for tally in tallies]
    return max(turns, default=0) if any(tally["committed"] for tally in tallies) else sum(turns)


def run_claims(runs: Iterable[tuple[str, str]]) -> int:
    """Invocations of which more than one emitter tells, among pairs of both."""
    emitters: dict[str, set[str]] = {}
    for invocation, emitter in runs:
        emitters.setdefault(invocation, set()).add(emitter)
    return sum(len(claimants) > 1 for claimants in emitters.values())


def different_commits(commits: Iterable[Commit]) -> int:
    """Commits of one effect that are not one: under another token, or under one token with another receipt.

    Told once with its receipt and once without, it is one all the same.
    """
    told = set(commits)
    receipted = {(token, receipt) for token, receipt in told if receipt is not None}
    bare = {token for token, receipt in told if receipt is None}
    return len(receipted) + len(bare - {token for token, _ in receipted})


def _moved(tally: Tally) -> bool:
    """Whether something changed there: more calls succeeded than a beginning, a standstill and doubts explain."""
    if any(entry["doubt"] in _UNSOUND for entry in tally["doubts"]):
        return False
    return bool(tally["succeeded"] > 1 + tally["unchanged"] + sum(entry["count"] for entry in tally["doubts"]))
