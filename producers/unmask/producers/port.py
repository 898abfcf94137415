"""The port: what a library that has fallbacks depends on. Standard library only, and nothing else of this project.

A library takes a sink (or asks `get_sink()`) and records; the host decides once what stands behind it. Without a
decision a `NullSink` stands there: it does nothing, and says so.
"""

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

__all__ = ["AgentTelemetrySink", "FallbackTelemetrySink", "NullSink", "get_sink", "set_sink", "wiring_problem"]


@runtime_checkable
class FallbackTelemetrySink(Protocol):
    """Takes what a host falls back from. Every call returns at once, never raises and never changes routing."""

    @property
    def wired(self) -> bool:
        """Whether records go anywhere."""
        ...

    def record_route_attempt(self, capability: str, entry_point: str = "-", run_id: str | None = None) -> None:
        """A request entered a capability. The denominator of every rate, so it is recorded for each request."""
        ...

    def record_fallback(
        self,
        capability: str,
        reason: object,
        *,
        entry_point: str | None = None,
        run_id: str | None = None,
        tenant_id: str | None = None,
        conversation_id: str | None = None,
        session_id: str | None = None,
        operation_id: str | None = None,
    ) -> None:
        """The legacy route answered. `reason` is an exception, a status or a text; only its code is kept."""
        ...

    def record_masked_error(
        self,
        session_id: str,
        operation_id: str,
        upstream: str,
        error_or_signature: object,
        receipt: str,
        *,
        equivalence: str = "unproven",
        answered_by: str | None = None,
        primary_shape: str | None = None,
        fallback_shape: str | None = None,
    ) -> None:
        """An upstream's failure was hidden by a substitute answer, which `receipt` names."""
        ...

    def session(self, session_id: str, predecessor: str | None = None) -> AbstractContextManager[Any]:
        """A session of work: opened on entry, torn down with its outcome on exit."""
        ...


@runtime_checkable
class AgentTelemetrySink(FallbackTelemetrySink, Protocol):
    """Takes selections and delegations, too. A sink of the host's own need not: ask with isinstance."""

    def record_selection(
        self,
        session_id: object,
        turn: int,
        profile: str,
        *,
        source: str,
        scope: str,
        timeline: str,
        cleared_by: str | None = None,
        reason_code: object = None,
        emergency: bool = False,
        expires_at: datetime | None = None,
    ) -> None:
        """A profile was used in a turn, written down for later turns, or taken back."""
        ...

    def record_delegation_progress(self, *args: Any, **fields: Any) -> None:
        """A call of a delegation ended."""
        ...

    def record_delegation_effect(self, *args: Any, **fields: Any) -> None:
        """What became of an effect that a delegation wanted."""
        ...


class NullSink:
    """Records nothing, visibly: `wired` is False and `wiring_problem` names it."""

    wired = False

    def record_route_attempt(self, capability: str, entry_point: str = "-", run_id: str | None = None) -> None:
        """Nothing."""

    def record_fallback(
        self,
        capability: str,
        reason: object,
        *,
        entry_point: str | None = None,
        run_id: str | None = None,
        tenant_id: str | None = None,
        conversation_id: str | None = None,
        session_id: str | None = None,
        operation_id: str | None = None,
    ) -> None:
        """Nothing."""

    def record_masked_error(
        self,
        session_id: str,
        operation_id: str,
        upstream: str,
        error_or_signature: object,
        receipt: str,
        *,
        equivalence: str = "unproven",
        answered_by: str | None = None,
        primary_shape: str | None = None,
        fallback_shape: str | None = None,
    ) -> None:
        """Nothing."""

    def session(
        self, session_id: str, predecessor: str | None = None, **_options: object
    ) -> AbstractContextManager[Any]:
        """A session that records nothing: its calls and marks work, so that a library need not ask what it has."""
        # Imported here: a library that opens no session pays for the standard library alone.
        from unmask.producers.sessionless import unrecorded_session

        return unrecorded_session(self, session_id, predecessor)

    def record_selection(
        self,
        session_id: object,
        turn: int,
        profile: str,
        *,
        source: str,
        scope: str,
        timeline: str,
        cleared_by: str | None = None,
        reason_code: object = None,
        emergency: bool = False,
        expires_at: datetime | None = None,
    ) -> None:
        """Nothing."""

    def record_delegation_progress(self, *_args: Any, **_fields: Any) -> None:
        """Nothing."""

    def record_delegation_effect(self, *_args: Any, **_fields: Any) -> None:
        """Nothing."""

    def selections(self, session: object, **options: Any) -> Any:
        """The guard of a session's selections: it chooses and refuses as ever, and nothing is recorded."""
        from unmask.producers.selection import Selections

        return Selections(self, session, **options)

    def delegation(self, delegation_id: str, **options: Any) -> AbstractContextManager[Any]:
        """A delegation that records nothing: its budgets and its breaker hold all the same, in this process."""
        from unmask.producers.delegation.unwired import unrecorded_delegation

        return unrecorded_delegation(self, delegation_id, **options)


_sink: FallbackTelemetrySink = NullSink()


def set_sink(sink: FallbackTelemetrySink) -> FallbackTelemetrySink:
    """Decide what stands behind `get_sink()` in this process; returns what stood there before."""
    global _sink
    before, _sink = _sink, sink
    return before


def get_sink() -> FallbackTelemetrySink:
    """The sink of this process; a `NullSink` until the host has decided."""
    return _sink


def wiring_problem(sink: FallbackTelemetrySink | None = None) -> str | None:
    """What is wrong with the wiring of `sink` (default: this process's), in one sentence; None where nothing is."""
    chosen = get_sink() if sink is None else sink
    if getattr(chosen, "wired", False) is True:
        return None
    return (
        f"fallback telemetry is not wired: {type(chosen).__name__} records nothing, so every window stays ABSENT; "
        "call unmask.producers.set_sink(Emitter(...)) at the start of the host"
    )
