"""One exception type for each way in which a gate refuses, so that a caller can catch exactly the one it can act on."""

from typing import TYPE_CHECKING

from unmask.schemas.codes import AdmissionAnswer

if TYPE_CHECKING:
    from unmask.consumers.gate.admission import Admission

__all__ = [
    "REFUSALS",
    "AdmissionRefused",
    "Halted",
    "NoVerdict",
    "NotReady",
    "ReconcileFirst",
    "Unproven",
    "Unverifiable",
    "Withdrawn",
]


class AdmissionRefused(Exception):
    """The gate did not admit; `admission` says why and what to do. Each refusal is a type of its own below it."""

    def __init__(self, admission: "Admission") -> None:
        super().__init__(f"{admission.answer}: {admission.reason}")
        self.admission = admission


class ReconcileFirst(AdmissionRefused):
    """Carry the directive out (`admission.reconcile(probe)`), then go on with what it returns."""


class Halted(AdmissionRefused):
    """The predecessor failed. A person must look; only an operator's override lets a successor pass."""


class NoVerdict(AdmissionRefused):
    """The session has no verdict. It may not have ended yet, or was never observed."""


class Withdrawn(AdmissionRefused):
    """The session's verdict was withdrawn, and none took its place."""


class Unproven(AdmissionRefused):
    """The session's evidence is not complete. It may become so; ask again, or reconcile by hand and override."""


class Unverifiable(AdmissionRefused):
    """The session's record cannot be decoded, was altered, or contradicts itself. Nothing in it may be trusted."""


class NotReady(AdmissionRefused):
    """The verdicts could not be read to their end in time, or an outcome could not be recorded. Ask again."""


REFUSALS: dict[AdmissionAnswer, type[AdmissionRefused]] = {
    AdmissionAnswer.RECONCILE_FIRST: ReconcileFirst,
    AdmissionAnswer.HALTED: Halted,
    AdmissionAnswer.NO_VERDICT: NoVerdict,
    AdmissionAnswer.WITHDRAWN: Withdrawn,
    AdmissionAnswer.UNPROVEN: Unproven,
    AdmissionAnswer.UNVERIFIABLE: Unverifiable,
    AdmissionAnswer.NOT_READY: NotReady,
}
"""The exception of every refusing answer."""
