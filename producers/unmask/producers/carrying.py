"""Carries a session into other threads: a new thread knows nothing of the place that started it."""

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar, cast

from unmask.producers.place import Place
from unmask.producers.swallowed import note_exception

__all__ = ["carried"]

P = ParamSpec("P")
R = TypeVar("R")


def carried(origin: Place, work: Callable[P, R]) -> Callable[P, R]:
    """`work`, to be run anywhere as if at `origin`. What it returns and raises is unchanged."""
    if iscoroutinefunction(work):

        @wraps(work)
        async def run_later(*args: P.args, **kwargs: P.kwargs) -> Any:
            with _again(origin) as place:
                try:
                    return await work(*args, **kwargs)
                except Exception as error:
                    _note(place, error)
                    raise

        return cast(Callable[P, R], run_later)

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _again(origin) as place:
            try:
                return work(*args, **kwargs)
            except Exception as error:
                # Nobody may ever ask for it: a thread's exception reaches its caller only by a future.
                _note(place, error)
                raise

    return run


def _again(origin: Place) -> Place:
    """A place of its own for each run, since several may run at once. An operation that has ended is not joined."""
    if origin.left:
        return Place(origin.claims, origin.session)
    return Place(origin.claims, origin.session, origin.operation, origin.hop)


def _note(place: Place, error: Exception) -> None:
    try:
        note_exception(place, error)
    except Exception:
        return
