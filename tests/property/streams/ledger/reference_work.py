"""What a session's selections and delegations come to, computed from the list of all that was told of them.

Every figure is a loop over that list, in the order of the log. The breaker alone is the one that hosts and the ledger
share, run over all calls from the first.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unmask.schemas.breaker import BreakerState, Step, advance

__all__ = ["Told", "WorkFacts", "expected_work"]

_COPIED = (
    "occurred_at", "turn", "profile", "source", "scope", "timeline", "cleared_by", "reason_code", "emergency",
    "expires_at",
)  # fmt: skip


class Told(NamedTuple):
    """A call or an effect of a delegation, and which signals its emitter had seen to move before."""

    emitter: str
    event: dict[str, Any]
    moved: frozenset[str]


@dataclass
class WorkFacts:
    """All that was told of one session's work."""

    selections: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    disputed: set[str] = field(default_factory=set)

    def selecting(self) -> set[str]:
        return {emitter for emitter, _ in self.selections}

    def delegating(self) -> set[str]:
        return {told.emitter for told in self.told}

    def moved_by(self, delegation: str) -> tuple[str, ...]:
        """Signals that were seen to move in a delegation."""
        return _breaker(self._of(delegation)).moved

    def _of(self, delegation: str) -> list[Told]:
        return [told for told in self.told if told.event["delegation_id"] == delegation]


def expected_work(facts: WorkFacts) -> dict[str, Any]:
    """What a session tally says of it."""
    ordered = sorted(facts.selections, key=lambda item: item[1]["occurred_at"])
    commits = _commits(facts.told)
    names = list(dict.fromkeys(told.event["delegation_id"] for told in facts.told))
    return {
        "selections": [{"emitter_id": emitter, **{n: event[n] for n in _COPIED}} for emitter, event in ordered],
        "selections_total": len(ordered) or None,
        "delegations": {name: _delegation(facts._of(name), commits[name]) for name in names},
        "identity_conflicts": sorted(facts.disputed),
    }


def _delegation(told: list[Told], commits: tuple[int, int, list[dict[str, Any]]]) -> dict[str, Any]:
    calls = [one.event for one in told if "outcome" in one.event]
    effects = [one.event for one in told if "step" in one.event and "outcome" not in one.event]
    made = [call for call in calls if call["outcome"] != "refused"]
    breaker = _breaker(told)
    steps = Counter(effect["step"] for effect in effects)
    runs: dict[str, set[str]] = {}
    for emitter, event, _ in told:
        if event["step"] not in ("appealed", "vindicated"):
            runs.setdefault(event["invocation_id"], set()).add(emitter)
    enforcers = {e["enforcer"] or "unknown_enforcer" for e in effects if e["step"] in _OF_REFUSALS}
    return {
        "invocations": set(runs),
        "invocations_total": len(runs),
        "identity_conflicts": sum(len(emitters) > 1 for emitters in runs.values()),
        "calls": len(made),
        "succeeded": sum(call["outcome"] == "succeeded" for call in calls),
        "failed": sum(call["outcome"] == "failed" for call in calls),
        "refused": len(calls) - len(made),
        "tokens": sum(call["tokens"] for call in made),
        "highest_attempt": max((call["attempt"] for call in made), default=0),
        **{
            name: min((call[name] for call in calls if call[name] is not None), default=None)
            for name in ("budget_calls", "budget_tokens", "budget_attempts")
        },
        "unchanged": breaker.unchanged,
        "longest_unchanged": breaker.longest_unchanged,
        "tripped": breaker.tripped,
        "trips": breaker.trips,
        "false_trips": breaker.false_trips,
        "first_trip_call": breaker.first_trip_call,
        "doubts": {doubt.value: count for doubt, count in breaker.doubts},
        "granted": steps["granted"],
        "released": steps["released"],
        "committed": commits[0],
        "repeated_commits": commits[1],
        "commits": commits[2],
        "refusals": {
            enforcer: tuple(
                sum(e["step"] == step and (e["enforcer"] or "unknown_enforcer") == enforcer for e in effects)
                for step in _OF_REFUSALS
            )
            for enforcer in enforcers
        },
        "blocked_turns": _blocked(effects),
        "longest_blocked": max((_blocked(effects[:n]) for n in range(len(effects) + 1)), default=0),
        "last_step_at": max(event["occurred_at"] for _, event, _ in told),
    }


_OF_REFUSALS = ("refused", "appealed", "vindicated")


def _breaker(told: list[Told]) -> BreakerState:
    state = BreakerState()
    for _, event, moved in told:
        if "outcome" in event:
            state, _ = advance(state, Step.of(event), moved)
    return state


def _blocked(effects: list[dict[str, Any]]) -> int:
    """Turns with a refusal that no accepted write followed; outside of turns each refusal is one."""
    turns: set[object] = set()
    for place, effect in enumerate(effects):
        if effect["step"] != "refused":
            continue
        at = effect["occurred_at"]
        written = [(other, e["occurred_at"]) for other, e in enumerate(effects) if e["step"] == "committed"]
        if not any(then > at or (then == at and other > place) for other, then in written):
            turns.add(effect["turn"] or ("no turn", place))
    return len(turns)


def _commits(told: list[Told]) -> dict[str, tuple[int, int, list[dict[str, Any]]]]:
    """Per delegation: accepted writes, how many of them were made before, and which they are."""
    known: list[list[Any]] = []  # delegation, key, token, receipt
    found = {one.event["delegation_id"]: [0, 0] for one in told}
    for _, event, _ in told:
        if event["step"] != "committed" or "outcome" in event:
            continue
        name, key = event["delegation_id"], event["effect_key"]
        token, receipt = event["fencing_token"] or 0, event["receipt"]
        earlier = [commit for commit in known if key is not None and commit[1] == key]
        nothing_said = token == 0 and receipt is None
        same = [c for c in earlier if c[2] == token and (c[3] == receipt or None in (c[3], receipt))]
        if same and not nothing_said:
            for commit in same:
                if commit[0] == name and commit[3] is None:
                    commit[3] = receipt
                    break
            continue
        found[name][0] += 1
        found[name][1] += any(commit[2:] != [token, receipt] for commit in earlier)
        if key is not None and [name, key, token, receipt] not in known:
            known.append([name, key, token, receipt])
    return {
        name: (
            committed,
            repeated,
            [{"effect_key": k, "fencing_token": t, "receipt": r} for of, k, t, r in known if of == name],
        )
        for name, (committed, repeated) in found.items()
    }
