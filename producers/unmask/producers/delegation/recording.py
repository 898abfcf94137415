"""The records of one delegation: what is the same in all of them, and nothing raised into the host."""

from typing import Any

from unmask.producers.delegation.host import DelegationHost
from unmask.producers.delegation.invocation import Invocation
from unmask.producers.delegation.signal import Reading
from unmask.producers.published import identifier
from unmask.schemas.bounds import MOST
from unmask.schemas.breaker import Budget
from unmask.schemas.codes import CallOutcome, EffectStep

__all__ = ["Recording", "count_of"]


class Recording:
    """A delegation as its records name it."""

    turn = 0
    """The session's turn in which the work goes on; whoever counts turns sets it. 0 where nobody does."""

    def __init__(self, host: DelegationHost, delegation_id: object, scope: str | None) -> None:
        self._host = host
        self._delegation_id = identifier(delegation_id)
        self._scope = None if scope is None else identifier(scope)
        self._session_id: str | None = None
        self._invocation = Invocation()

    @property
    def delegation_id(self) -> str:
        """The identifier as it is published."""
        return self._delegation_id

    @property
    def session_id(self) -> str:
        """The session in which it works, as it is published."""
        return self._delegation_id if self._session_id is None else self._session_id

    @property
    def invocation_id(self) -> str:
        """The id of this run, random; another one in a forked child."""
        return self._invocation.invocation_id

    def beside(self, delegation_id: str) -> "Recording":
        """Another delegation, with a run of its own, in the same session and turn."""
        other = Recording(self._host, delegation_id, None)
        other._session_id, other.turn = self.session_id, self.turn
        return other

    def record_call(
        self,
        outcome: CallOutcome,
        *,
        attempt: int,
        tokens: int,
        budget: Budget,
        signal: str | None,
        reading: Reading,
        subject: str | None = None,
        turn: int | None = None,
    ) -> None:
        """Put a call on record."""
        invocation_id, step = self._invocation.next_step()
        self._host.record_delegation_progress(
            delegation_id=self._delegation_id,
            session_id=self.session_id,
            invocation_id=invocation_id,
            step=step,
            turn=self.turn_of(turn),
            outcome=outcome.value,
            attempt=attempt,
            tokens=tokens,
            signal=signal,
            state_digest=reading.state_digest,
            conditions=reading.conditions,
            subject=subject,
            measure=reading.measure,
            declared_scope=self._scope,
            budget_calls=_limit(budget.calls),
            budget_tokens=_limit(budget.tokens),
            budget_attempts=_limit(budget.attempts),
        )

    def record_effect(self, step: EffectStep, turn: int | None = None, **said: Any) -> None:
        """Put what became of an effect on record. What is not said is None."""
        nothing = dict.fromkeys(
            ("enforcer", "answer", "effect_key", "fingerprint", "fencing_token", "receipt", "by", "reason_code")
        )
        self._host.record_delegation_effect(
            delegation_id=self._delegation_id,
            session_id=self.session_id,
            invocation_id=self._invocation.invocation_id,
            turn=self.turn_of(turn),
            step=step.value,
            **(nothing | said),
        )

    def turn_of(self, turn: object) -> int:
        """The turn that is stated, or else the one that goes on."""
        return count_of(self.turn if turn is None else turn)

    def note_fault(self) -> None:
        """Something inside the SDK failed and was kept from the host."""
        self._host.note_fault()


def count_of(amount: object) -> int:
    """A number from 0 on, as a record may hold it; 0 for anything else."""
    return min(max(0, int.__int__(amount)), MOST) if isinstance(amount, int) else 0


def _limit(amount: int | None) -> int | None:
    """A limit that nobody reaches is as good as the largest number that a record may hold."""
    return None if amount is None else min(amount, MOST)
