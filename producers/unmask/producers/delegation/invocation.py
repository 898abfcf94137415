"""One run of a delegation: a random id, and the numbers of its calls. A forked child goes on under another one."""

import os
import secrets
from itertools import count

__all__ = ["Invocation"]


class Invocation:
    """Gives each call its place. Takes no lock."""

    __slots__ = ("_now",)

    def __init__(self) -> None:
        self._now = _new()

    @property
    def invocation_id(self) -> str:
        """The id under which this process runs the delegation."""
        return self._own()[1]

    def next_step(self) -> tuple[str, int]:
        """The id, and the number of the next call: 1, 2, 3 ..."""
        _, name, steps = self._own()
        return name, next(steps)

    def _own(self) -> "tuple[int, str, count[int]]":
        now = self._now
        if now[0] != os.getpid():
            # Two processes must not number their calls under one id.
            now = self._now = _new()
        return now


def _new() -> "tuple[int, str, count[int]]":
    return os.getpid(), f"inv-{secrets.token_hex(12)}", count(1)
