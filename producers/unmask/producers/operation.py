"""One operation of a session: a primary path, what stands in for it, and the record of who answered.

What failed on the way (A's fault) and who answered instead (B's answer) are kept apart; only when a substitute's
answer hid a failure is anything recorded. An error that reaches the caller is not hidden, so it is not recorded.
"""

from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, Unpack

from unmask.producers.calls import Calls
from unmask.producers.claims import SessionClaims
from unmask.producers.marks import NOT_GIVEN, Answered, Marks, Trying
from unmask.producers.masking import Concluding
from unmask.producers.options import Asked, MarkOptions
from unmask.producers.place import Hop, Place, leave
from unmask.producers.published import identifier
from unmask.producers.recorder import Recorder
from unmask.producers.route import Route
from unmask.producers.ways import Substitute
from unmask.schemas.codes import Equivalence

if TYPE_CHECKING:
    from unmask.producers.session import Session

__all__ = ["Operation"]

P = ParamSpec("P")


class Operation(Calls):
    """One unit of work as its caller sees it: retries and hops in it count as one.

    An operation is of one capability. A call in it that enters another one is an operation of its own, so that the
    fallbacks of each capability stand against that capability's attempts.
    """

    def __init__(
        self,
        recorder: Recorder,
        claims: SessionClaims,
        operation_id: str,
        session: "Session | None" = None,
        *,
        capability: str | None = None,
        entry_point: str = "-",
        run_id: str | None = None,
    ) -> None:
        self.operation_id = operation_id
        self._recorder = recorder
        self._claims = claims
        self._session = session
        self._unbound = Asked("-", capability=capability, entry_point=entry_point, run_id=run_id)
        # Filled once, by setdefault, so that of several threads one decides which capability it is of.
        self._bound: dict[str, Asked] = {} if capability is None else {"asked": self._unbound}
        self._concluding = Concluding(recorder, claims, operation_id)
        self._marks = Marks(self._concluding)
        self._entered: list[Place] = []

    @property
    def capability(self) -> str | None:
        """What it is of; None until a call in it enters one."""
        return self._asked.capability

    def begin(self) -> Self:
        """It counts from now on, and with its capability as an attempt. Doing so again changes nothing."""
        self._quietly(self._count)
        return self

    def __enter__(self) -> Self:
        place = Place(self._claims, self._session, self)
        self._entered.append(place)
        place.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave(self._entered)
        if not self._entered:
            self._quietly(self._marks.leave, self._asked, hidden=kind is None)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    # -- manual marks: for code that falls back by itself, and says what it did. They never raise an Exception.

    def trying(self, upstream: str) -> Trying:
        """A context in which `upstream` is tried: what it raises is its failure, if it raises nothing it answered.

        Failures that were marked and that the caller of the operation does not see when it ends were hidden by
        whoever answered: answered() says who, else it is the last one that was tried and raised nothing.
        """
        self._quietly(self._claims.meet, upstream)
        return Trying(self._claims, self._session, self, Hop(upstream))

    def failed(self, upstream: str, error: object = None) -> None:
        """`upstream` failed. Where `error` is not stated: what is being handled, or else what was swallowed."""
        self._quietly(self._marks.failed, upstream, error)

    def not_attempted(self, upstream: str) -> None:
        """`upstream` was not even asked, for example because a breaker is open."""
        self._quietly(self._marks.failed, upstream, "NOT_ATTEMPTED")

    def went_well(self, target: str) -> None:
        """`target` raised nothing. Where nobody else is said to have answered, it was this one."""
        self._quietly(self._marks.went_well, target)

    def answered(
        self,
        by: str,
        *,
        answer: object = NOT_GIVEN,
        equivalence: Equivalence = Equivalence.UNPROVEN,
        **options: Unpack[MarkOptions],
    ) -> None:
        """`by` answered, after the failures that were marked before. The upstream that failed first makes it a retry.

        With `answer` (and `request`) its payload is compared with what the primary last delivered, or remembered as
        that where nothing had failed.
        """
        asked = replace(self._asked, **options)
        self._quietly(self._marks.answered, asked, Answered(by, asked.receipt, equivalence), answer)

    def fell_back(
        self,
        upstream: str,
        by: str,
        error: object = None,
        *,
        answer: object = NOT_GIVEN,
        equivalence: Equivalence = Equivalence.UNPROVEN,
        **options: Unpack[MarkOptions],
    ) -> None:
        """`upstream` failed and `by` answered: failed() and answered() in one."""
        self.failed(upstream, error)
        self.answered(by, answer=answer, equivalence=equivalence, **options)

    # -- calls

    def begin_call(self, asked: Asked, *, tried: bool) -> tuple[Route, Callable[[Substitute], Place]]:
        """Begin a call of this operation: its route, and the place in which to try a way. Never raises an Exception."""
        try:
            operation = self._of(asked)
        except Exception:
            self._recorder.note_fault()
            operation = self
        operation.begin()
        route = Route(operation._concluding, asked)
        if not tried:
            route.not_attempted()
        return route, operation._place_of

    def _operation_for(self, operation_id: str | None) -> "Operation":
        if operation_id is None:
            return self
        return Operation(self._recorder, self._claims, identifier(operation_id), self._session)

    @property
    def _asked(self) -> Asked:
        return self._bound.get("asked", self._unbound)

    def _count(self) -> None:
        asked = self._asked
        self._claims.operation(self.operation_id)
        if asked.capability is not None and self._claims.first_attempt(self.operation_id, asked.capability):
            self._recorder.record_route_attempt(asked.capability, asked.entry_point, asked.run_id)

    def _of(self, asked: Asked) -> "Operation":
        """The operation that a call belongs to: this one, or one of its own where this one is of another capability."""
        if asked.capability is None:
            return self
        mine = replace(self._unbound, capability=asked.capability, entry_point=asked.entry_point, run_id=asked.run_id)
        if self._bound.setdefault("asked", mine).capability == asked.capability:
            return self
        return Operation(
            self._recorder, self._claims, self._recorder.new_operation_id(), self._session,
            capability=asked.capability, entry_point=asked.entry_point, run_id=asked.run_id,
        )  # fmt: skip

    def _place_of(self, way: Substitute) -> Place:
        self._quietly(self._claims.meet, way.target)
        return Place(self._claims, self._session, self, Hop(way.target))

    def _quietly(self, step: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            step(*args, **kwargs)
        except Exception:
            self._recorder.note_fault()
