"""A window's counts, never without what they prove."""

from datetime import datetime, timedelta

from pydantic import Field

from unmask.schemas.codes import DropCause, Evidence, Family, FlawCause
from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, Number, ScopeField, Token, WindowSeconds
from unmask.schemas.models.parts import Dropped
from unmask.schemas.models.record import Record

__all__ = ["FamilyEvidence", "Window"]

# The first that any family has is what the whole proves.
_WORST_FIRST = (Evidence.PENDING, Evidence.LOSSY, Evidence.ABSENT, Evidence.COMPLETE)


class FamilyEvidence(Record):
    """Evidence of one family."""

    family: Family
    state: Evidence
    causes: tuple[FlawCause, ...]
    missing: Number
    dropped: tuple[Dropped, ...]


class Window(Record):
    """A window's counts with their evidence, for one scope and capability, or for all of them (None)."""

    window_start: Instant
    window_seconds: WindowSeconds
    scope: ScopeField | None = None
    capability: Token | None = None
    attempts: Count
    attempts_by_entry_point: dict[Token, Count]
    fallbacks_total: Count
    fallbacks_by_reason: dict[Token, Count]
    masked_errors: Count
    masked_errors_by_class: dict[Token, Count]
    teardowns_by_outcome: dict[Token, Count]
    emitters: Count
    late: Count
    skewed: Count
    duplicates: Count
    quarantined: Count
    evidence: tuple[FamilyEvidence, ...]
    revision: Count
    selections: dict[Token, Count] = Field(default_factory=dict)
    delegation_calls: dict[Token, Count] = Field(default_factory=dict)
    delegation_effects: dict[Token, Count] = Field(default_factory=dict)

    @property
    def window_end(self) -> datetime | None:
        """The first instant after the window; None for the lifetime window."""
        return self.window_start + timedelta(seconds=self.window_seconds) if self.window_seconds else None

    def evidence_of(self, family: Family) -> Evidence:
        """What the counts of one family prove. A family that nobody speaks of has no witness."""
        states = [entry.state for entry in self.evidence if entry.family is family]
        return states[0] if states else Evidence.ABSENT

    @property
    def evidence_state(self) -> Evidence:
        """What all families together prove: the worst of theirs."""
        states = {entry.state for entry in self.evidence}
        return next((state for state in _WORST_FIRST if state in states), Evidence.ABSENT)

    @property
    def fallback_rate(self) -> float | None:
        """Fallbacks per attempt, where both counts are COMPLETE and there were attempts; else None, never NaN."""
        counted = (Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK)
        if not self.attempts or any(self.evidence_of(family) is not Evidence.COMPLETE for family in counted):
            return None
        return self.fallbacks_total / self.attempts

    @property
    def dropped(self) -> dict[DropCause, int]:
        """Events dropped by hosts, by cause, over all families."""
        total: dict[DropCause, int] = {}
        for entry in self.evidence:
            for part in entry.dropped:
                total[part.cause] = total.get(part.cause, 0) + part.count
        return total
