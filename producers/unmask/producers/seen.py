"""Which keys have been seen before: bounded, and without a lock, since record calls ask it."""

from collections.abc import Hashable

__all__ = ["Seen", "SeenPairs"]

_PARTS = 16


class Seen:
    """Remembers between `limit` and twice `limit` of the newest keys."""

    __slots__ = ("_generations", "_limit")

    def __init__(self, limit: int = 65_536) -> None:
        self._limit = limit
        self._generations: tuple[dict[Hashable, object], dict[Hashable, object]] = ({}, {})

    def first(self, key: Hashable) -> bool:
        """Whether `key` is new; of several threads that ask at once, one is told so."""
        mark = object()
        return self.claim(key, mark) is mark

    def claim(self, key: Hashable, mark: object) -> object:
        """What stands for `key`: `mark`, not None, where it is new, and else what it was claimed with at first."""
        young, old = self._generations
        found = old.get(key)
        if found is not None:
            return found
        if len(young) >= self._limit:
            # Two threads may both do this: the second only drops what the first put in between.
            fresh: dict[Hashable, object] = {}
            self._generations = (fresh, young)
            old, young = young, fresh
            found = old.get(key)
            if found is not None:
                return found
        # One step of the interpreter for the texts that are asked for.
        return young.setdefault(key, mark)

    def __contains__(self, key: Hashable) -> bool:
        return any(key in generation for generation in self._generations)


class SeenPairs:
    """Which pairs of texts have been seen before, for very many of them, by their hashes of 64 bits.

    The hashes are the interpreter's, with a secret of the process: that one of a hundred thousand pairs is taken for
    another happens once in 10**14 calls. Each of several parts grows, or is forgotten, as a whole, so that no record
    call takes long for that.
    """

    __slots__ = ("_limit", "_parts")

    def __init__(self, limit: int = 65_536) -> None:
        """Remembers between `limit` and twice `limit` of the newest pairs."""
        self._limit = max(1, limit // _PARTS)
        self._parts: list[tuple[dict[int, int], dict[int, int]]] = [({}, {}) for _ in range(_PARTS)]

    def first(self, one: str, other: str) -> bool:
        """Whether the pair is new; of several threads that ask at once, one is told so."""
        key = hash((one, other))
        young, old = self._parts[key % _PARTS]
        if key in old:
            return False
        if len(young) >= self._limit:
            fresh: dict[int, int] = {}
            self._parts[key % _PARTS] = (fresh, young)
            old, young = young, fresh
            if key in old:
                return False
        # The number itself, made for this call, says whose it is.
        return young.setdefault(key, key) is key
