"""Where code runs: in which session, which operation, which try of which upstream.

asyncio tasks inherit their place from whoever makes them; a thread has one when it was carried there
(Session.carry). A place that was left is never current again, whatever context still remembers it.
"""

import sys
import threading
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from unmask.producers.claims import SessionClaims
    from unmask.producers.operation import Operation
    from unmask.producers.session import Session

__all__ = ["Hop", "Place", "current_session", "here", "leave", "strand"]


class Hop:
    """One try of one target. Its identity is what ties an error to it."""

    __slots__ = ("target",)

    def __init__(self, target: str) -> None:
        self.target = target


class Place:
    """A context, to be entered for as long as code runs here. It may be entered again, but only by one at a time."""

    __slots__ = ("claims", "handling", "hop", "left", "operation", "outer", "session")

    def __init__(
        self,
        claims: "SessionClaims",
        session: "Session | None" = None,
        operation: "Operation | None" = None,
        hop: Hop | None = None,
    ) -> None:
        self.claims = claims
        self.session = session
        self.operation = operation
        self.hop = hop
        self.left = True
        self.outer: Place | None = None
        self.handling = 0
        """id() of the exception that was being handled on entry: what happened before belongs to another story."""

    def __enter__(self) -> Self:
        self.outer = here()
        self.handling = id(error) if (error := sys.exception()) is not None else 0
        self.left = False
        _place.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        # No token: frameworks may leave a context elsewhere, or in another order, than they entered it.
        self.left = True
        _place.set(here())


_place: ContextVar[Place | None] = ContextVar("unmask_place", default=None)


def here() -> Place | None:
    """The innermost place that was entered in this context and has not been left."""
    place = _place.get()
    while place is not None and place.left:
        place = place.outer
    return place


def leave(entered: list[Place]) -> None:
    """Leave the innermost of `entered` that the code runs in; the newest of them, where it runs in none any more."""
    place = here()
    while place is not None and (place.left or place not in entered):
        place = place.outer
    if place is None:
        place = entered[-1]
    entered.remove(place)
    place.__exit__()


def current_session() -> "Session | None":
    """The session that this code runs in; None outside of any, and in a thread that was not carried into one."""
    place = here()
    while place is not None and (place.left or place.session is None):
        place = place.outer
    return None if place is None else place.session


class _Strands(threading.local):
    """Each thread's own mark, and those of the tasks that ran in it."""

    def __init__(self) -> None:
        self.own = object()
        self.tasks: WeakKeyDictionary[Any, object] = WeakKeyDictionary()


_strands = _Strands()


def strand() -> object:
    """What runs one thing after another: an object that this asyncio task, or else this thread, has for itself."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        try:
            task = asyncio.current_task()
        except (RuntimeError, AttributeError):  # no loop runs here, or asyncio is only being imported
            task = None
        if task is not None:
            mark = _strands.tasks.get(task)
            if mark is None:
                mark = _strands.tasks[task] = object()
            return mark
    return _strands.own
