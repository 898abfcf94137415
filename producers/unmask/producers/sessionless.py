"""Calls outside of any session: the work is done, and what a sink can be told without a session it is told.

An attempt and a fallback count for their capability all the same. A masked error has no place to go.
"""

from itertools import count

from unmask.producers.claims import SessionClaims
from unmask.producers.operation import Operation
from unmask.producers.payloads import KnownPayloads
from unmask.producers.port import FallbackTelemetrySink, get_sink

__all__ = ["operation_outside"]


def operation_outside(sink: FallbackTelemetrySink | None = None) -> Operation:
    """An operation of no session, which records into `sink`, by default the one of this process."""
    return Operation(_Outside(get_sink() if sink is None else sink), SessionClaims("-", frozenset()), "-")


class _Outside:
    """Records without a session."""

    payloads = KnownPayloads(0)
    _operations = count(1)

    def __init__(self, sink: FallbackTelemetrySink) -> None:
        self._sink = sink

    def new_operation_id(self) -> str:
        """An id; nothing is recorded under it."""
        return f"op-{next(self._operations)}"

    def note_fault(self) -> None:
        """Nowhere to note it."""

    def record_route_attempt(self, capability: str, entry_point: str = "-", run_id: str | None = None) -> None:
        """To the sink."""
        self._sink.record_route_attempt(capability, entry_point, run_id)

    def record_fallback(
        self,
        capability: str,
        reason: object,
        *,
        entry_point: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        operation_id: str | None = None,
    ) -> None:
        """To the sink, without the session and operation that there are not."""
        self._sink.record_fallback(capability, reason, entry_point=entry_point, run_id=run_id)

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
        """Nothing: there is no session that it could belong to."""
