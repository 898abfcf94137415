"""From the tuples of the lanes to events as they are published: clean labels, clean identifiers, the wire's shape."""

from collections.abc import Callable, Iterable
from typing import Any

from unmask.producers.buffer import RawEvent
from unmask.producers.further_events import FurtherCleaner
from unmask.producers.published import NO_ENTRY_POINT, UNSPECIFIED, Vocabulary, identifier, optional_identifier
from unmask.producers.report import FAMILIES
from unmask.schemas.codes import Family
from unmask.schemas.tokens import is_token

__all__ = ["ATTEMPT", "LANES", "OPENING", "Cleaner", "Event"]

LANES = (*FAMILIES, None)
"""Families in the order of their lanes; the last lane is that of sessions' openings."""
ATTEMPT, OPENING = LANES.index(Family.ROUTE_ATTEMPT), LANES.index(None)

Event = tuple[int, int, Any]
"""One event that waits for its batch: microseconds, its lane's place in LANES, its body.

Attempts come by the hundred thousand, so that theirs is ((capability, entry_point), run_id or ""); that of others is
the wire's record without occurred_at. Tuples of texts and numbers are nothing that the garbage collector, which stops
the host, goes through more than once; an object of a class of its own, or a member of an enum in it, would be.
"""

_MOST_PAIRS = 4_096
_NONE: dict[str, tuple[str, str]] = {}


class Cleaner:
    """Cleans the events of one emitter; its vocabularies bound the labels."""

    def __init__(self, label_limit: int) -> None:
        self._capability = Vocabulary(label_limit)
        self._entry_point = Vocabulary(label_limit)
        self._upstream = Vocabulary(label_limit)
        self._further = FurtherCleaner(label_limit)
        self._pairs: dict[str, dict[str, tuple[str, str]]] = {}
        """What capability and entry point are published as, for pairs of tokens."""
        self._pairs_left = _MOST_PAIRS

    def clean(self, family: Family | None, raw: RawEvent) -> Event:
        """The event in `raw`. May raise anything that a foreign object raises."""
        return raw[0] // 1000, LANES.index(family), self._body(family, raw)

    def clean_attempts(self, raws: Iterable[RawEvent], refuse: Callable[[], None]) -> list[Event]:
        """As clean() for many attempts; `refuse` is called for each that raises."""
        events: list[Event] = []
        add, pairs = events.append, self._pairs
        for raw in raws:
            try:
                now, capability, entry_point, run_id = raw
                if type(capability) is str and type(entry_point) is str:
                    pair = pairs.get(capability, _NONE).get(entry_point) or self._pair(capability, entry_point)
                else:
                    pair = self._pair(capability, entry_point)
                if run_id is None:
                    run = ""
                else:
                    run = run_id if type(run_id) is str and is_token(run_id) else optional_identifier(run_id) or ""
                add((now // 1000, ATTEMPT, (pair, run)))
            except Exception:
                refuse()
        return events

    def _pair(self, capability: object, entry_point: object) -> tuple[str, str]:
        entry = UNSPECIFIED if _no_entry_point(entry_point) else self._entry_point(entry_point)
        pair = (self._capability(capability), entry)
        # Only what is published as it is may be remembered: raw texts must not pile up.
        texts = type(capability) is str and type(entry_point) is str
        if texts and self._pairs_left and capability == pair[0] and entry_point in (entry, NO_ENTRY_POINT):
            self._pairs_left -= 1
            self._pairs.setdefault(pair[0], {})[entry if entry == entry_point else NO_ENTRY_POINT] = pair
        return pair

    def _body(self, family: Family | None, raw: RawEvent) -> Any:
        if family is Family.ROUTE_ATTEMPT:
            _, capability, entry_point, run_id = raw
            return self._pair(capability, entry_point), optional_identifier(run_id) or ""
        if family is Family.KERNEL_FALLBACK:
            return self._fallback(raw)
        if family is Family.MASKED_ERROR:
            return self._masked(raw)
        if family is Family.SESSION_TEARDOWN:
            return raw[1]
        if family is not None:
            return self._further.body(family, raw)
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
