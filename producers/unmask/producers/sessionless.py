"""Work that no emitter takes a session of: it is done all the same, and recorded as far as it can be.

Outside of any session an attempt and a fallback still count for their capability; a masked error has no place to go.
Where nothing is wired there are sessions as well, so that a library need not ask; they record nothing.
"""

from itertools import count

from unmask.producers.claims import SessionClaims
from unmask.producers.operation import Operation
from unmask.producers.payloads import KnownPayloads
from unmask.producers.port import FallbackTelemetrySink, get_sink
from unmask.producers.published import identifier
from unmask.producers.report import FAMILIES, Counts, FamilyCount
from unmask.producers.session import Session

__all__ = ["operation_outside", "unrecorded_session"]


def operation_outside(sink: FallbackTelemetrySink | None = None) -> Operation:
    """An operation of no session, which records into `sink`, by default the one of this process."""
    return Operation(_Outside(get_sink() if sink is None else sink), SessionClaims("-", frozenset()), "-")


def unrecorded_session(sink: FallbackTelemetrySink, session_id: str, predecessor: str | None) -> Session:
    """A session over a sink that has none: calls go through their substitutes, and no teardown is ever delivered."""
    return Session(_Unwired(sink), session_id, predecessor, frozenset(), trace=False)


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


class _Unwired(_Outside):
    """Stands in for an emitter where there is none, for one session."""

    _claims: SessionClaims | None = None

    def open_session(
        self, session_id: object, predecessor: object, primary_paths: frozenset[tuple[str, str]]
    ) -> SessionClaims:
        """Claims that nobody will hear."""
        self._claims = SessionClaims(identifier(session_id), primary_paths)
        return self._claims

    def close_session(self, claims: SessionClaims) -> None:
        """Nothing to tear down."""

    def teardowns_lost(self) -> int | None:
        """None were recorded."""
        return 0

    def flush(self, timeout: float) -> bool:
        """Nothing is pending, and nothing was delivered."""
        return False

    def counts(self) -> Counts:
        """Nothing was recorded."""
        return Counts("-", {family: FamilyCount() for family in FAMILIES})

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
        """Counted for whoever asks the session itself."""
        if self._claims is not None:
            self._claims.masked(operation_id)
