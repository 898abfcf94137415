"""The easy path: a block or a function that does not run before its session's gate has admitted."""

import functools
from collections.abc import AsyncGenerator, Callable
from inspect import isasyncgenfunction, iscoroutinefunction
from types import TracebackType
from typing import Any, TypeVar, cast

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.obligation import Probe
from unmask.consumers.gate.off_loop import off_loop
from unmask.schemas.codes import AdmissionAnswer

__all__ = ["Guard"]

F = TypeVar("F", bound=Callable[..., Any])


class Guard:
    """Asks the gate each time its body is about to run; raises AdmissionRefused instead of running it.

    As a context manager (`with`, `async with`) it gives the Admission; as a decorator it takes plain and coroutine
    functions. A probe, if there is one, is called in the thread that enters (in a worker thread for async bodies).
    """

    def __init__(self, ask: Callable[[], Admission], probe: Probe | None = None) -> None:
        self._ask = ask
        self._probe = probe

    def __enter__(self) -> Admission:
        admission = self._ask()
        if self._probe is not None and admission.answer is AdmissionAnswer.RECONCILE_FIRST:
            admission = admission.reconcile(self._probe)
        return admission.raise_for_refusal()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def __aenter__(self) -> Admission:
        return await off_loop(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, function: F) -> F:
        if iscoroutinefunction(function):

            @functools.wraps(function)
            async def guarded_async(*args: Any, **kwargs: Any) -> Any:
                async with self:
                    return await function(*args, **kwargs)

            return cast(F, guarded_async)

        if isasyncgenfunction(function):

            @functools.wraps(function)
            async def guarded_items(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
                async with self:
                    async for item in function(*args, **kwargs):
                        yield item

            return cast(F, guarded_items)

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(F, guarded)
