"""Which keys have been seen before: bounded, and without a lock, since record calls ask it."""

from collections.abc import Hashable

__all__ = ["Seen"]


class Seen:
    """Remembers between `limit` and twice `limit` of the newest keys."""

    __slots__ = ("_generations", "_limit")

    def __init__(self, limit: int = 65_536) -> None:
        self._limit = limit
        self._generations: tuple[dict[Hashable, object], dict[Hashable, object]] = ({}, {})

    def first(self, key: Hashable) -> bool:
        """Whether `key` is new; of several threads that ask at once, one is told so."""
        young, old = self._generations
        if key in old:
            return False
        if len(young) >= self._limit:
            # Two threads may both do this: the second only drops what the first put in between.
            fresh: dict[Hashable, object] = {}
            self._generations = (fresh, young)
            old, young = young, fresh
            if key in old:
                return False
        mark = object()
        # setdefault is one step of the interpreter for the tuples of texts that are asked for.
        return young.setdefault(key, mark) is mark

    def __contains__(self, key: Hashable) -> bool:
        return any(key in generation for generation in self._generations)
