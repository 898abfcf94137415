"""A session of work as agent code uses it: a context that counts operations and says at its end how it went."""

from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar, Unpack

from unmask.producers.calls import Calls
from unmask.producers.carrying import carried
from unmask.producers.claims import SessionClaims
from unmask.producers.delivered import TeardownDelivery
from unmask.producers.log_watch import watch_logging
from unmask.producers.marks import NOT_GIVEN, cause_of
from unmask.producers.operation import Operation
from unmask.producers.options import MarkOptions
from unmask.producers.place import Place, here, leave
from unmask.producers.published import identifier
from unmask.producers.recorder import SessionHost
from unmask.producers.uncaught import watch_threads
from unmask.schemas.codes import Equivalence, Family

__all__ = ["Session"]

P = ParamSpec("P")
R = TypeVar("R")


class Session(Calls):
    """Opened on entry; on exit torn down with its outcome. An exception is a failure and goes on unchanged.

    A second layer of the same host that opens the same session joins it: one opening, one teardown. A call inside of
    another call's function, or inside of `with session.operation()`, belongs to that operation.
    """

    def __init__(
        self,
        emitter: SessionHost,
        session_id: str,
        predecessor: str | None,
        primary_paths: frozenset[tuple[str, str]],
        *,
        trace: bool = True,
        bystanders: frozenset[str] = frozenset(),
    ) -> None:
        self._emitter = emitter
        self._session_id = session_id
        self._predecessor = predecessor
        self._primary_paths = primary_paths
        self._trace = trace
        self._bystanders = bystanders
        self._claims: SessionClaims | None = None
        self._places: list[Place] = []
        self._lost_before: int | None = None

    @property
    def session_id(self) -> str:
        """The identifier as it is published, and as the gate knows it."""
        return identifier(self._session_id)

    @property
    def operations(self) -> int:
        """Operations so far."""
        return self._open().operations

    @property
    def degraded_operations(self) -> int:
        """Those of them that went through a fallback."""
        return self._open().degraded_operations

    # -- its life

    def __enter__(self) -> Self:
        self._claims = claims = self._emitter.open_session(self._session_id, self._predecessor, self._primary_paths)
        if self._trace:
            claims.listen(self._bystanders)
            watch_logging()
        place = Place(claims, self)
        self._places.append(place)
        place.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        claims = self._claims
        if claims is None or not self._places:
            return
        leave(self._places)
        claims.failed |= kind is not None
        self._lost_before = self._emitter.teardowns_lost()
        self._emitter.close_session(claims)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def begin(self) -> Self:
        """Open it where a context does not fit; end() tears it down, as does the death of the thread that opened it."""
        watch_threads()
        return self.__enter__()

    def end(self, error: BaseException | None = None, *, wait: float = 0.0) -> TeardownDelivery:
        """Tear it down, as failed with an `error`, and say after at most `wait` seconds what became of the teardown."""
        self.__exit__(None if error is None else type(error), error, None)
        return self.delivery(wait)

    def fail(self) -> None:
        """The objective was not reached, although no exception says so."""
        self._open().failed = True

    def delivery(self, wait: float = 5.0) -> TeardownDelivery:
        """Whether the broker has the teardown, and so all that was recorded before; waits at most `wait` seconds.

        The process need not end for it, nor the emitter be closed. A coroutine asks in a thread (asyncio.to_thread).
        """
        settled = self._emitter.flush(wait)
        counts = self._emitter.counts()
        lost = counts[Family.SESSION_TEARDOWN].lost - (self._lost_before or 0)
        return TeardownDelivery(
            acknowledged=settled and not lost and self._claims is not None and self._claims.ended,
            lost=lost,
            pending=sum(count.pending for count in counts.families.values()),
        )

    # -- operations

    def operation(
        self,
        operation_id: str | None = None,
        *,
        capability: str | None = None,
        entry_point: str = "-",
        run_id: str | None = None,
    ) -> Operation:
        """One operation, for several calls that are one piece of work, or for an id that other layers report too.

        As a context it takes in all calls inside of it. With `capability` it is an attempt, whatever it goes on to do.
        """
        return self._new(operation_id, capability, entry_point, run_id).begin()

    def fell_back(
        self,
        upstream: str,
        by: str,
        error: object = None,
        *,
        operation_id: str | None = None,
        capability: str | None = None,
        entry_point: str = "-",
        run_id: str | None = None,
        answer: object = NOT_GIVEN,
        equivalence: Equivalence = Equivalence.UNPROVEN,
        **options: Unpack[MarkOptions],
    ) -> None:
        """Mark by hand that `upstream` failed and `by` answered. Never raises an Exception.

        Where `error` is not stated, it is what is being handled now, or else what was swallowed in this session; see
        Operation.failed.
        """
        claims = self._open()
        joined = self._joined() if operation_id is None else None
        if joined is None or (capability is not None and joined.capability != capability):
            if error is None:
                error = cause_of(claims, upstream, None)
            joined = self.operation(operation_id, capability=capability, entry_point=entry_point, run_id=run_id)
        joined.fell_back(upstream, by, error, answer=answer, equivalence=equivalence, **options)

    # -- threads

    def carry(self, work: Callable[P, R]) -> Callable[P, R]:
        """`work`, to be run in another thread as if it ran here: in this session, and the operation that runs now."""
        place = self._place()
        return carried(Place(self._open(), self) if place is None else place, work)

    # --

    def _open(self) -> SessionClaims:
        # Work outside of the context is done and recorded all the same: telemetry must not break a host that is
        # careless about it. Whatever the teardown did not claim, the stream will see and say.
        if self._claims is None:
            self._claims = SessionClaims(self.session_id, self._primary_paths)
        return self._claims

    def _place(self) -> Place | None:
        """The innermost place of this session that the code runs at; sessions that were opened in it are passed by."""
        place = here()
        while place is not None and (place.left or place.claims is not self._claims):
            place = place.outer
        return place

    def _joined(self) -> Operation | None:
        place = self._place()
        return None if place is None else place.operation

    def _operation_for(self, operation_id: str | None) -> Operation:
        joined = self._joined() if operation_id is None else None
        return self._new(operation_id, None, "-", None) if joined is None else joined

    def _new(self, operation_id: str | None, capability: str | None, entry_point: str, run_id: str | None) -> Operation:
        name = self._emitter.new_operation_id() if operation_id is None else identifier(operation_id)
        return Operation(
            self._emitter, self._open(), name, self, capability=capability, entry_point=entry_point, run_id=run_id
        )
