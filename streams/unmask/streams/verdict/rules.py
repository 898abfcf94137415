"""The rules of the verdict (design, section 6), each a pure function of what is known."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from unmask.schemas.codes import Contradiction, Directive, Evidence, Finding, SessionOutcome, VerdictKind
from unmask.streams.verdict.claims import Claim
from unmask.streams.verdict.merge import SessionView
from unmask.streams.verdict.obligation import Obligation, stricter

__all__ = [
    "Degradation",
    "above_threshold",
    "degradation_of",
    "directive_of",
    "evidence_of",
    "findings_of",
    "is_equivalent",
    "kind_of",
]

_REPEATEDLY = 2


@dataclass(frozen=True, slots=True)
class Degradation:
    """Operations, and those of them that went through a fallback."""

    operations: int
    degraded: int

    @property
    def ratio(self) -> float | None:
        """Degraded operations ÷ operations, from 0 to 1; None without operations."""
        return self.degraded / self.operations if self.operations else None


def degradation_of(view: SessionView, claim: Claim | None) -> Degradation:
    """Operations, not hops (rule 3). The higher of what was claimed and what was seen stands (rule 5)."""
    degraded = max(view.degraded_operations, claim.degraded_operations if claim is not None else 0)
    operations = claim.operations if claim is not None else 0
    return Degradation(max(operations, degraded), degraded)


def above_threshold(degradation: Degradation, threshold: float) -> bool:
    """Whether the state is DEGRADED: strictly above the threshold (rule 3)."""
    ratio = degradation.ratio
    return ratio is not None and ratio > threshold


def evidence_of(view: SessionView) -> Evidence:
    """What the session's events prove.

    An emitter that left it open without an end leaves a doubt, never a proof; so do two that claim one identity (rule
    6), for what is told under it cannot be told apart.
    """
    if (view.left_open or view.identity_in_doubt) and view.evidence is Evidence.COMPLETE:
        return Evidence.LOSSY
    return view.evidence


def kind_of(
    view: SessionView,
    claim: Claim | None,
    degradation: Degradation,
    evidence: Evidence,
    contradicted: Sequence[Contradiction],
    obligations: Sequence[Obligation],
) -> VerdictKind:
    """The verdict (rules 1, 2, 3 and 5)."""
    if claim is None or claim.outcome is not SessionOutcome.SUCCESS:
        return VerdictKind.HARD_FAILURE
    unproven = evidence is not Evidence.COMPLETE
    fell_back = degradation.degraded > 0 or view.masked_errors > 0 or view.fallbacks > 0
    if unproven or fell_back or contradicted or obligations:
        return VerdictKind.DEGRADED_SUCCESS
    return VerdictKind.CLEAN_SUCCESS


def directive_of(kind: VerdictKind, view: SessionView, obligations: Sequence[Obligation]) -> Directive:
    """What the successor must do first; what was inherited and asks for more goes on (rules 1, 2 and 3)."""
    if kind is VerdictKind.HARD_FAILURE:
        return Directive.HALT_AND_ALERT_DEVELOPER
    if kind is VerdictKind.CLEAN_SUCCESS:
        return Directive.NONE
    directive = Directive.PROBE_UPSTREAM_BEFORE_ACTION if view.unreachable else Directive.RE_FETCH_FROM_PRIMARY
    for obligation in obligations:
        directive = stricter(directive, obligation.directive)
    return directive


def is_equivalent(view: SessionView, degradation: Degradation) -> bool:
    """Whether every degraded operation is proven bit-for-bit equivalent (rule 4); one that was not seen is not."""
    return view.not_equivalent == 0 and view.degraded_operations >= degradation.degraded


def findings_of(
    view: SessionView,
    claim: Claim | None,
    evidence: Evidence,
    contradicted: Sequence[Contradiction],
    obligations: Sequence[Obligation],
    beside: Collection[Finding] = (),
) -> list[Finding]:
    """The patterns that hold, in the order of the enum.

    `beside` are those of its recoveries and delegations, which decide neither kind nor directive (rule 6).
    """
    reported_success = claim is not None and claim.outcome is SessionOutcome.SUCCESS
    holds = {
        Finding.ABANDONED: view.left_open,
        Finding.CONTRADICTED: bool(contradicted),
        Finding.SCHEMA_DRIFT: view.shape_drifts > 0,
        Finding.EXHAUSTION: view.exhausted >= _REPEATEDLY,
        # Exhausted upstreams must be probed like unreachable ones, but they did answer.
        Finding.PHANTOM_STABILITY: reported_success and view.unreachable > view.exhausted,
        Finding.INHERITED: bool(obligations),
        Finding.LOSSY_EVIDENCE: evidence is not Evidence.COMPLETE,
    }
    found = {finding for finding, held in holds.items() if held} | {*beside}
    if view.identity_in_doubt:
        found.add(Finding.IDENTITY_CONFLICT)
    return [finding for finding in Finding if finding in found]
