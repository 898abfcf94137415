"""Adequacy of a signal: whether it may decide about the delegation that it is read in.

A signal may decide if

- it has been seen to move: in this delegation it had two states at least, or whoever asks knows that the signal of
  this name had, in another one or in a calibration. What was never seen to move may be constant by construction;
- it belongs to the delegation: a state that another one changes says nothing of this one;
- it is the same under identical conditions, as follows;
- it tells outcomes apart that are known to differ: one digest never stands for two different measures.

**Identical conditions** of two readings are: the host states the digest of the conditions for both, the two digests are
equal, and *nothing was done* in between, that is, no call of the delegation was made. A refused call is none; a failed
one is, since it may have done half of its work. Only then the two states must be equal. A delegation that works changes
the state by its calls, so that no two readings with a call between them are ever held against its signal, and neither
are readings whose conditions are not stated. What else can change the state (another delegation, a deployment, the
time) belongs into the digest of the conditions: where it is left out, a signal that others move is called unstable,
and rightly so, for it cannot tell their work from this delegation's.

Instability and indistinctness are remembered as long as the delegation is: a signal that was wrong once proves nothing
by being right later. Both are decided by what was read, never by how often.
"""

import hashlib
from dataclasses import dataclass, replace

from unmask.schemas.breaker.answers import AbstainReason
from unmask.schemas.breaker.step import Step

__all__ = ["MOST_SIGNALS", "SignalTrack", "short"]

MOST_SIGNALS = 8
"""Signals of one delegation that are followed. Of a further one nothing is remembered, so that it never moved."""
_MOST_READINGS = 4
"""Conditions under which the state is remembered until something is done again."""


def short(*texts: str) -> str:
    """64 bits that stand for some texts, 16 hex digits, in a state that must stay small."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SignalTrack:
    """What is known of one signal of a delegation."""

    name: str
    moved: bool = False
    unstable: bool = False
    indistinct: bool = False
    unchanged: int = 0
    """Successful calls since the last change of the delegation, as far as this signal was read after them."""
    readings: tuple[tuple[str, str], ...] = ()
    """Conditions and state of what was read since something was done."""

    @property
    def doubt(self) -> AbstainReason | None:
        """Why it may not decide; None where it may."""
        if self.unstable:
            return AbstainReason.UNSTABLE_SIGNAL
        if self.indistinct:
            return AbstainReason.INDISTINCT_SIGNAL
        return None if self.moved else AbstainReason.NEVER_SEEN_TO_MOVE

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against it."""
        return not (self.unstable or self.indistinct)

    def after_doing(self) -> "SignalTrack":
        """Something was done: what was read before it is no measure for what is read after it."""
        return replace(self, readings=()) if self.readings else self

    def read(self, step: Step, state: str) -> "SignalTrack":
        """The state was read; `state` stands for its digest."""
        if step.conditions is None:
            return self
        conditions = short(step.conditions)
        before = dict(self.readings).get(conditions)
        if before is None:
            return replace(self, readings=(*self.readings, (conditions, state))[-_MOST_READINGS:])
        return self if before == state else replace(self, unstable=True)
