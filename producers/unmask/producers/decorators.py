"""A decorator that gives a function its substitutes: whoever calls it needs to know of no session and no telemetry."""

from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import replace
from functools import partial, wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast

from unmask.producers.operation import Operation
from unmask.producers.options import CallOptions
from unmask.producers.place import current_session
from unmask.producers.sessionless import operation_outside
from unmask.producers.ways import Substitute

if TYPE_CHECKING:
    from unmask.producers.session import Session

__all__ = ["tracked"]

P = ParamSpec("P")
R = TypeVar("R")


def tracked(
    upstream: str, *substitutes: Substitute | Callable[..., Any], **options: Unpack[CallOptions]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function the primary path to `upstream`, with `substitutes` that take the same arguments.

    Each call is a call() of the session that it runs in; of a coroutine function acall(), of a generator function
    stream(), of an asynchronous one astream(). Outside of any session the substitutes stand in all the same, and the
    attempt and the fallback are recorded with the process's sink. `request` may be a function of the arguments.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if _is(isasyncgenfunction, function):

            @wraps(function)
            def items_later(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Any, Any]:
                ways, chosen = _bound(function, substitutes, options, args, kwargs)
                return _caller().astream(upstream, *ways, **chosen)

            return cast(Callable[P, R], items_later)
        if _is(isgeneratorfunction, function):

            @wraps(function)
            def items(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
                ways, chosen = _bound(function, substitutes, options, args, kwargs)
                return _caller().stream(upstream, *ways, **chosen)

            return cast(Callable[P, R], items)
        if _is(iscoroutinefunction, function):

            @wraps(function)
            async def answer_later(*args: P.args, **kwargs: P.kwargs) -> Any:
                ways, chosen = _bound(function, substitutes, options, args, kwargs)
                return await _caller().acall(upstream, *ways, **chosen)

            return cast(Callable[P, R], answer_later)

        @wraps(function)
        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            ways, chosen = _bound(function, substitutes, options, args, kwargs)
            found: R = _caller().call(upstream, *ways, **chosen)
            return found

        return answer

    return decorate


def _is(kind: Callable[[object], bool], function: object) -> bool:
    # An object that can be called is what its class's __call__ is.
    return kind(function) or kind(getattr(type(function), "__call__", None))  # noqa: B004


def _caller() -> "Session | Operation":
    session = current_session()
    return operation_outside() if session is None else session


def _bound(
    function: Callable[..., Any],
    substitutes: tuple[Substitute | Callable[..., Any], ...],
    options: CallOptions,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[list[Any], CallOptions]:
    """The primary and the substitutes with their arguments, and the options with the request."""
    ways: list[Any] = [partial(function, *args, **kwargs)]
    for substitute in substitutes:
        if isinstance(substitute, Substitute):
            call = substitute.call
            ways.append(
                replace(
                    substitute,
                    call=_behind(call, args, kwargs) if substitute.resumes else partial(call, *args, **kwargs),
                )
            )
        else:
            ways.append(partial(substitute, *args, **kwargs))
    request = options.get("request")
    if not callable(request):
        return ways, options
    chosen = options.copy()
    try:
        chosen["request"] = request(*args, **kwargs)
    except Exception:
        # The call goes on; nothing is proven about its answer.
        chosen["request"] = None
    return ways, chosen


def _behind(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[int], Any]:
    """One that goes on with a stream takes what was handed out before the arguments."""
    return lambda handed: call(handed, *args, **kwargs)
