"""What is wrong with a delegation, and whether it still is."""

from unmask.schemas.codes import AlertKind, Finding
from unmask.streams.tables.condition import Condition
from unmask.streams.verdict import Delegation
from unmask.streams.verdict.delegation_rules import delegation_findings, exceeded, is_blocked

__all__ = ["delegation_conditions"]


def delegation_conditions(known: Delegation, blocked_turns: int) -> list[Condition]:
    """STALLED_DELEGATION, BUDGET_EXCEEDED, DUPLICATE_EFFECT, IDENTITY_CONFLICT, ENFORCEMENT_BLOCKED of a delegation.

    A stall ends with progress, a blockade with an accepted write; what was spent, made twice or claimed twice stays so.
    """
    found = delegation_findings(known, blocked_turns)

    def condition(
        kind: AlertKind, facts: dict[str, int], *, holds: bool | None = None, causes: list[str] | None = None
    ) -> Condition:
        held = Finding(kind.value) in found
        return Condition(
            kind=kind,
            since=known.last_step_at,
            until=None if (held if holds is None else holds) else known.last_step_at,
            held=held,
            causes=causes or [],
            facts=facts,
            delegation_id=known.delegation_id,
        )

    return [
        condition(AlertKind.STALLED_DELEGATION, _stall(known)),
        condition(AlertKind.BUDGET_EXCEEDED, _spending(known), causes=[part.value for part in exceeded(known)]),
        condition(
            AlertKind.DUPLICATE_EFFECT,
            {"commits": known.committed, "repeated_commits": known.repeated_commits},
        ),
        condition(AlertKind.IDENTITY_CONFLICT, {"invocations": known.identity_conflicts}),
        condition(
            AlertKind.ENFORCEMENT_BLOCKED,
            _blockade(known),
            holds=is_blocked(known, blocked_turns),
            causes=[enforcer for enforcer, refusals in known.refusals.items() if refusals.count],
        ),
    ]


def _stall(known: Delegation) -> dict[str, int]:
    facts = {
        "calls": known.calls,
        "unchanged": known.unchanged,
        "longest_unchanged": known.longest_unchanged,
        "trips": known.trips,
        "false_trips": known.false_trips,
    }
    if known.first_trip_call is not None:
        facts["first_trip_call"] = known.first_trip_call
    return facts


def _spending(known: Delegation) -> dict[str, int]:
    spent = {"calls": known.spent.calls, "tokens": known.spent.tokens, "highest_attempt": known.spent.attempts}
    return spent | {f"budget_{part}": amount for part, amount in known.budget.to_json().items()}


def _blockade(known: Delegation) -> dict[str, int]:
    return {
        "blocked_turns": known.blocked_turns,
        "longest_blocked": known.longest_blocked,
        "refusals": known.refused,
        "appealed": sum(refusals.appealed for refusals in known.refusals.values()),
        "vindicated": sum(refusals.vindicated for refusals in known.refusals.values()),
        "commits": known.committed,
    }
