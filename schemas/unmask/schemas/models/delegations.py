"""Delegations, as hosts tell of them, as partitions know them, and what a verdict says of them."""

from unmask.schemas.codes import CallOutcome, EffectStep, Enforcer, Finding, SignalDoubt
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, Flag, Number, SequenceNumber, Token
from unmask.schemas.models.record import Record

__all__ = [
    "DelegationEffect",
    "DelegationProgress",
    "DelegationTally",
    "Doubt",
    "EffectCommit",
    "Invocation",
    "JudgedDelegation",
    "Refusal",
]


class DelegationProgress(Record):
    """A call of a delegation ended."""

    delegation_id: Token
    session_id: Token
    invocation_id: Token
    occurred_at: Instant
    step: SequenceNumber
    turn: Count
    outcome: CallOutcome
    attempt: SequenceNumber
    tokens: Count
    signal: Token | None = None
    state_digest: Token | None = None
    conditions: Token | None = None
    subject: Token | None = None
    measure: Number | None = None
    declared_scope: Token | None = None
    budget_calls: Count | None = None
    budget_tokens: Count | None = None
    budget_attempts: Count | None = None


class DelegationEffect(Record):
    """What became of an effect that a delegation wanted."""

    delegation_id: Token
    session_id: Token
    invocation_id: Token
    occurred_at: Instant
    turn: Count
    step: EffectStep
    enforcer: Enforcer | None = None
    answer: Token | None = None
    effect_key: Token | None = None
    fingerprint: Token | None = None
    fencing_token: Count | None = None
    receipt: Token | None = None
    by: Token | None = None
    reason_code: Token | None = None


class Invocation(Record):
    """One run of a delegation."""

    invocation_id: Token
    emitter_id: Token


class Doubt(Record):
    """Calls on which the progress breaker abstained."""

    doubt: SignalDoubt
    count: Count


class EffectCommit(Record):
    """An effect that was committed."""

    effect_key: Token
    fencing_token: Count
    receipt: Token | None = None


class Refusal(Record):
    """Refusals by one enforcer."""

    enforcer: Enforcer
    count: Count
    appealed: Count
    vindicated: Count


class DelegationTally(Record):
    """What a partition knows of a delegation that worked in a session."""

    delegation_id: Token
    invocations: tuple[Invocation, ...]
    invocations_total: Count
    calls: Count
    succeeded: Count
    failed: Count
    refused: Count
    tokens: Count
    highest_attempt: Count
    budget_calls: Count | None = None
    budget_tokens: Count | None = None
    budget_attempts: Count | None = None
    unchanged: Count
    longest_unchanged: Count
    tripped: Flag
    trips: Count
    false_trips: Count
    first_trip_call: Count | None = None
    doubts: tuple[Doubt, ...]
    granted: Count
    committed: Count
    released: Count
    commits: tuple[EffectCommit, ...]
    repeated_commits: Count
    refusals: tuple[Refusal, ...]
    blocked_turns: Count
    longest_blocked: Count
    identity_conflicts: Count
    last_step_at: Instant


class JudgedDelegation(Record):
    """A delegation of which something is found."""

    delegation_id: Token
    findings: tuple[Finding, ...]
