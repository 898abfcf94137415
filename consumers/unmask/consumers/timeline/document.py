"""A session's timelines as a program reads them: the published shape of the JSON."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from unmask.consumers.delegations.document import DelegationLine
from unmask.schemas.codes import (
    ClearedBy,
    Directive,
    Evidence,
    Finding,
    ReasonCode,
    RecoveryState,
    SelectionScope,
    SelectionSource,
    SelectionTimeline,
    VerdictKind,
)

__all__ = [
    "FORMAT",
    "DelegationsPart",
    "MomentPart",
    "RecoveryPart",
    "SelectionsPart",
    "SessionPart",
    "Timeline",
    "TurnsPart",
    "VerdictPart",
    "json_schema",
]

FORMAT = 1
"""Grows when something that programs rely on is taken away or changes its meaning."""
Instant = str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TurnsPart(_Part):
    """The turns that were asked for."""

    first: int | None = Field(description="Null: from the beginning.")
    last: int | None = Field(description="Null: to the end.")


class SessionPart(_Part):
    """The session as a whole."""

    state: Literal["RUNNING", "ENDED", "ABANDONED", "FORGOTTEN"] = Field(
        description="FORGOTTEN: the stream keeps no snapshot of it any more, and only its verdict tells of it."
    )
    opened_at: Instant | None
    ended_at: Instant | None
    last_seen_at: Instant | None = Field(description="Its newest event that is known.")
    evidence: Evidence = Field(description="What is proven of the session.")
    evidence_words: str
    emitters: list[str]
    identity_conflicts: list[str] = Field(description="Emitters whose id or batch number came with other content.")
    sources: dict[str, int] = Field(description="By source partition: the snapshot is true below this offset.")


class VerdictPart(_Part):
    """The session's verdict, once there is one."""

    believed: bool = Field(description="False where the record cannot be verified; then nothing of it is told.")
    withdrawn: bool
    flaw: str | None = Field(description="Why it is not believed.")
    verdict: VerdictKind | None
    directive: Directive | None
    evidence: Evidence | None
    findings: list[Finding]
    user_profile: str | None = Field(description="What the user chose last, as the verdict says.")
    digest: str | None


class MomentPart(_Part):
    """One selection, and what is in force after it."""

    turn: int
    at: Instant
    timeline: SelectionTimeline
    profile: str
    source: SelectionSource
    scope: SelectionScope
    cleared_by: ClearedBy | None
    reason_code: ReasonCode | None
    emergency: bool
    expires_at: Instant | None
    emitter_id: str
    live: str | None = Field(description="The profile in force on the live timeline, after it.")
    persisted: str | None = Field(description="The profile that stands written down, after it.")
    persisted_source: SelectionSource | None
    recovery: int | None = Field(description="Number of the recovery that it belongs to.")


class RecoveryPart(_Part):
    """An automatic choice from what made it necessary to its end."""

    number: int = Field(ge=1, description="1, 2, 3 ... of the session, by when they began.")
    profile: str
    source: SelectionSource | None = Field(description="Null where only the verdict tells of it.")
    scope: SelectionScope
    emergency: bool
    began_at: Instant
    turn: int
    reason_code: ReasonCode | None = Field(description="Null where nobody stated a fault.")
    persisted_at: Instant | None
    state: RecoveryState
    ended_at: Instant | None = Field(description="Null while it is open, and where it ended with its turn.")
    ended_turn: int | None
    cleared_by: ClearedBy | None
    findings: list[Finding]
    words: str = Field(description="Its life in a sentence.")


class SelectionsPart(_Part):
    """The three timelines over one another."""

    evidence: Evidence = Field(description="ABSENT where nobody tells of selections.")
    evidence_words: str
    on_record: int = Field(ge=0, description="Selections that are kept, of all turns.")
    total: int | None = Field(description="How many there were; null where none is known.")
    moments: list[MomentPart] = Field(description="Those of the turns that were asked for, in order.")


class DelegationsPart(_Part):
    """Delegations that worked in the session; of each only what it did there."""

    evidence: Evidence = Field(description="ABSENT where nobody tells of delegations.")
    evidence_words: str
    delegations: list[DelegationLine]


class Timeline(_Part):
    """What `unmask timeline --json` writes. Instants are ISO 8601 in UTC."""

    format: Literal[1]
    answer: Literal["SHOWN", "ABSENT", "UNREADABLE", "NOT_READY"]
    reason: str | None = Field(description="Why there is nothing to show; null with SHOWN.")
    session_id: str
    generated_at: Instant
    turns: TurnsPart | None = Field(description="Null where all turns are shown.")
    session: SessionPart | None
    verdict: VerdictPart | None = Field(description="Null before there is one.")
    selections: SelectionsPart | None
    recoveries: list[RecoveryPart] = Field(description="Those that touch the turns that were asked for.")
    findings: list[Finding] = Field(description="What the selections show now, of all turns.")
    user_profile: str | None = Field(description="What the user chose last, as the selections show now.")
    delegations: DelegationsPart | None


def json_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a timeline."""
    schema = Timeline.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
