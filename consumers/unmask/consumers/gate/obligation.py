"""What a successor owes before it may act, and whether it has done it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable

from unmask.schemas.codes import Directive

__all__ = ["AsyncProbe", "Attempt", "Obligation", "Probe", "attempt", "attempt_async"]


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


Probe = Callable[[Obligation], bool]
"""Carries an obligation out. True, and nothing else, means that it succeeded."""

AsyncProbe = Callable[[Obligation], Awaitable[bool] | bool]


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


def _raised(error: Exception) -> Attempt:
    return Attempt(False, f"the probe raised {type(error).__name__}")


def _judge(outcome: object) -> Attempt:
    if outcome is True:
        return Attempt(True, "the probe succeeded")
    if outcome is False:
        return Attempt(False, "the probe says that it failed")
    # A response object is truthy whatever its status says, so that only True counts.
    return Attempt(False, f"the probe returned {type(outcome).__name__} instead of True or False")
