"""A host that keeps what delegations record, for tests that look at it."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from unmask.producers.delegation import Delegation, Keeper

__all__ = ["RememberingHost"]


class RememberingHost:
    """A DelegationHost; all its delegations share one keeper, as those of an emitter do."""

    def __init__(self, folder: Path | None = None) -> None:
        self.calls: list[dict[str, Any]] = []
        self.effects: list[dict[str, Any]] = []
        self.sessions: list[str] = []
        self.faults = 0
        self.keeper = Keeper(folder, self.note_fault)

    def delegation(self, delegation_id: str = "d-1", **options: Any) -> Delegation:
        """A delegation of this host."""
        return Delegation(self, self.keeper, delegation_id, **options)

    def record_delegation_progress(self, **fields: Any) -> None:
        """Kept."""
        self.calls.append(fields)

    def record_delegation_effect(self, **fields: Any) -> None:
        """Kept."""
        self.effects.append(fields)

    def session(self, session_id: str, predecessor: str | None = None) -> AbstractContextManager[Any]:
        """Its name is kept."""
        self.sessions.append(session_id)
        return nullcontext()

    def note_fault(self) -> None:
        """Counted."""
        self.faults += 1
