"""What a successor owes before it may act, and whether it has done it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable

from unmask.schemas.codes import Directive

__all__ = [
    "AsyncProbe",
    "Attempt",
    "MaskedAnswer",
    "Obligation",
    "Probe",
    "attempt",
    "attempt_async",
    "discard",
    "raised",
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
        return raised(error)
    if isawaitable(outcome):
        discard(outcome)
        return Attempt(False, "the probe is asynchronous; use areconcile")
    return _judge(outcome)


async def attempt_async(probe: AsyncProbe, obligation: Obligation) -> Attempt:
    """Like attempt, for probes that may be coroutine functions."""
    try:
        outcome: object = probe(obligation)
        if isawaitable(outcome):
            outcome = await outcome
    except Exception as error:
        return raised(error)
    return _judge(outcome)


def discard(outcome: object) -> None:
    """End what nobody will await, without the interpreter's warning."""
    close = getattr(outcome, "close", None)
    if close is not None:
        close()


def raised(error: Exception) -> Attempt:
    """The failure that an exception of the caller's code is; only its type's name is told."""
    return Attempt(False, f"the probe raised {type(error).__name__}")


def _judge(outcome: object) -> Attempt:
    if outcome is True:
        return Attempt(True, "the probe succeeded")
    if outcome is False:
        return Attempt(False, "the probe says that it failed")
    # A response object is truthy whatever its status says, so that only True counts.
    return Attempt(False, f"the probe returned {type(outcome).__name__} instead of True or False")
