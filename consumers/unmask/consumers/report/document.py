"""A window report as a program reads it: the published shape of its JSON."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from unmask.consumers.report.pipeline import Stage
from unmask.schemas.codes import Evidence

__all__ = ["FORMAT", "Line", "Pipeline", "Stretch", "WindowReport", "json_schema"]

FORMAT = 1
"""Grows when something that programs rely on is taken away or changes its meaning."""
Counts = dict[str, int]
RateState = Literal[
    "COMPLETE", "LOSSY", "PENDING", "ABSENT", "NO_ATTEMPTS", "MIXED_COMPOSITIONS", "NOT_COUNTED",
]  # fmt: skip
Instant = str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Stretch(_Part):
    """A stretch of time."""

    since: Instant
    until: Instant = Field(description="The instant after it.")


class Pipeline(_Part):
    """What state the pipeline was in when the report was made."""

    stage: Stage
    words: str
    fix: str | None = Field(description="What to do; null where nothing has to be done.")
    waiting: int = Field(ge=0, description="Records of hosts that are not counted yet.")
    read_through: Instant | None = Field(description="Up to when everything has been counted; null for never.")


class Line(_Part):
    """The windows of one time and group. A count that is not known, or not kept for the group, is null: not zero."""

    window_start: Instant
    window_end: Instant | None = Field(description="Null for the lifetime window.")
    window_seconds: int = Field(ge=0)
    release_line: str | None = Field(description="Null for all of them; so for the other labels.")
    composition: str | None
    capability: str | None
    reason: str | None
    entry_point: str | None
    tenant: str | None = Field(description="`(unknown)`: without a tenant. `(not divided)`: of no record that is left.")
    state: Evidence = Field(description="The worst of its families' states.")
    states: dict[str, Evidence] = Field(
        description="State by family; of those that only some emitters tell of, only where one did."
    )
    attempts: int | None = Field(ge=0)
    fallbacks_total: int | None = Field(ge=0)
    rate: float | None = Field(
        description="Fallbacks per attempt; only where both families are COMPLETE and there were attempts."
    )
    rate_state: RateState = Field(description="COMPLETE where there is a rate; else why there is none.")
    attempts_by_entry_point: Counts
    fallbacks_by_reason: Counts
    masked_errors: int | None = Field(ge=0)
    masked_errors_by_class: Counts
    teardowns_by_outcome: Counts
    selections: int | None = Field(ge=0, description="Null where nobody tells of selections, or not counted so.")
    selections_by_timeline: Counts = Field(description="By `source.timeline`.")
    delegation_calls: int | None = Field(ge=0, description="Null where nobody tells of delegations' calls.")
    delegation_calls_by_outcome: Counts
    delegation_effects: int | None = Field(ge=0, description="Null where nobody tells of delegations' effects.")
    delegation_effects_by_step: Counts = Field(description="By `enforcer.step`.")
    emitters: int | None = Field(ge=0, description="Witnesses; of several windows, the most that one had.")
    late: int | None = Field(ge=0, description="Events counted after their window had closed.")
    skewed: int | None = Field(ge=0, description="Events from the future, counted at the broker's time.")
    duplicates: int | None = Field(ge=0, description="Batches seen again, and not counted again.")
    quarantined: int | None = Field(ge=0, description="Records that could not be read.")
    losses: Counts = Field(
        description="Events lost, by cause; `missing` without a word of the host, below 0 where another one has more."
    )
    causes: list[str] = Field(description="Why it is not COMPLETE.")
    compositions: int = Field(ge=0, description="How many compositions its attempts and fallbacks are of.")
    windows: dict[str, int] = Field(description="How many windows that were added up are in which state.")
    absent: list[Stretch] = Field(description="When nobody witnessed anything, where several windows are added up.")
    notes: list[str]


class WindowReport(_Part):
    """What `unmask report windows --json` writes. Instants are ISO 8601 in UTC."""

    format: Literal[1]
    generated_at: Instant
    since: Instant
    until: Instant
    granularity_seconds: int = Field(ge=0, description="How long a line's time is; 0 for all time.")
    window_seconds: int = Field(ge=0, description="Size of the windows that are added up for a line.")
    by: list[str]
    pipeline: Pipeline | None = Field(description="Null where it was not looked at.")
    remarks: list[str]
    rows: list[Line]


def json_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a window report."""
    schema = WindowReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
