"""What the breaker is told: a call of a delegation that has ended, or a reading of its state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from unmask.schemas.codes import CallOutcome

__all__ = ["Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """A call that ended, with the state that was read after it."""

    outcome: str
    """A CallOutcome."""
    signal: str | None = None
    """The name of what tells whether anything changed."""
    state_digest: str | None = None
    """Digest of the content of the state, by that signal."""
    conditions: str | None = None
    """Digest of everything besides the delegation's own calls on which the state depends; None where that is not
    known. See `unmask.schemas.breaker.signals`."""
    subject: str | None = None
    """The delegation to which the signal belongs; None for the one that is judged."""
    measure: int | None = None
    """A number that the state has, for example of failing checks. Of two states that differ in it, the digests must."""
    delegation_id: str = "-"
    reading: bool = False
    """Whether the state was only read, without a call. Hosts do; records tell of calls alone."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """The step in a record's `delegation_progress`."""
        return cls(
            outcome=record["outcome"],
            signal=record["signal"],
            state_digest=record["state_digest"],
            conditions=record["conditions"],
            subject=record["subject"],
            measure=record["measure"],
            delegation_id=record["delegation_id"],
        )

    @property
    def done(self) -> bool:
        """Whether something was done: a call was made, and whether it failed or not it may have changed the state."""
        return not self.reading and self.outcome != CallOutcome.REFUSED

    @property
    def succeeded(self) -> bool:
        """Whether a call was made and ended without an error."""
        return not self.reading and self.outcome == CallOutcome.SUCCEEDED
