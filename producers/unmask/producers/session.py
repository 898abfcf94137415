"""A session of work as agent code uses it: a context that counts operations and says at its end how it went."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from unmask.producers.claims import SessionClaims
from unmask.producers.operation import Operation, Substitute
from unmask.producers.published import identifier

if TYPE_CHECKING:
    from unmask.producers.emitter import Emitter

__all__ = ["Session"]

T = TypeVar("T")


class Session:
    """Opened on entry; on exit torn down with its outcome. An exception is a failure and goes on unchanged.

    A second layer of the same host that opens the same session joins it: one opening, one teardown.
    """

    def __init__(
        self, emitter: "Emitter", session_id: str, predecessor: str | None, primary_paths: frozenset[tuple[str, str]]
    ) -> None:
        self._emitter = emitter
        self._session_id = session_id
        self._predecessor = predecessor
        self._primary_paths = primary_paths
        self._claims: SessionClaims | None = None

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

    def __enter__(self) -> Self:
        self._claims = self._emitter.open_session(self._session_id, self._predecessor, self._primary_paths)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        claims = self._claims
        if claims is not None:
            claims.failed |= kind is not None
            self._emitter.close_session(claims)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def fail(self) -> None:
        """The objective was not reached, although no exception says so."""
        self._open().failed = True

    def operation(self, operation_id: str | None = None) -> Operation:
        """One operation, for several calls that are one piece of work, or for an id that other layers report too."""
        name = self._emitter.new_operation_id() if operation_id is None else identifier(operation_id)
        return Operation(self._emitter, self._open(), name)

    def call(
        self,
        upstream: str,
        primary: Callable[[], T],
        *substitutes: Substitute | Callable[[], T],
        receipt: object = None,
        capability: str | None = None,
        entry_point: str = "-",
        run_id: str | None = None,
        operation_id: str | None = None,
    ) -> T:
        """Operation.call as an operation of its own."""
        return self.operation(operation_id).call(
            upstream, primary, *substitutes, receipt=receipt, capability=capability, entry_point=entry_point,
            run_id=run_id,
        )  # fmt: skip

    async def acall(
        self,
        upstream: str,
        primary: Callable[[], Awaitable[T] | T],
        *substitutes: Substitute | Callable[[], Awaitable[T] | T],
        receipt: object = None,
        capability: str | None = None,
        entry_point: str = "-",
        run_id: str | None = None,
        operation_id: str | None = None,
    ) -> T:
        """Operation.acall as an operation of its own."""
        return await self.operation(operation_id).acall(
            upstream, primary, *substitutes, receipt=receipt, capability=capability, entry_point=entry_point,
            run_id=run_id,
        )  # fmt: skip

    def _open(self) -> SessionClaims:
        # Work outside of the context is done and recorded all the same: telemetry must not break a host that is
        # careless about it. Whatever the teardown did not claim, the stream will see and say.
        if self._claims is None:
            self._claims = SessionClaims(self.session_id, self._primary_paths)
        return self._claims
