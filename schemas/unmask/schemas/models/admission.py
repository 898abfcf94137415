"""What a gate answered, and what was done about it."""

from unmask.schemas.codes import AdmissionAnswer, AdmissionStep, Directive
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Digest, Flag, Token
from unmask.schemas.models.parts import Signature
from unmask.schemas.models.record import Record

__all__ = ["Admission"]


class Admission(Record):
    """One step of an admission: asked, carried out, overridden or withdrawn by a person."""

    admission_id: Token
    session_id: Token
    step: AdmissionStep
    answer: AdmissionAnswer
    mutating: Flag
    occurred_at: Instant
    verdict_digest: Digest | None = None
    directive: Directive | None = None
    successor_session_id: Token | None = None
    by: Token | None = None
    reason_code: Token | None = None
    signature: Signature | None = None
