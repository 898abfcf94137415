"""Codes in words, for whoever meets them for the first time."""

from collections.abc import Mapping

from unmask.schemas.codes import (
    AdmissionAnswer,
    AdmissionStep,
    Contradiction,
    Directive,
    Finding,
    RecoveryState,
    VerdictKind,
)

__all__ = ["ANSWERS", "CONTRADICTIONS", "DIRECTIVES", "FINDINGS", "RECOVERIES", "STEPS", "VERDICTS"]

VERDICTS: Mapping[VerdictKind, str] = {
    VerdictKind.CLEAN_SUCCESS: "The objective was reached, no operation went through a fallback, and this is proven.",
    VerdictKind.DEGRADED_SUCCESS: "The objective was reached, but not on proven primary paths alone.",
    VerdictKind.HARD_FAILURE: "The objective was not reached, or nobody said that it was.",
}
DIRECTIVES: Mapping[Directive, str] = {
    Directive.NONE: "Nothing has to be done first.",
    Directive.PROBE_UPSTREAM_BEFORE_ACTION: (
        "Ask the failed upstream whether it answers again before anybody acts on this session's results."
    ),
    Directive.RE_FETCH_FROM_PRIMARY: (
        "Replace what a substitute delivered by the primary's own answer before anybody acts on it."
    ),
    Directive.HALT_AND_ALERT_DEVELOPER: "Stop whatever continues this session; a person must look.",
}
FINDINGS: Mapping[Finding, str] = {
    Finding.ABANDONED: "Nobody said how it ended: its emitter fell silent, or closed with the session open.",
    Finding.CONTRADICTED: "The host claimed less than the stream saw; the stream's count stands.",
    Finding.SCHEMA_DRIFT: "A substitute's payload has another shape than the primary's.",
    Finding.EXHAUSTION: "Rate limits or quotas were evaded repeatedly.",
    Finding.PHANTOM_STABILITY: "An unreachable upstream stood behind a reported success.",
    Finding.INHERITED: "The predecessor's directive was not carried out.",
    Finding.LOSSY_EVIDENCE: "Events of this session are missing, or may be.",
    Finding.PREFERENCE_DRIFT: "An automatic choice outlived its turn or window, or became what later turns begin with.",
    Finding.EMERGENCY_AS_DEFAULT: "An emergency profile was used though the primary did not fail in that turn.",
    Finding.WATCHDOG_DEPENDENT: "Nothing but the watchdog ends automatic choices that outlive their turn.",
    Finding.CLEANUP_UNSEEN: "An automatic choice vanished, and no record says who ended it.",
    Finding.STALLED_DELEGATION: "A delegation's calls succeed one after another, and nothing changes.",
    Finding.BUDGET_EXCEEDED: "A delegation spent more calls, tokens or attempts than it was given.",
    Finding.DUPLICATE_EFFECT: "One effect was committed more than once.",
    Finding.INADEQUATE_SIGNAL: "A delegation's signal proves nothing, so that the breaker abstains.",
    Finding.IDENTITY_CONFLICT: "Two lives claim one identity, or one name stood for two contents.",
    Finding.ENFORCEMENT_BLOCKED: "A delegation was refused for many turns without an accepted write.",
    Finding.UNKNOWN_FINDING: "A finding that this worker does not know.",
}
CONTRADICTIONS: Mapping[Contradiction, str] = {
    Contradiction.DEGRADED_OPERATIONS: "Fewer degraded operations were claimed than seen.",
    Contradiction.OPERATIONS: "Fewer operations were claimed than degraded ones seen.",
    Contradiction.MASKED_ERRORS: "Fewer masked errors were claimed than seen.",
    Contradiction.KERNEL_FALLBACKS: "Fewer fallbacks were claimed than seen.",
    Contradiction.TEARDOWNS_DISAGREE: "Two teardowns say different things.",
    Contradiction.UNKNOWN_CONTRADICTION: "A contradiction that this worker does not know.",
}
RECOVERIES: Mapping[RecoveryState, str] = {
    RecoveryState.OPEN: "it still holds",
    RecoveryState.EXPIRED: "its turn or time was over, and it was not used again",
    RecoveryState.CLEARED: "it was taken back",
    RecoveryState.SUPERSEDED: "another choice took its place",
    RecoveryState.VANISHED: "it is gone, and no record says who ended it",
    RecoveryState.UNKNOWN_STATE: "what became of it is not known here",
}
STEPS: Mapping[AdmissionStep, str] = {
    AdmissionStep.ASKED: "The gate was asked",
    AdmissionStep.RECONCILED: "The directive was carried out",
    AdmissionStep.RECONCILE_FAILED: "The directive was tried, and failed",
    AdmissionStep.OVERRIDDEN: "An operator let the successor pass",
    AdmissionStep.WITHDRAWN: "An operator withdrew the verdict",
    AdmissionStep.APPEALED: "Somebody holds the refusal to be wrong",
    AdmissionStep.VINDICATED: "What was refused was shown to have been right",
    AdmissionStep.UNKNOWN_STEP: "A step that this worker does not know",
}
ANSWERS: Mapping[AdmissionAnswer, str] = {
    AdmissionAnswer.ADMITTED: "go on",
    AdmissionAnswer.ADMITTED_READ_ONLY: "go on, but change nothing",
    AdmissionAnswer.RECONCILE_FIRST: "carry the directive out first",
    AdmissionAnswer.HALTED: "the predecessor failed; a person must look",
    AdmissionAnswer.NO_VERDICT: "there was no verdict",
    AdmissionAnswer.WITHDRAWN: "the verdict had been withdrawn",
    AdmissionAnswer.UNPROVEN: "the evidence was not complete",
    AdmissionAnswer.UNVERIFIABLE: "the record could not be believed",
    AdmissionAnswer.NOT_READY: "the topic could not be read in time",
}
