"""How an ended session is judged."""

from unmask.schemas.codes import Contradiction, Directive, Evidence, Finding, SessionOutcome, VerdictKind
from unmask.schemas.instants import Instant
from unmask.schemas.models.delegations import JudgedDelegation
from unmask.schemas.models.fields import Count, Digest, Flag, PartitionNumber, Ratio, ScopeField, Token
from unmask.schemas.models.parts import MaskedOperation, Signature
from unmask.schemas.models.record import Record
from unmask.schemas.models.selections import Recovery

__all__ = ["Source", "Verdict"]


class Source(Record):
    """The prefix of a source partition that a verdict rests on."""

    partition: PartitionNumber
    offset: Count


class Verdict(Record):
    """How an ended session is judged, and what its successor must do first.

    `digest` is computed by unmask.schemas.verdict_digest over everything that decides.
    """

    contract: PartitionNumber
    session_id: Token
    verdict: VerdictKind
    directive: Directive
    evidence: Evidence
    operations: Count
    degraded_operations: Count
    degraded_operation_ratio: Ratio | None = None
    threshold: Ratio
    above_threshold: Flag
    equivalent: Flag
    outcome_claimed: SessionOutcome | None = None
    findings: tuple[Finding, ...]
    contradictions: tuple[Contradiction, ...]
    masked: tuple[MaskedOperation, ...]
    masked_cut: Count
    predecessor_session_id: Token | None = None
    inherited_from: tuple[Token, ...]
    inherited_cut: Count = 0
    scope: ScopeField | None = None
    emitters: tuple[Token, ...]
    emitters_cut: Count = 0
    opened_at: Instant | None = None
    ended_at: Instant
    sources: tuple[Source, ...]
    writer: Token | None = None
    sequence: Count = 0
    digest: Digest
    signature: Signature | None = None
    user_profile: Token | None = None
    recoveries: tuple[Recovery, ...] = ()
    delegations: tuple[JudgedDelegation, ...] = ()
