"""Delegations as programs read them: the published shape of the JSON."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from unmask.schemas.codes import Evidence, Finding

__all__ = [
    "FORMAT",
    "BreakerPart",
    "BudgetsPart",
    "CommitPart",
    "DelegationLine",
    "DelegationsReport",
    "EffectsPart",
    "InvocationPart",
    "RefusalPart",
    "SpentTurns",
    "json_schema",
]

FORMAT = 1
"""Grows when something that programs rely on is taken away or changes its meaning."""
Instant = str
Count = int


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class InvocationPart(_Part):
    """One run of a delegation."""

    invocation_id: str
    emitter_id: str = Field(description="Who told of it.")


class BudgetsPart(_Part):
    """What it may spend over all invocations; null where a part is not limited."""

    calls: int | None
    tokens: int | None
    attempts: int | None
    over: list[Literal["calls", "tokens", "attempts"]] = Field(
        description="Of which more was spent than there was, over all that is on record."
    )


class BreakerPart(_Part):
    """What the progress breaker says. It advises; it stops nobody."""

    tripped: bool = Field(description="Whether it stands tripped now.")
    trips: int = Field(ge=0)
    false_trips: int = Field(ge=0, description="Trips after which progress was made all the same.")
    first_trip_call: int | None = Field(description="At which call; null where it never tripped, or in several places.")
    unchanged: int = Field(ge=0, description="Calls in a row that succeeded and changed nothing, now.")
    longest_unchanged: int = Field(ge=0, description="The longest such row.")
    abstentions: int = Field(ge=0, description="Calls on which it gave no answer.")
    doubts: dict[str, int] = Field(description="Why it abstained, and on how many calls.")


class CommitPart(_Part):
    """An effect that was committed."""

    effect_key: str
    fencing_token: int
    receipt: str | None


class EffectsPart(_Part):
    """What became of its effects, as its hosts told."""

    granted: int = Field(ge=0)
    committed: int = Field(ge=0, description="Accepted writes.")
    released: int = Field(ge=0)
    repeated_commits: int = Field(ge=0, description="Commits of an effect that had been committed before.")
    duplicated: list[str] = Field(description="Effects that are listed with more than one commit.")
    commits: list[CommitPart] = Field(description="Those that are still listed.")


class RefusalPart(_Part):
    """Refusals by one enforcer, as its hosts told."""

    count: int = Field(ge=0)
    appealed: int = Field(ge=0, description="Held to be wrong by somebody.")
    vindicated: int = Field(ge=0, description="Shown to have been wrong.")


class SpentTurns(_Part):
    """Turns in which it was refused, and none of its writes was accepted."""

    current: int = Field(ge=0, description="Up to its newest step.")
    longest: int = Field(ge=0)


class DelegationLine(_Part):
    """One delegation. Counts are what is on record; `evidence` says what they prove."""

    delegation_id: str
    sessions: list[str] = Field(description="In which it worked.")
    invocations: int = Field(ge=0)
    invocations_listed: list[InvocationPart]
    calls: int = Field(ge=0, description="Calls that were made.")
    succeeded: int = Field(ge=0)
    failed: int = Field(ge=0)
    refused: int = Field(ge=0, description="Calls that were not made: a budget or a guard refused them.")
    tokens: int = Field(ge=0)
    highest_attempt: int = Field(ge=0)
    budgets: BudgetsPart
    breaker: BreakerPart
    effects: EffectsPart
    refusals: dict[str, RefusalPart] = Field(description="By enforcer.")
    turns_without_accepted_write: SpentTurns
    identity_conflicts: int = Field(ge=0)
    findings: list[Finding] | None = Field(description="As verdicts say; null where no session of it is judged yet.")
    findings_over_all: list[Finding] = Field(
        description="What its sessions show together: a verdict judges one session, and a delegation may have several."
    )
    sessions_judged: int = Field(ge=0)
    evidence: Evidence = Field(description="The worst of its sessions' evidence.")
    last_step_at: Instant | None = Field(description="Null where only a verdict tells of it.")


class DelegationsReport(_Part):
    """What `unmask delegations --json` writes. Instants are ISO 8601 in UTC."""

    format: Literal[1]
    answer: Literal["SHOWN", "ABSENT", "UNREADABLE", "NOT_READY"]
    reason: str | None = Field(description="Why there is nothing to show; null with SHOWN.")
    generated_at: Instant
    delegation_id: str | None = Field(description="The one that was asked for.")
    session_id: str | None = Field(description="The session that was asked for.")
    evidence: Evidence = Field(description="ABSENT where nobody tells of delegations.")
    evidence_words: str
    delegations: list[DelegationLine]
    remarks: list[str]


def json_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a delegations report."""
    schema = DelegationsReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
