"""A function whose every call is a call of a delegation."""

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, cast

if TYPE_CHECKING:
    from unmask.producers.delegation.calling import Calling
    from unmask.producers.delegation.delegation import Delegation

__all__ = ["OfTheResult", "wrapped"]

P = ParamSpec("P")
R = TypeVar("R")


class OfTheResult(TypedDict, total=False):
    """How to read a call's outcome from what the function returned. What raises is left out of the record."""

    tokens: Callable[[Any], int]
    state: Callable[[Any], object]
    measure: Callable[[Any], int | None]
    conditions: Callable[[Any], object]
    ok: Callable[[Any], bool]


def wrapped(delegation: "Delegation", function: Callable[P, R], reads: OfTheResult) -> Callable[P, R]:
    """`function`, told of as calls. What it returns and raises is handed on as it is."""
    if iscoroutinefunction(function):

        @wraps(function)
        async def later(*args: P.args, **kwargs: P.kwargs) -> Any:
            with delegation.calling() as call:
                result = await function(*args, **kwargs)
                _read(delegation, call, result, reads)
                return result

        return cast(Callable[P, R], later)

    @wraps(function)
    def now(*args: P.args, **kwargs: P.kwargs) -> R:
        with delegation.calling() as call:
            result = function(*args, **kwargs)
            _read(delegation, call, result, reads)
            return result

    return now


def _read(delegation: "Delegation", call: "Calling", result: object, reads: OfTheResult) -> None:
    for name, read in reads.items():
        try:
            setattr(call, name, cast(Callable[[object], object], read)(result))
        except Exception:
            delegation.note_fault()
