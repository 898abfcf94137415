"""Delegations where nothing is wired: their budgets and their breaker hold in this process, and nothing is recorded."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from unmask.producers.delegation.delegation import Delegation
from unmask.producers.delegation.keeper import Keeper

if TYPE_CHECKING:
    from unmask.producers.port import FallbackTelemetrySink

__all__ = ["unrecorded_delegation"]

_keeper = Keeper(None)


def unrecorded_delegation(sink: "FallbackTelemetrySink", delegation_id: str, **options: Any) -> Delegation:
    """A delegation over a sink that has none."""
    return Delegation(_Unwired(sink), _keeper, delegation_id, **options)


class _Unwired:
    """Stands in for an emitter where there is none."""

    def __init__(self, sink: "FallbackTelemetrySink") -> None:
        self._sink = sink

    def record_delegation_progress(self, **fields: Any) -> None:
        """Nothing."""

    def record_delegation_effect(self, **fields: Any) -> None:
        """Nothing."""

    def session(self, session_id: str, predecessor: str | None = None) -> AbstractContextManager[Any]:
        """The sink's."""
        return self._sink.session(session_id, predecessor)

    def note_fault(self) -> None:
        """Nowhere to note it."""
