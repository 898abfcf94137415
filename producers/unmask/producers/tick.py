"""A counter for the record calls: no lock, so that a thread, a signal handler or a fork never waits for it."""

from itertools import count

__all__ = ["Tick"]


class Tick:
    """Counts up by one. `add` is a single call into C, which the interpreter never divides."""

    __slots__ = ("_count", "add")

    def __init__(self) -> None:
        self._count = count()
        self.add = self._count.__next__

    @property
    def value(self) -> int:
        """How often `add` was called. Read from the counter's text, the one way that does not count."""
        return int(repr(self._count)[6:-1])
