"""Enforcement as programs read it: the published shape of the JSON. Each part says where it is from."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "FORMAT",
    "AnswerPart",
    "BreakerPart",
    "DecisionsPart",
    "EffectsPart",
    "EnforcementReport",
    "GatePart",
    "Origin",
    "RefusalsPart",
    "SaidPart",
    "TurnsPart",
    "WaitingDelegation",
    "json_schema",
]

FORMAT = 1
"""Grows when something that programs rely on is taken away or changes its meaning."""
Instant = str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Origin(_Part):
    """Where numbers are from, and what they prove."""

    topic: str
    kept_days: int | None = Field(description="For how long the topic keeps records; null: the newest of each key.")
    oldest: Instant | None = Field(description="Time of the oldest record that was read; null where there is none.")
    records: int = Field(ge=0, description="Records that were read.")
    unusable: int = Field(ge=0, description="Records that could not be read or believed; they count for nothing.")
    proves: str


class SaidPart(_Part):
    """Who said something of a refusal, and why."""

    by: str
    reason_code: str
    count: int = Field(ge=1)


class AnswerPart(_Part):
    """What became of refusals with one answer."""

    refused: int = Field(ge=0)
    appealed: int = Field(ge=0)
    vindicated: int = Field(ge=0, description="Shown to have been wrong: false refusals.")


class RefusalsPart(_Part):
    """Refusals by one enforcer."""

    refused: int = Field(ge=0)
    appealed: int = Field(ge=0)
    vindicated: int = Field(ge=0, description="Shown to have been wrong: false refusals.")
    by_answer: dict[str, AnswerPart]
    appeals: list[SaidPart]
    vindications: list[SaidPart]


class GatePart(_Part):
    """The gate, as it recorded itself and as hosts tell."""

    questions: int = Field(ge=0)
    recorded: RefusalsPart
    overridden: int = Field(ge=0, description="Questions after which an operator let the successor pass.")
    overrides: list[SaidPart]
    refusals_upheld: float | None = Field(
        description="Of the refusals that were shown right or wrong, the share that was right; null where none was."
    )
    origin: Origin
    told: RefusalsPart = Field(description="As hosts tell of refusals of delegations; see `hosts`.")


class BreakerPart(_Part):
    """The progress breaker. It advises; what is refused on its advice the host refuses itself."""

    told: RefusalsPart = Field(description="As hosts tell; see `hosts`.")
    trips: int = Field(ge=0)
    false_trips: int = Field(ge=0, description="Trips after which progress was made all the same.")
    tripped_now: int = Field(ge=0, description="Delegations that stand tripped.")
    abstentions: int = Field(ge=0, description="Calls on which it gave no answer.")
    abstentions_by_reason: dict[str, int]
    origin: Origin = Field(description="Of trips and abstentions.")


class DecisionsPart(_Part):
    """The effects ledger's own decisions."""

    claims: int = Field(ge=0)
    granted: int = Field(ge=0)
    refused: int = Field(ge=0)
    by_answer: dict[str, int]
    abstained_by_reason: dict[str, int]
    fenced: int = Field(ge=0, description="Commits, releases and renewals of whoever no longer held the lease.")
    origin: Origin


class EffectsPart(_Part):
    """The effects ledger, as it recorded itself and as hosts tell."""

    decided: DecisionsPart | None = Field(description="Null where its decisions could not be read.")
    told: RefusalsPart = Field(description="As hosts tell; see `hosts`.")


class WaitingDelegation(_Part):
    """A delegation that was refused."""

    delegation_id: str
    sessions: list[str]
    current: int = Field(ge=0, description="Turns since its last accepted write, up to its newest step.")
    longest: int = Field(ge=0)


class TurnsPart(_Part):
    """Turns that refused delegations spent without an accepted write."""

    current: int = Field(ge=0, description="The most that a delegation has spent by now.")
    longest: int = Field(ge=0, description="The most that one ever spent.")
    delegations: list[WaitingDelegation] = Field(description="Those with any, the longest first.")
    origin: Origin


class EnforcementReport(_Part):
    """What `unmask enforcement --json` writes. Instants are ISO 8601 in UTC."""

    format: Literal[1]
    generated_at: Instant
    gate: GatePart
    breaker: BreakerPart
    effects: EffectsPart
    hosts: Origin = Field(description="Where everything under `told` is from.")
    turns_without_accepted_write: TurnsPart
    remarks: list[str]


def json_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of an enforcement report."""
    schema = EnforcementReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
