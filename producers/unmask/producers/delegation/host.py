"""What delegations need of whoever records them: the emitter, or what stands in where there is none."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["DelegationHost"]


class DelegationHost(Protocol):
    """Takes records at once, and never raises."""

    def record_delegation_progress(
        self,
        *,
        delegation_id: str,
        session_id: object,
        invocation_id: str,
        step: int,
        turn: int,
        outcome: str,
        attempt: int = 1,
        tokens: int = 0,
        signal: str | None = None,
        state_digest: str | None = None,
        conditions: str | None = None,
        subject: str | None = None,
        measure: int | None = None,
        declared_scope: str | None = None,
        budget_calls: int | None = None,
        budget_tokens: int | None = None,
        budget_attempts: int | None = None,
    ) -> None:
        """A call of a delegation ended."""
        ...

    def record_delegation_effect(
        self,
        *,
        delegation_id: str,
        session_id: object,
        invocation_id: str,
        turn: int,
        step: str,
        enforcer: str | None = None,
        answer: str | None = None,
        effect_key: str | None = None,
        fingerprint: str | None = None,
        fencing_token: int | None = None,
        receipt: str | None = None,
        by: str | None = None,
        reason_code: str | None = None,
    ) -> None:
        """Something became of an effect that a delegation wanted."""
        ...

    def session(self, session_id: str, predecessor: str | None = None) -> AbstractContextManager[Any]:
        """A session of work."""
        ...

    def note_fault(self) -> None:
        """Something inside the SDK failed and was kept from the host."""
        ...
