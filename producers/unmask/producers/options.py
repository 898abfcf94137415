"""What a caller may say about one call, beside its functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

__all__ = ["Asked", "CallOptions", "MarkOptions"]


class CallOptions(TypedDict, total=False):
    """Keyword arguments of call, acall, stream, astream and tracked; see Asked."""

    receipt: object
    capability: str | None
    entry_point: str
    run_id: str | None
    accept: Callable[[Any], bool] | None
    request: object
    payload: Callable[[Any], object] | None
    compare: bool


class MarkOptions(TypedDict, total=False):
    """Keyword arguments of the manual marks; see Asked."""

    receipt: object
    request: object
    payload: Callable[[Any], object] | None
    compare: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to an upstream."""

    upstream: str
    receipt: object = None
    """What identifies a substitute's answer, or a function from the answer to that; the substitute's name otherwise."""
    capability: str | None = None
    """What is asked for. Where given, the attempt is recorded, and a fallback if a substitute answers."""
    entry_point: str = "-"
    run_id: str | None = None
    accept: Callable[[Any], bool] | None = None
    """Whether an answer is one. Not asked of the last way: its answer is what there is. What it raises is raised."""
    request: object = None
    """What was asked, as JSON's data model. Only answers to equal requests can be proven to be equal."""
    payload: Callable[[Any], object] | None = None
    """From an answer to the payload that is compared; the answer itself where not given."""
    compare: bool = True
    """Whether answers are compared with what the primary last delivered."""
