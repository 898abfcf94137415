"""Manual marks of one operation: for code that falls back by itself, and only says what it did."""

import sys
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from unmask.producers.claims import SessionClaims
from unmask.producers.classify import UNATTRIBUTED, classify_swallowed, classify_upstream
from unmask.producers.masking import Concluding
from unmask.producers.options import Asked
from unmask.producers.payloads import Sight
from unmask.producers.place import Place, here
from unmask.producers.ways import FailedHop
from unmask.schemas.codes import Equivalence

__all__ = ["NOT_GIVEN", "UNSTATED", "Answered", "Marks", "Trying", "cause_of"]

UNSTATED = "unstated"
"""Who answered, where nobody said so although a failure before it was marked."""
NOT_GIVEN = object()
"""No answer was handed in; None may be one."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Who answered, by the host's word."""

    target: str
    receipt: object = None
    equivalence: Equivalence = Equivalence.UNPROVEN


class Marks:
    """What was marked in one operation and not concluded yet. May raise; the operation keeps that from the host."""

    __slots__ = ("_concluding", "_hops", "_since", "_well")

    def __init__(self, concluding: Concluding) -> None:
        trace = concluding.claims.trace
        self._concluding = concluding
        self._since = 0 if trace is None else trace.begin()
        self._hops: list[FailedHop] = []
        self._well: str | None = None

    def failed(self, upstream: str, error: object) -> None:
        """`upstream` failed, with `error` where it is stated."""
        claims = self._concluding.claims
        claims.meet(upstream)
        if error is None:
            signature = cause_of(claims, upstream, self._concluding.operation_id, since=self._since)
        else:
            place = here()
            signature = classify_upstream(error, handling=0 if place is None else place.handling)
        self._hops.append(FailedHop(upstream, signature))
        self._well = None

    def went_well(self, target: str) -> None:
        """A try of `target` raised nothing."""
        self._well = target

    def answered(self, asked: Asked, by: Answered, answer: object) -> None:
        """`by` answered, whatever failed before."""
        hops, self._hops, self._well = self._hops, [], None
        asked = replace(asked, upstream=hops[0].target if hops else by.target)
        sight = None
        if answer is not NOT_GIVEN and asked.compare:
            sight = Sight(asked)
            sight.add(answer)
        self._concluding.answered(asked, hops, by, None if answer is NOT_GIVEN else answer, sight)

    def leave(self, asked: Asked, *, hidden: bool) -> None:
        """The operation ends. Failures that its caller does not see were hidden, by whom ever."""
        if hidden and self._hops:
            self.answered(asked, Answered(UNSTATED if self._well is None else self._well), NOT_GIVEN)
        self._hops = []


def cause_of(claims: SessionClaims, upstream: str, operation_id: str | None, *, since: int = 0) -> str:
    """The signature of a failure of `upstream` that nobody states: what is being handled now, or what was swallowed.

    An exception that was being handled already when the work began is another story. Never raises an Exception.
    """
    try:
        return _cause_of(claims, upstream, operation_id, since)
    except Exception:
        return UNATTRIBUTED


def _cause_of(claims: SessionClaims, upstream: str, operation_id: str | None, since: int) -> str:
    place = here()
    mine = place if place is not None and place.claims is claims else None
    handling = 0 if mine is None else mine.handling
    handled = sys.exception()
    if isinstance(handled, Exception) and id(handled) != handling:
        return classify_swallowed(handled, handling=handling) or UNATTRIBUTED
    if mine is None or mine.operation is None:
        operation_id = None
    return claims.swallowed(upstream, operation_id, since=since)


class Trying(Place):
    """A try of one upstream, as a context. What it raises is marked as its failure, and goes on unchanged."""

    __slots__ = ()

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        operation, hop = self.operation, self.hop
        try:
            if operation is None or hop is None:
                return
            if isinstance(error, Exception):
                operation.failed(hop.target, error)
            elif error is None:
                operation.went_well(hop.target)
        finally:
            super().__exit__()
