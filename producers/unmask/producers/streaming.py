"""Streams that may fail after they began: whoever stands in goes on with them, and what was hidden is recorded.

A stream that a substitute brought to its end, or that the consumer left while a substitute was delivering, went through
a fallback. One that nobody could bring to its end has missed its objective, although part of it was delivered.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any

from unmask.producers.errors import NotAttempted
from unmask.producers.place import Place
from unmask.producers.route import Route
from unmask.producers.ways import Substitute

__all__ = ["Begin", "astream_of", "stream_of"]

Begin = Callable[[], tuple[Route, Callable[[Substitute], Place]]]
"""Begins the operation, once the first item is asked for: its route, and the place in which to try a way."""


def stream_of(begin: Begin, ways: Sequence[Substitute]) -> Generator[Any, Any, Any]:
    """The items of the first way that delivers, gone on with by the next ones where it breaks off.

    send(), throw() and close() reach the way that is delivering; what the consumer throws in is the consumer's.
    """
    route, place_of = begin()
    advance: Callable[[], Any] | None = None
    thrown_in = False
    source: Any = None
    try:
        for number, way in enumerate(ways, 1):
            place, advance = place_of(way), None
            while True:
                try:
                    with place:
                        if advance is None:
                            source = iter(route.open(way))
                            advance = partial(next, source)
                        item = advance()
                except StopIteration as end:
                    route.completed(way)
                    return end.value
                except Exception as error:
                    if thrown_in:
                        raise
                    route.failed(place, way, error)
                    if number < len(ways):
                        break
                    route.broke_off()
                    raise
                thrown_in = False
                route.handed(way, item)
                try:
                    sent = yield item
                except GeneratorExit:
                    if (close := getattr(source, "close", None)) is not None:
                        close()
                    raise
                except BaseException as thrown:
                    if (throw := getattr(source, "throw", None)) is None:
                        raise
                    advance, thrown_in = partial(throw, thrown), True
                else:
                    advance = partial(next, source) if sent is None else partial(source.send, sent)
        raise NotAttempted("the primary was not attempted, and nothing stands in for it")
    finally:
        # An exception that was thrown in must not be held by the frame that its traceback leads to.
        advance = None
        route.ended()


async def astream_of(begin: Begin, ways: Sequence[Substitute]) -> AsyncGenerator[Any, Any]:
    """stream_of for asynchronous iterators; plain ones, and coroutines that give either, may stand among them."""
    route, place_of = begin()
    advance: Callable[[], Any] | None = None
    thrown_in = False
    source: Any = None
    try:
        for number, way in enumerate(ways, 1):
            place, advance = place_of(way), None
            while True:
                try:
                    with place:
                        if advance is None:
                            opened = route.open(way)
                            opened = await opened if isawaitable(opened) else opened
                            source = aiter(opened) if hasattr(opened, "__aiter__") else _Plain(iter(opened))
                            advance = source.__anext__
                        item = await advance()
                except StopAsyncIteration:
                    route.completed(way)
                    return
                except Exception as error:
                    if thrown_in:
                        raise
                    route.failed(place, way, error)
                    if number < len(ways):
                        break
                    route.broke_off()
                    raise
                thrown_in = False
                route.handed(way, item)
                try:
                    sent = yield item
                except GeneratorExit:
                    if (close := getattr(source, "aclose", None)) is not None:
                        await close()
                    raise
                except BaseException as thrown:
                    if (throw := getattr(source, "athrow", None)) is None:
                        raise
                    advance, thrown_in = partial(throw, thrown), True
                else:
                    advance = source.__anext__ if sent is None else partial(source.asend, sent)
        raise NotAttempted("the primary was not attempted, and nothing stands in for it")
    finally:
        advance = None
        route.ended()


class _Plain:
    """A plain iterator among asynchronous ones."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    async def __anext__(self) -> Any:
        try:
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        if (close := getattr(self._items, "close", None)) is not None:
            close()
