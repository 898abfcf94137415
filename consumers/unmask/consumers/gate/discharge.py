"""What was done about a verdict since it was published, as the admissions topic tells it."""

from dataclasses import dataclass

from unmask.schemas.codes import AdmissionStep

__all__ = ["DISCHARGING", "Discharge"]

DISCHARGING = frozenset((AdmissionStep.RECONCILED, AdmissionStep.OVERRIDDEN))
"""Steps after which a verdict's directive is no longer open."""


@dataclass(frozen=True, slots=True)
class Discharge:
    """The record that a verdict's directive was carried out, or set aside by an operator."""

    step: AdmissionStep
    digest: str
    """Of the very verdict that it is about."""
    admission_id: str
    occurred_at: int
    """Microseconds since the epoch, by the clock of the gate that recorded it."""
    mutating: bool
    """Whether it was for a successor that changes things."""
    by: str | None = None
    reason_code: str | None = None
