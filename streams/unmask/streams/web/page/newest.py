"""A bounded map that keeps what is newest by the broker's time."""

from typing import Generic, TypeVar

__all__ = ["Newest"]

_Value = TypeVar("_Value")


class Newest(Generic[_Value]):
    """At most `limit` values (and a tenth more for a moment); the oldest go first, and are counted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: dict[str, tuple[int, _Value]] = {}
        self.cut = 0
        """How many were forgotten for want of room."""

    def put(self, key: str, value: _Value, at: int) -> None:
        """Takes a value of a time in."""
        self._items[key] = (at, value)
        if len(self._items) > self._limit + self._limit // 10:
            self._trim()

    def _trim(self) -> None:
        oldest_first = sorted(self._items, key=lambda key: self._items[key][0])
        for key in oldest_first[: -self._limit]:
            del self._items[key]
            self.cut += 1

    def pop(self, key: str) -> None:
        """Forgets a key, if it is there."""
        self._items.pop(key, None)

    def get(self, key: str) -> _Value | None:
        """The value of a key; None where there is none."""
        found = self._items.get(key)
        return None if found is None else found[1]

    def items(self) -> list[tuple[str, _Value]]:
        """Keys and values, the newest first."""
        newest_first = sorted(self._items.items(), key=lambda item: item[1][0], reverse=True)
        return [(key, value) for key, (_, value) in newest_first]

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)
