"""Calls of functions that may be stood in for: plain ones, awaited ones, and streams."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from unmask.producers.errors import NotAttempted
from unmask.producers.options import Asked, CallOptions
from unmask.producers.streaming import astream_of, stream_of
from unmask.producers.ways import Substitute, ways_of

if TYPE_CHECKING:
    from unmask.producers.operation import Operation

__all__ = ["Calls"]

T = TypeVar("T")
Way = Substitute | Callable[[], T]


class Calls(ABC):
    """What sessions and operations have in common.

    `primary` is tried first, then the substitutes in their order. A plain function as a substitute is named for its
    place; a Substitute has a name of its own. `primary` is None where it may not be called, for example while a breaker
    is open. Exceptions that are none of Exception's (a cancellation, an interrupt) are not answered by anybody.
    """

    @abstractmethod
    def _operation_for(self, operation_id: str | None) -> "Operation":
        """The operation that a call belongs to."""

    @overload
    def call(
        self, upstream: str, primary: None, *substitutes: Way[Any], operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Any: ...  # fmt: skip
    @overload
    def call(
        self, upstream: str, primary: Callable[[], T], *substitutes: Way[T], operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> T: ...  # fmt: skip
    def call(
        self,
        upstream: str,
        primary: Callable[[], Any] | None,
        *substitutes: Way[Any],
        operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        """The first answer, as it is. Where nobody answers, the last error, as it is.

        Raises NotAttempted where there is nothing to call at all.
        """
        asked = Asked(upstream, **options)
        ways = ways_of(upstream, primary, substitutes, asked.receipt)
        route, place_of = self._operation_for(operation_id).begin_call(asked, tried=primary is not None)
        for number, way in enumerate(ways, 1):
            place = place_of(way)
            try:
                with place:
                    answer = way.call()
            except Exception as error:
                route.failed(place, way, error)
                if number < len(ways):
                    continue
                raise
            if number < len(ways) and asked.accept is not None and not asked.accept(answer):
                route.refused(place, way)
                continue
            route.answered(way, answer)
            return answer
        raise NotAttempted("the primary was not attempted, and nothing stands in for it")

    @overload
    async def acall(
        self, upstream: str, primary: None, *substitutes: Way[Any], operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Any: ...  # fmt: skip
    @overload
    async def acall(
        self, upstream: str, primary: Callable[[], Awaitable[T]], *substitutes: Way[Any],
        operation_id: str | None = None, **options: Unpack[CallOptions],
    ) -> T: ...  # fmt: skip
    @overload
    async def acall(
        self, upstream: str, primary: Callable[[], T], *substitutes: Way[Any], operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> T: ...  # fmt: skip
    async def acall(
        self,
        upstream: str,
        primary: Callable[[], Any] | None,
        *substitutes: Way[Any],
        operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        """call() for functions whose answers are awaited; plain ones may stand among them."""
        asked = Asked(upstream, **options)
        ways = ways_of(upstream, primary, substitutes, asked.receipt)
        route, place_of = self._operation_for(operation_id).begin_call(asked, tried=primary is not None)
        for number, way in enumerate(ways, 1):
            place = place_of(way)
            try:
                with place:
                    answer = way.call()
                    if isawaitable(answer):
                        answer = await answer
            except Exception as error:
                route.failed(place, way, error)
                if number < len(ways):
                    continue
                raise
            if number < len(ways) and asked.accept is not None and not asked.accept(answer):
                route.refused(place, way)
                continue
            route.answered(way, answer)
            return answer
        raise NotAttempted("the primary was not attempted, and nothing stands in for it")

    def stream(
        self,
        upstream: str,
        primary: Callable[[], Iterable[T]] | None,
        *substitutes: Way[Iterable[T]],
        operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Generator[T, Any, Any]:
        """The items of `primary`; where it breaks off, also after it began, those of the next substitute.

        It went through a fallback where a substitute delivered. Where it had begun and no substitute could bring it to
        its end, the session has failed. Nothing is called before the first item is asked for; `accept` is not asked.
        """
        asked = Asked(upstream, **options)
        ways = ways_of(upstream, primary, substitutes, asked.receipt)
        operation = self._operation_for(operation_id)
        return stream_of(lambda: operation.begin_call(asked, tried=primary is not None), ways)

    def astream(
        self,
        upstream: str,
        primary: Callable[[], AsyncIterable[T] | Awaitable[AsyncIterable[T]] | Iterable[T]] | None,
        *substitutes: Way[Any],
        operation_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[T, Any]:
        """stream() for asynchronous iterables, and for coroutines that give one; plain ones may stand among them."""
        asked = Asked(upstream, **options)
        ways = ways_of(upstream, primary, substitutes, asked.receipt)
        operation = self._operation_for(operation_id)
        return astream_of(lambda: operation.begin_call(asked, tried=primary is not None), ways)
