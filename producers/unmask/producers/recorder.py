"""What sessions and operations need of whoever records them: the emitter, or what stands in where there is none."""

from typing import Protocol

from unmask.producers.claims import SessionClaims
from unmask.producers.payloads import KnownPayloads
from unmask.producers.report import Counts

__all__ = ["Recorder", "SessionHost"]


class Recorder(Protocol):
    """Takes records at once, and never raises."""

    @property
    def payloads(self) -> KnownPayloads:
        """What primaries last delivered."""
        ...

    def new_operation_id(self) -> str:
        """An id that no other operation has."""
        ...

    def note_fault(self) -> None:
        """Something inside the SDK failed and was kept from the host."""
        ...

    def record_route_attempt(self, capability: str, entry_point: str = "-", run_id: str | None = None) -> None:
        """A request entered `capability`."""
        ...

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
        """The legacy route answered."""
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
        """An upstream's failure was hidden by a substitute's answer."""
        ...


class SessionHost(Recorder, Protocol):
    """Takes sessions too."""

    def open_session(
        self, session_id: object, predecessor: object, primary_paths: frozenset[tuple[str, str]]
    ) -> SessionClaims:
        """The claims of a session that begins, or that another layer has begun already."""
        ...

    def close_session(self, claims: SessionClaims) -> None:
        """A layer leaves the session; the last one tears it down."""
        ...

    def teardowns_lost(self) -> int | None:
        """Teardowns that were dropped so far; None where that cannot be told without waiting."""
        ...

    def flush(self, timeout: float) -> bool:
        """Wait until nothing that was recorded before is pending; whether that is so."""
        ...

    def counts(self) -> Counts:
        """What became of everything recorded so far."""
        ...
