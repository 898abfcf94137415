"""The records as models: what a person or another process hands in or reads, checked against the contract."""

from collections.abc import Mapping

from unmask.schemas.models.admission import Admission
from unmask.schemas.models.alert import Alert
from unmask.schemas.models.delegations import (
    DelegationEffect,
    DelegationProgress,
    DelegationTally,
    Doubt,
    EffectCommit,
    Invocation,
    JudgedDelegation,
    Refusal,
)
from unmask.schemas.models.effects import EffectDecision, EffectRequest
from unmask.schemas.models.event_batch import (
    AttemptGroup,
    Emitter,
    EventBatch,
    FamilyAccount,
    KernelFallback,
    MaskedError,
    SessionOpening,
    SessionTeardown,
)
from unmask.schemas.models.fallback import Fallback
from unmask.schemas.models.flaw import Flaw, Loss
from unmask.schemas.models.mark import Mark, ScopeMark, Unaccounted
from unmask.schemas.models.parity_run import ParityRun
from unmask.schemas.models.parts import Dropped, FamilyClaim, MaskedOperation, Signature
from unmask.schemas.models.quarantined import Quarantined
from unmask.schemas.models.record import Record, from_avro, to_avro
from unmask.schemas.models.selections import Recovery, RouteSelection, Selection
from unmask.schemas.models.session_tally import SessionTally, Teardown
from unmask.schemas.models.tally import Correction, Tally
from unmask.schemas.models.verdict import Source, Verdict
from unmask.schemas.models.window import FamilyEvidence, Window

__all__ = [
    "MODELS",
    "Admission",
    "Alert",
    "AttemptGroup",
    "Correction",
    "DelegationEffect",
    "DelegationProgress",
    "DelegationTally",
    "Doubt",
    "Dropped",
    "EffectCommit",
    "EffectDecision",
    "EffectRequest",
    "Emitter",
    "EventBatch",
    "Fallback",
    "FamilyAccount",
    "FamilyClaim",
    "FamilyEvidence",
    "Flaw",
    "Invocation",
    "JudgedDelegation",
    "KernelFallback",
    "Loss",
    "Mark",
    "MaskedError",
    "MaskedOperation",
    "ParityRun",
    "Quarantined",
    "Record",
    "Recovery",
    "Refusal",
    "RouteSelection",
    "ScopeMark",
    "Selection",
    "SessionOpening",
    "SessionTally",
    "SessionTeardown",
    "Signature",
    "Source",
    "Tally",
    "Teardown",
    "Unaccounted",
    "Verdict",
    "Window",
    "from_avro",
    "to_avro",
]

MODELS: Mapping[str, type[Record]] = {
    "event_batch": EventBatch,
    "fallback": Fallback,
    "tally": Tally,
    "evidence_flaw": Flaw,
    "evidence_mark": Mark,
    "session_tally": SessionTally,
    "window": Window,
    "verdict": Verdict,
    "alert": Alert,
    "quarantine": Quarantined,
    "admission": Admission,
    "parity": ParityRun,
    "effect_request": EffectRequest,
    "effect_decision": EffectDecision,
}
"""The model of each record."""
