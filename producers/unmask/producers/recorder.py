"""What operations need of whoever records them: the emitter, or what stands in for it outside of any session."""

from typing import Protocol

from unmask.producers.payloads import KnownPayloads

__all__ = ["Recorder"]


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
