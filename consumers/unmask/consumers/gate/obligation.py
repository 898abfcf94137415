"""What a successor owes before it may act, and whether it has done it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable

from unmask.schemas.codes import Directive

__all__ = [
    "AsyncFetch",
    "AsyncProbe",
    "Attempt",
    "Fetch",
    "MaskedAnswer",
    "Obligation",
    "Probe",
    "attempt",
    "attempt_async",
    "fetch_each",
    "fetch_each_async",
]


@dataclass(frozen=True, slots=True)
class MaskedAnswer:
    """One answer that a substitute gave in an upstream's place."""

    operation_id: str
    upstream: str
    receipt: str
    """What answered instead, as the host named it."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """The directive of a verdict with what is needed to carry it out."""

    session_id: str
    directive: Directive
    """PROBE_UPSTREAM_BEFORE_ACTION: ask each of `upstreams` whether it answers again. RE_FETCH_FROM_PRIMARY: replace
    what the substitutes delivered by the primary's own answer. NONE: only what was inherited is open."""
    upstreams: tuple[str, ...]
    signatures: tuple[str, ...]
    receipts: tuple[str, ...]
    inherited_from: tuple[str, ...]
    """Earlier sessions whose own directives are still open and must be carried out too."""
    masked: tuple[MaskedAnswer, ...] = ()
    """The answers of substitutes that the verdict lists."""
    unlisted: int = 0
    """Degraded operations that the verdict counts and of whose answers it lists none."""


Probe = Callable[[Obligation], bool]
"""Carries an obligation out. True, and nothing else, means that it succeeded."""

AsyncProbe = Callable[[Obligation], Awaitable[bool] | bool]

Fetch = Callable[[MaskedAnswer], bool]
"""Replaces a substitute's answer by the primary's own. True, and nothing else, means that it succeeded."""

AsyncFetch = Callable[[MaskedAnswer], Awaitable[bool] | bool]


@dataclass(frozen=True, slots=True)
class Attempt:
    """How carrying an obligation out went; `reason` is a clause without any text of the probe's own."""

    succeeded: bool
    reason: str


def attempt(probe: Probe, obligation: Obligation) -> Attempt:
    """Call the probe. An exception of it is a failure, of which only the type's name is kept."""
    try:
        outcome: object = probe(obligation)
    except Exception as error:
        return _raised(error)
    if isawaitable(outcome):
        # Nobody will await it here: end it without the interpreter's warning.
        close = getattr(outcome, "close", None)
        if close is not None:
            close()
        return Attempt(False, "the probe is asynchronous; use areconcile")
    return _judge(outcome)


async def attempt_async(probe: AsyncProbe, obligation: Obligation) -> Attempt:
    """Like attempt, for probes that may be coroutine functions."""
    try:
        outcome: object = probe(obligation)
        if isawaitable(outcome):
            outcome = await outcome
    except Exception as error:
        return _raised(error)
    return _judge(outcome)


def fetch_each(fetch: Fetch) -> Probe:
    """A probe that fetches every answer of a substitute from its primary, and fails unless that is all there is."""

    def probe(obligation: Obligation) -> bool:
        _all_listed(obligation)
        return all(_succeeded(attempt_one(fetch, masked)) for masked in obligation.masked)

    return probe


def fetch_each_async(fetch: AsyncFetch) -> AsyncProbe:
    """Like fetch_each, one after the other, with a function that may be a coroutine function."""

    async def probe(obligation: Obligation) -> bool:
        _all_listed(obligation)
        for masked in obligation.masked:
            outcome: object = fetch(masked)
            if isawaitable(outcome):
                outcome = await outcome
            if not _succeeded(outcome):
                return False
        return True

    return probe


class NotAllListed(Exception):
    """A verdict does not list all answers of substitutes; carry its directive out by reconcile instead."""


def _all_listed(obligation: Obligation) -> None:
    if obligation.unlisted or obligation.inherited_from:
        raise NotAllListed


def attempt_one(fetch: Fetch, masked: MaskedAnswer) -> object:
    """What fetching one answer gave; a coroutine nobody will await counts for nothing."""
    outcome: object = fetch(masked)
    if isawaitable(outcome):
        close = getattr(outcome, "close", None)
        if close is not None:
            close()
        return None
    return outcome


def _succeeded(outcome: object) -> bool:
    return outcome is True


def _raised(error: Exception) -> Attempt:
    return Attempt(False, f"the probe raised {type(error).__name__}")


def _judge(outcome: object) -> Attempt:
    if outcome is True:
        return Attempt(True, "the probe succeeded")
    if outcome is False:
        return Attempt(False, "the probe says that it failed")
    # A response object is truthy whatever its status says, so that only True counts.
    return Attempt(False, f"the probe returned {type(outcome).__name__} instead of True or False")
