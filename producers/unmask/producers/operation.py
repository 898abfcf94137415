"""One operation of a session: a primary path, what stands in for it, and the record of who answered.

What failed on the way (A's fault) and who answered instead (B's answer) are kept apart; only when a substitute's
answer hid a failure is anything recorded. An error that reaches the caller is not hidden, so it is not recorded.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

from unmask.producers.claims import SessionClaims
from unmask.producers.classify import classify_upstream
from unmask.producers.classify_reason import reason_of_signature
from unmask.schemas.codes import Equivalence

if TYPE_CHECKING:
    from unmask.producers.emitter import Emitter

__all__ = ["Operation", "Substitute"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Substitute:
    """What may answer instead of the primary path."""

    target: str
    """Which upstream, model, cache or route it is. The primary's own name makes it a retry."""
    call: Callable[[], Any]
    receipt: object = None
    """What identifies its answer, or a function from the answer to that; the target's name where not given."""
    equivalence: Equivalence = Equivalence.UNPROVEN


@dataclass(frozen=True, slots=True)
class _Hop:
    target: str
    signature: str


class Operation:
    """One unit of work as its caller sees it: retries and hops in it count as one."""

    def __init__(self, emitter: "Emitter", claims: SessionClaims, operation_id: str) -> None:
        self.operation_id = operation_id
        self._emitter = emitter
        self._claims = claims
        claims.operation(operation_id)

    def __enter__(self) -> "Operation":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def call(
        self,
        upstream: str,
        primary: Callable[[], T],
        *substitutes: Substitute | Callable[[], T],
        receipt: object = None,
        capability: str | None = None,
        entry_point: str = "-",
        run_id: str | None = None,
    ) -> T:
        """The first answer of `primary` and its substitutes, in order. The last error where none answers.

        With `capability` a route attempt is recorded, and a fallback where a substitute answered.
        """
        self._attempt(capability, entry_point, run_id)
        hops: list[_Hop] = []
        last: Exception | None = None
        for way in _ways(upstream, primary, substitutes, receipt):
            try:
                answer: T = way.call()
            except Exception as error:
                hops.append(_Hop(way.target, classify_upstream(error)))
                last = error
            else:
                self._answered(hops, way, answer, capability, entry_point, run_id)
                return answer
        assert last is not None
        raise last

    async def acall(
        self,
        upstream: str,
        primary: Callable[[], Awaitable[T] | T],
        *substitutes: Substitute | Callable[[], Awaitable[T] | T],
        receipt: object = None,
        capability: str | None = None,
        entry_point: str = "-",
        run_id: str | None = None,
    ) -> T:
        """call() for functions whose answers are awaited; plain ones may stand among them."""
        self._attempt(capability, entry_point, run_id)
        hops: list[_Hop] = []
        last: Exception | None = None
        for way in _ways(upstream, primary, substitutes, receipt):
            try:
                answer = way.call()
                if isawaitable(answer):
                    answer = await answer
            except Exception as error:
                hops.append(_Hop(way.target, classify_upstream(error)))
                last = error
            else:
                self._answered(hops, way, answer, capability, entry_point, run_id)
                return answer  # type: ignore[no-any-return]
        assert last is not None
        raise last

    def _attempt(self, capability: str | None, entry_point: str, run_id: str | None) -> None:
        if capability is not None:
            self._claims.attempt()
            self._emitter.record_route_attempt(capability, entry_point, run_id)

    def _answered(
        self, hops: list[_Hop], way: Substitute, answer: Any, capability: str | None, entry_point: str,
        run_id: str | None,
    ) -> None:  # fmt: skip
        if not hops:
            return
        try:
            self._record(hops, way, answer, capability, entry_point, run_id)
        except Exception:
            # The caller has an answer, and is to get it whatever is wrong with the labels beside it.
            self._emitter.note_fault()

    def _record(
        self, hops: list[_Hop], way: Substitute, answer: Any, capability: str | None, entry_point: str,
        run_id: str | None,
    ) -> None:  # fmt: skip
        upstream = hops[0].target
        # Answered by the primary itself, at the first try or a later one: nothing is hidden.
        if way.target == upstream or (upstream, way.target) in self._claims.primary_paths:
            return
        session, operation = self._claims.session_id, self.operation_id
        receipt = _receipt(way, answer)
        failed = {hop.target: hop.signature for hop in reversed(hops)}
        failed.pop(way.target, None)
        for target in reversed(failed):
            self._emitter.record_masked_error(
                session, operation, target, failed[target], receipt, equivalence=way.equivalence, answered_by=way.target
            )
        if capability is not None and upstream in failed:
            self._emitter.record_fallback(
                capability, reason_of_signature(failed[upstream]), entry_point=entry_point, run_id=run_id,
                session_id=session, operation_id=operation,
            )  # fmt: skip


def _ways(
    upstream: str, primary: Callable[[], Any], substitutes: tuple[Substitute | Callable[[], Any], ...], receipt: object
) -> Iterator[Substitute]:
    yield Substitute(upstream, primary)
    for number, substitute in enumerate(substitutes, 1):
        if isinstance(substitute, Substitute):
            yield substitute
        elif substitute is primary:
            yield Substitute(upstream, primary)
        else:
            yield Substitute(f"substitute-{number}", substitute, receipt)


def _receipt(way: Substitute, answer: Any) -> str:
    receipt = way.receipt
    try:
        if callable(receipt):
            receipt = receipt(answer)
        return way.target if receipt is None else str(receipt)
    except Exception:
        return way.target
