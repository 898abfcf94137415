"""The page as values: the form of the JSON answers, and all that the HTML is made from.

Fields may be added; `schema_version` grows when one goes or changes its meaning. Instants are UTC.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from unmask.schemas.codes import (
    AdmissionAnswer,
    AdmissionStep,
    AlertKind,
    AlertState,
    ClearedBy,
    Directive,
    Evidence,
    ReasonCode,
    RecoveryState,
    SelectionScope,
    SelectionSource,
    SelectionTimeline,
    SessionOutcome,
    VerdictKind,
)
from unmask.schemas.instants import Instant

__all__ = [
    "AdmissionLine",
    "AlertLine",
    "Answer",
    "Condition",
    "ConditionState",
    "DelegationLine",
    "EmitterLine",
    "EmitterState",
    "GroupLine",
    "MaskedLine",
    "OverviewAnswer",
    "PartLine",
    "PartitionLine",
    "PartitionState",
    "RecoveryLine",
    "RefusalLine",
    "SelectionLine",
    "SessionAnswer",
    "SessionDetail",
    "SessionLine",
    "SizeLine",
    "TotalLine",
    "WindowAnswer",
    "WindowLine",
    "WorkersAnswer",
]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class ConditionState(StrEnum):
    """How the pipeline is, as a whole."""

    BROKEN = "BROKEN"
    """Something does not work, and does not come right by itself."""
    LAGGING = "LAGGING"
    """Everything works, and is behind."""
    STARTING = "STARTING"
    """Parts are not there yet."""
    EMPTY = "EMPTY"
    """Everything works, and nothing has ever been counted."""
    QUIET = "QUIET"
    """Everything works, and no host sends anything."""
    COUNTING = "COUNTING"
    """Everything works."""


class Condition(_Value):
    """The pipeline's condition in words."""

    state: ConditionState
    """BROKEN, LAGGING, STARTING, EMPTY, QUIET or COUNTING: the first of these that holds."""
    sentences: tuple[str, ...]
    """Why, and what to do; the most important first."""


class WindowLine(_Value):
    """A window of one label set, with what its counts prove; named as in `unmask report windows --json`."""

    window_start: Instant
    """Where it begins."""
    window_end: Instant
    """Where it ends (exclusive)."""
    window_seconds: int
    """Its size."""
    release_line: str | None
    """Null: all."""
    composition: str | None
    """Digest of the composition; null: all."""
    capability: str | None
    """Null: all."""
    over: bool
    """Whether its end has passed, by the worker's clock."""
    state: Evidence
    """The worst of its families' evidence."""
    states: dict[str, str]
    """Evidence by family."""
    attempts: int | None
    """Null where nothing was witnessed."""
    fallbacks_total: int | None
    """Null where nothing was witnessed."""
    rate: float | None
    """Fallbacks per attempt; only where both are COMPLETE, of one composition, and there were attempts."""
    rate_state: str
    """COMPLETE where there is a rate; else why there is none."""
    fallbacks_by_reason: dict[str, int]
    """By reason code."""
    masked_errors: int | None
    """Null where nothing was witnessed, or where it is not counted by capability."""
    masked_errors_by_class: dict[str, int]
    """By upstream class."""
    teardowns_by_outcome: dict[str, int]
    """Sessions that ended."""
    emitters: int | None
    """Witnesses."""
    late: int | None
    """Events counted after the window had closed."""
    skewed: int | None
    """Events from the future."""
    duplicates: int | None
    """Batches seen again."""
    quarantined: int | None
    """Records that could not be read."""
    causes: tuple[str, ...]
    """Why evidence is not complete."""
    losses: dict[str, int]
    """Events that are lost: dropped by hosts, by cause, and `missing` without a word."""


class SizeLine(_Value):
    """All windows of one size that are remembered, oldest first."""

    window_seconds: int
    """Their size."""
    windows: tuple[WindowLine, ...]
    """Each as a whole, over all release lines, compositions and capabilities."""


class TotalLine(_Value):
    """What was counted of a capability since the beginning, over all release lines and compositions."""

    capability: str
    """Its name."""
    attempts: int
    """Route attempts."""
    fallbacks: int
    """Fallbacks."""
    fallbacks_by_reason: dict[str, int]
    """By reason code."""


class SessionLine(_Value):
    """A session, with its verdict once there is one."""

    session_id: str
    """As it was published: a token, or the digest of what was none."""
    verdict: VerdictKind | None
    """Null while it runs, after a withdrawal, and where the record cannot be believed."""
    directive: Directive | None
    """What a successor must do first."""
    open: bool
    """Whether there is a directive that nobody has carried out."""
    discharged_at: Instant | None
    """When it was carried out, or an operator let a successor pass."""
    withdrawn: bool
    """Whether an operator withdrew the verdict."""
    flaw: str | None
    """Why the record under this session is not to be believed."""
    evidence: Evidence | None
    """What the session's counts prove."""
    operations: int | None
    """Null before the session has ended."""
    degraded_operations: int
    """Operations through a fallback, as far as is known."""
    degraded_operation_ratio: float | None
    """degraded_operations / operations; null without operations."""
    above_threshold: bool
    """Whether that is above the threshold."""
    findings: tuple[str, ...]
    """Named patterns."""
    release_line: str | None
    """Of the emitter."""
    composition: str | None
    """Of the emitter."""
    opened_at: Instant | None
    """When it began, where an opening was seen."""
    ended_at: Instant | None
    """When it ended; null while it runs."""
    last_seen_at: Instant
    """Its newest event that is known."""


class MaskedLine(_Value):
    """An operation whose error a substitute hid."""

    operation_id: str
    """The operation."""
    occurred_at: Instant
    """When."""
    upstream: str
    """Whose error."""
    masked_upstream_signature: str
    """The error, as a code."""
    equivalence: str
    """Whether the substitute is proven to be the same."""
    fallback_execution_receipt: str
    """What the substitute is known by."""


class AdmissionLine(_Value):
    """What a gate recorded of the session."""

    occurred_at: Instant
    """When."""
    step: AdmissionStep
    """What happened."""
    answer: AdmissionAnswer
    """The gate's answer at that point."""
    successor_session_id: str | None
    """Who asked."""
    by: str | None
    """Who overrode or withdrew."""


class SelectionLine(_Value):
    """A selection, and what is in force after it."""

    turn: int
    """The session's turn."""
    occurred_at: Instant
    """When."""
    timeline: SelectionTimeline
    """Used, written down, or taken back."""
    profile: str
    """The profile, as an opaque token."""
    source: SelectionSource
    """Who chose."""
    scope: SelectionScope
    """For how long it is meant."""
    cleared_by: ClearedBy | None
    """Who took it back."""
    reason_code: ReasonCode | None
    """The fault that made it necessary."""
    emergency: bool
    """Whether the profile is one for emergencies only."""
    expires_at: Instant | None
    """When it ends by itself."""
    live: str | None
    """The profile in force, after it."""
    persisted: str | None
    """The profile that stands written down, after it."""
    recovery: int | None
    """Number of the recovery that it belongs to."""


class RecoveryLine(_Value):
    """An automatic choice and what became of it."""

    number: int
    """1, 2, 3 ... by when they began."""
    profile: str
    """The profile."""
    scope: SelectionScope
    """For how long it was meant."""
    emergency: bool
    """Whether the profile is one for emergencies only."""
    began_at: Instant
    """When it was chosen."""
    turn: int
    """In which turn."""
    reason_code: ReasonCode | None
    """Why; null where nobody stated a fault."""
    persisted_at: Instant | None
    """When it was written down for later turns."""
    state: RecoveryState
    """What became of it."""
    ended_at: Instant | None
    """Null while it is open, and where it ended with its turn."""
    cleared_by: ClearedBy | None
    """Who took it back."""
    findings: tuple[str, ...]
    """What is wrong with it."""


class RefusalLine(_Value):
    """Refusals by one enforcer, as hosts told."""

    count: int
    """How many."""
    appealed: int
    """Held to be wrong by somebody."""
    vindicated: int
    """Shown to have been wrong."""


class DelegationLine(_Value):
    """A delegation, and what it did in this session."""

    delegation_id: str
    """Its name."""
    calls: int
    """Calls that were made."""
    tokens: int
    """Tokens that it spent."""
    highest_attempt: int
    """The most tries of one thing."""
    budget_calls: int | None
    """Null: not limited."""
    budget_tokens: int | None
    """Null: not limited."""
    budget_attempts: int | None
    """Null: not limited."""
    over: tuple[str, ...]
    """Parts of its budget of which more was spent than there was."""
    tripped: bool
    """Whether the progress breaker stands tripped."""
    trips: int
    """How often it tripped."""
    false_trips: int
    """Trips after which progress was made all the same."""
    unchanged: int
    """Calls in a row that succeeded and changed nothing, now."""
    longest_unchanged: int
    """The longest such row."""
    doubts: dict[str, int]
    """Calls on which the breaker abstained, by the reason."""
    committed: int
    """Accepted writes."""
    repeated_commits: int
    """Commits of an effect that had been committed before."""
    refusals: dict[str, RefusalLine]
    """By enforcer."""
    blocked_turns: int
    """Turns without an accepted write, now."""
    longest_blocked: int
    """The most turns without one."""
    identity_conflicts: int
    """Identities in it that two lives claim."""
    findings: tuple[str, ...] | None
    """As the verdict says; null before there is one."""
    last_step_at: Instant
    """Its newest call or effect."""


class SessionDetail(_Value):
    """What only the session's own page tells."""

    fallbacks: int
    """Fallbacks."""
    masked_errors: int
    """Masked errors."""
    threshold: float | None
    """The ratio above which the session is degraded."""
    equivalent: bool | None
    """Whether every degraded operation is proven bit-for-bit equivalent."""
    outcome_claimed: SessionOutcome | None
    """What the host says."""
    contradictions: tuple[str, ...]
    """In what the host claims less than the stream saw."""
    masked: tuple[MaskedLine, ...]
    """Its masked operations."""
    masked_cut: int
    """How many more there are."""
    predecessor_session_id: str | None
    """Whose work it continues."""
    inherited_from: tuple[str, ...]
    """Sessions whose directive it inherits."""
    inherited_cut: int
    """How many more there are."""
    selections: tuple[SelectionLine, ...]
    """The newest selections, in order."""
    selections_total: int | None
    """How many there were; null where none is known."""
    selections_evidence: Evidence
    """What the selections prove; ABSENT where nobody is known to tell of any."""
    recoveries: tuple[RecoveryLine, ...]
    """Automatic choices, by when they began."""
    user_profile: str | None
    """The profile that the user chose last, as far as the selections show."""
    delegations: tuple[DelegationLine, ...]
    """Delegations that worked in it, the newest first."""
    identity_conflicts: tuple[str, ...]
    """Emitters whose id another life claims too."""
    emitters: tuple[str, ...]
    """Emitters that spoke of it."""
    sources: dict[int, int]
    """The prefix of each source partition that this rests on."""
    writer: str | None
    """Worker slot that published the verdict."""
    sequence: int | None
    """Its number."""
    digest: str | None
    """SHA-256 over everything that decides."""
    signed_by: str | None
    """Key that signed it."""
    admissions: tuple[AdmissionLine, ...]
    """What gates recorded in the last day, newest first."""


class AlertLine(_Value):
    """An alert."""

    alert_id: str
    """Names the condition."""
    kind: AlertKind
    """What it is about."""
    state: AlertState
    """FIRING or RESOLVED."""
    since: Instant
    """When the condition began."""
    until: Instant | None
    """When it ended."""
    sentence: str
    """What happened, in words."""
    runbook: str
    """What to do, as a place in the documents."""
    session_id: str | None
    """The session it is about."""
    directive: Directive | None
    """The directive of that session."""
    causes: tuple[str, ...]
    """Codes."""
    facts: dict[str, int]
    """Counts that explain it."""


class EmitterState(StrEnum):
    """Whether an emitter still speaks."""

    SILENT = "SILENT"
    """It stopped without closing."""
    BEHIND = "BEHIND"
    """It sends, and accounts only for time long past."""
    LIVE = "LIVE"
    """It sends."""
    CLOSED = "CLOSED"
    """It has closed in good order."""


class EmitterLine(_Value):
    """An emitter, and what of it was lost."""

    emitter_id: str
    """One life of the SDK inside a host."""
    partition: int
    """The source partition that it sends to."""
    release_line: str
    """Of its scope."""
    composition: str
    """Of its scope."""
    state: EmitterState
    """SILENT, BEHIND, LIVE or CLOSED."""
    started_at: Instant
    """When it began."""
    last_heard_at: Instant
    """Broker's time of its newest batch."""
    batches: int
    """Number of its newest batch."""
    recorded: dict[str, int]
    """Events that it says it recorded, by family."""
    dropped: dict[str, int]
    """Events that it says it dropped, by cause."""
    missing: int
    """Events that it sent and that have not arrived."""
    gaps: int
    """Stretches of missing batches."""


class PartitionState(StrEnum):
    """How far a source partition is counted."""

    STALLED = "STALLED"
    """Nothing has been heard of its ledger for long."""
    LAGGING = "LAGGING"
    """Records wait for long, or many do."""
    UNCOUNTED = "UNCOUNTED"
    """No ledger has ever said anything of it."""
    CURRENT = "CURRENT"
    """It is counted as records come."""


class PartitionLine(_Value):
    """A partition of the events."""

    partition: int
    """Its number."""
    worker: str | None
    """Slot of the worker whose ledger counted it last."""
    state: PartitionState
    """STALLED, LAGGING, UNCOUNTED or CURRENT."""
    next_offset: int | None
    """Where its ledger is."""
    log_end: int | None
    """Where the log ends."""
    lag: int | None
    """Records between the two."""
    read_through: Instant | None
    """Broker's time before which everything has been counted."""
    committed_at: Instant | None
    """Broker's time of the ledger's newest words."""


class GroupLine(_Value):
    """The workers that share one kind of work."""

    part: Literal["ledger", "tables"]
    """What they do."""
    members: int
    """How many there are."""
    state: str
    """The group's state, as the broker names it."""
    unassigned: tuple[int, ...]
    """Partitions that nobody has."""


class PartLine(_Value):
    """A part of the worker that answers."""

    part: str
    """Its name."""
    ready: bool
    """Whether it does its work."""
    reason: str
    """Why it does not."""
    partitions: tuple[int, ...]
    """What it has."""


class Answer(_Value):
    """What every answer begins with."""

    schema_version: Literal[1] = 1
    """Grows when a field goes or changes its meaning."""
    namespace: str
    """Whose topics these are."""
    generated_at: Instant
    """The worker's clock when the answer was made."""
    complete: bool
    """False while what stands on the topics has not been read to its end, or the broker does not answer."""
    condition: Condition
    """The pipeline's condition."""


class OverviewAnswer(Answer):
    """`/api/overview`: what the page shows."""

    sizes: tuple[SizeLine, ...]
    """Windows by size, smallest first."""
    totals: tuple[TotalLine, ...]
    """Since the beginning, by capability."""
    alerts: tuple[AlertLine, ...]
    """Those that fire first, and of these what concerns more than one session; then the newest that are over."""
    alerts_firing: dict[str, int]
    """How many fire, by kind, also beyond the list."""
    alerts_cut: int
    """How many alerts are left out."""
    sessions: tuple[SessionLine, ...]
    """Those with an open directive first, then those that run, then the newest."""
    sessions_cut: int
    """How many sessions of the last day are left out."""
    emitters: tuple[EmitterLine, ...]
    """Those with losses first."""
    emitters_cut: int
    """How many emitters are left out."""


class WindowAnswer(Answer):
    """`/api/windows/<seconds>/<start>`: a window by release line, composition and capability."""

    window: WindowLine
    """As a whole."""
    lines: tuple[WindowLine, ...]
    """By release line, composition and capability; capability null: all of these."""
    lines_cut: bool
    """Whether there may be more than are remembered."""


class SessionAnswer(Answer):
    """`/api/sessions/<session_id>`: one session."""

    session: SessionLine
    """As in the overview."""
    detail: SessionDetail
    """The rest."""


class WorkersAnswer(Answer):
    """`/api/workers`: partitions of the whole namespace, and the worker that answers."""

    partitions: tuple[PartitionLine, ...]
    """Partitions of the events."""
    groups: tuple[GroupLine, ...]
    """Who shares the work."""
    instance: str
    """Slot of the worker that answers."""
    parts: tuple[PartLine, ...]
    """Its parts."""
