"""From the tuples of the lanes to events as they are published: clean labels, clean identifiers, the wire's shape."""

from typing import Any, NamedTuple

from unmask.producers.buffer import RawEvent
from unmask.producers.published import NO_ENTRY_POINT, UNSPECIFIED, Vocabulary, identifier, optional_identifier
from unmask.schemas.codes import Family

__all__ = ["Cleaner", "Event"]


class Event(NamedTuple):
    """One event that waits for its batch. A plain tuple: attempts come by the hundred thousand."""

    micros: int
    family: Family | None
    """None for a session's opening."""
    body: Any
    """Attempts: (capability, entry_point, run_id or ""). Others: the wire's record without occurred_at."""


class Cleaner:
    """Cleans the events of one emitter; its vocabularies bound the labels."""

    def __init__(self, label_limit: int) -> None:
        self._capability = Vocabulary(label_limit)
        self._entry_point = Vocabulary(label_limit)
        self._upstream = Vocabulary(label_limit)

    def clean(self, family: Family | None, raw: RawEvent) -> Event:
        """The event in `raw`. May raise anything that a foreign object raises."""
        return Event(raw[0] // 1000, family, self._body(family, raw))

    def _body(self, family: Family | None, raw: RawEvent) -> Any:
        if family is Family.ROUTE_ATTEMPT:
            _, capability, entry_point, run_id = raw
            entry = UNSPECIFIED if _no_entry_point(entry_point) else self._entry_point(entry_point)
            return self._capability(capability), entry, optional_identifier(run_id) or ""
        if family is Family.KERNEL_FALLBACK:
            return self._fallback(raw)
        if family is Family.MASKED_ERROR:
            return self._masked(raw)
        if family is Family.SESSION_TEARDOWN:
            return raw[1]
        _, session_id, predecessor = raw
        return {"session_id": identifier(session_id), "predecessor_session_id": optional_identifier(predecessor)}

    def _fallback(self, raw: RawEvent) -> dict[str, Any]:
        _, capability, reason, entry_point, run_id, tenant_id, conversation_id, session_id, operation_id = raw
        return {
            "event_type": "kernel_fallback.v1",
            "capability": self._capability(capability),
            "reason_code": str(reason),
            "route_expected": "kernel",
            "runtime_route": "legacy",
            "entry_point": None if _no_entry_point(entry_point) else self._entry_point(entry_point),
            "run_id": optional_identifier(run_id),
            "tenant_id": optional_identifier(tenant_id),
            "conversation_id": optional_identifier(conversation_id),
            "session_id": session_id,
            "operation_id": operation_id,
        }

    def _masked(self, raw: RawEvent) -> dict[str, Any]:
        _, session_id, operation_id, upstream, signature, receipt, equivalence, primary_shape, fallback_shape = raw
        return {
            "session_id": session_id,
            "operation_id": operation_id,
            "upstream": self._upstream(upstream),
            "masked_upstream_signature": signature,
            "fallback_execution_receipt": identifier(receipt),
            "equivalence": str(equivalence),
            "primary_shape": optional_identifier(primary_shape),
            "fallback_shape": optional_identifier(fallback_shape),
        }


def _no_entry_point(raw: object) -> bool:
    return raw is None or (type(raw) is str and raw == NO_ENTRY_POINT)
