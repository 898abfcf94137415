"""Signals: how a host reads whether a delegation has changed anything."""

from collections.abc import Callable
from dataclasses import dataclass

from unmask.producers.delegation.content import content_digest
from unmask.producers.published import identifier
from unmask.schemas.bounds import MOST

__all__ = ["Reading", "Signal"]

_DEFAULT = "state"


@dataclass(frozen=True, slots=True)
class Reading:
    """A state that was read, as it is published."""

    state_digest: str | None
    conditions: str | None = None
    measure: int | None = None

    @classmethod
    def of(cls, state: object, conditions: object = None, measure: object = None) -> "Reading":
        """The reading of a content. A measure that no record may hold is left out."""
        number = int.__int__(measure) if isinstance(measure, int) else None
        if number is not None and not -MOST <= number <= MOST:
            number = None
        return cls(content_digest(state), content_digest(conditions), number)


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal by its name, and what reads it.

    With `read` the tracker reads the state where a delegation begins, twice, so that a signal that differs by itself
    is found out before it decides anything, and after each call that states none.
    """

    name: str = _DEFAULT
    read: Callable[[], object] | None = None
    """The content by which one state differs from another: what the delegation is to change, not names of checks."""
    measure: Callable[[], int | None] | None = None
    """A number that the state has, for example of failing checks."""
    conditions: Callable[[], object] | None = None
    """Everything besides the delegation's calls on which the state depends, for example the version of the tools."""

    @property
    def token(self) -> str:
        """Its name as it is published."""
        return identifier(self.name)

    def reading(self) -> Reading | None:
        """What it says now; None where nothing reads it, or what reads it fails."""
        if self.read is None:
            return None
        try:
            conditions = None if self.conditions is None else self.conditions()
            return Reading.of(self.read(), conditions, None if self.measure is None else self.measure())
        except Exception:
            return None
