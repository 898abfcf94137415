"""Answers about texts, remembered without the texts: a storm of failures says the same words again and again."""

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["LONGEST", "Remembered"]

T = TypeVar("T")

LONGEST = 2_000
"""Characters of a text that are looked at."""
_MOST = 1_024


class Remembered(Generic[T]):
    """A function of the beginning of a text, which keeps its last answers by the hash and length of that.

    The interpreter's hash has 64 bits and a secret of the process, so that two texts are taken for one about as often
    as the memory errs, and nothing of a text can be had back.
    """

    __slots__ = ("_answer", "_known")

    def __init__(self, answer: Callable[[str], T]) -> None:
        self._answer = answer
        self._known: dict[int, tuple[int, T]] = {}

    def __call__(self, text: str) -> T:
        """The answer about `text`. Raises what the function raises, and remembers nothing then."""
        text = text[:LONGEST]
        if type(text) is not str:
            # A class derived from str may have a hash of its own.
            return self._answer(text)
        key = hash(text)
        known = self._known.get(key)
        if known is not None and known[0] == len(text):
            return known[1]
        answer = self._answer(text)
        if len(self._known) >= _MOST:
            self._known = {}
        self._known[key] = (len(text), answer)
        return answer
