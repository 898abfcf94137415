"""The ways to an answer: the primary path, and what may stand in for it, in the order in which they are tried."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import Any, Protocol

from unmask.schemas.codes import Equivalence

__all__ = ["Answerer", "FailedHop", "Substitute", "receipt_of", "ways_of"]


class Answerer(Protocol):
    """Who answered, and how its answer is named."""

    @property
    def target(self) -> str:
        """Its name."""
        ...

    @property
    def receipt(self) -> object:
        """What identifies its answer, or a function from the answer to that."""
        ...

    @property
    def equivalence(self) -> Equivalence:
        """What the host can prove."""
        ...


@dataclass(frozen=True, slots=True)
class Substitute:
    """What may answer instead of the primary path."""

    target: str
    """Which upstream, model, cache or route it is. The primary's own name makes it a retry."""
    call: Callable[..., Any]
    receipt: object = None
    """What identifies its answer, or a function from the answer to that; the target's name where not given."""
    equivalence: Equivalence = Equivalence.UNPROVEN
    """What the host itself can prove; where both payloads are known, their digests say it instead."""
    resumes: bool = False
    """Of a stream: whether `call` takes the number of items that were handed out already, and goes on behind them."""


@dataclass(frozen=True, slots=True)
class FailedHop:
    """A way that did not lead to an answer, and its fault."""

    target: str
    signature: str


def ways_of(
    upstream: str,
    primary: Callable[..., Any] | None,
    substitutes: Sequence[Substitute | Callable[..., Any]],
    receipt: object,
) -> list[Substitute]:
    """All ways, the primary first unless there is none. A plain function is named for its place, `substitute-1`."""
    ways = [] if primary is None else [Substitute(upstream, primary)]
    for number, substitute in enumerate(substitutes, 1):
        if isinstance(substitute, Substitute):
            ways.append(substitute)
        elif primary is not None and _same(primary, substitute):
            ways.append(Substitute(upstream, substitute))
        else:
            ways.append(Substitute(f"substitute-{number}", substitute, receipt))
    return ways


def receipt_of(by: Answerer, answer: object) -> str:
    """What identifies the answer; the target's name where nothing does."""
    receipt = by.receipt
    try:
        if callable(receipt):
            receipt = receipt(answer)
        return by.target if receipt is None else str(receipt)
    except Exception:
        return by.target


def _same(one: object, other: object) -> bool:
    """Whether both are the same function for the same arguments: the second is then a retry of the first.

    By identity only: no code of the host is asked, and two that merely look alike are taken for two.
    """
    if one is other:
        return True
    if isinstance(one, MethodType) and isinstance(other, MethodType):
        # A bound method is made anew each time that it is looked up.
        return one.__self__ is other.__self__ and one.__func__ is other.__func__
    if type(one) is partial and type(other) is partial:
        return (
            _same(one.func, other.func)
            and len(one.args) == len(other.args)
            and all(_same_value(a, b) for a, b in zip(one.args, other.args, strict=True))
            and one.keywords.keys() == other.keywords.keys()
            and all(_same_value(value, other.keywords[name]) for name, value in one.keywords.items())
        )
    return False


def _same_value(one: object, other: object) -> bool:
    plain = (str, int, float, bytes, bool)
    return one is other or (type(one) is type(other) and type(one) in plain and one == other)
