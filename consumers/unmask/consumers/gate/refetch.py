"""Fetching again, from the primary, what substitutes delivered: one call for each answer that a verdict lists."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable

from unmask.consumers.gate.obligation import Attempt, MaskedAnswer, Obligation, discard, raised

__all__ = ["AsyncFetch", "Fetch", "refetch", "refetch_async"]

Fetch = Callable[[MaskedAnswer], bool]
"""Replaces a substitute's answer by the primary's own. True, and nothing else, means that it succeeded."""

AsyncFetch = Callable[[MaskedAnswer], Awaitable[bool] | bool]


def refetch(fetch: Fetch, obligation: Obligation) -> Attempt:
    """Fetch every listed answer, and stop at the first failure. An exception is one, of which only the type is told."""
    incomplete = _incomplete(obligation)
    if incomplete is not None:
        return incomplete
    for number, masked in enumerate(obligation.masked):
        try:
            outcome: object = fetch(masked)
        except Exception as error:
            return raised(error)
        if isawaitable(outcome):
            discard(outcome)
            return Attempt(False, "the fetch is asynchronous; use arefetch")
        if outcome is not True:
            return _failed(number, obligation)
    return _done(obligation)


async def refetch_async(fetch: AsyncFetch, obligation: Obligation) -> Attempt:
    """Like refetch, with a function that may be a coroutine function; one answer after the other."""
    incomplete = _incomplete(obligation)
    if incomplete is not None:
        return incomplete
    for number, masked in enumerate(obligation.masked):
        try:
            outcome: object = fetch(masked)
            if isawaitable(outcome):
                outcome = await outcome
        except Exception as error:
            return raised(error)
        if outcome is not True:
            return _failed(number, obligation)
    return _done(obligation)


def _incomplete(obligation: Obligation) -> Attempt | None:
    """Why fetching what is listed would not carry the directive out."""
    if obligation.inherited_from:
        return Attempt(False, "directives of earlier sessions are open too; carry all of them out with reconcile")
    if obligation.unlisted:
        what = f"the verdict does not list the answers of {obligation.unlisted} degraded operations"
        return Attempt(False, f"{what}; replace all of the session's answers with reconcile")
    return None


def _failed(number: int, obligation: Obligation) -> Attempt:
    return Attempt(False, f"answer {number + 1} of {len(obligation.masked)} could not be fetched from its primary")


def _done(obligation: Obligation) -> Attempt:
    count = len(obligation.masked)
    what = (
        "the answer was fetched from its primary"
        if count == 1
        else f"{count} answers were fetched from their primaries"
    )
    return Attempt(True, what)
