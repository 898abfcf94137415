"""What stands on an output topic: seen by reading it back, so that nothing is published twice and nothing goes back.

A record is published when its content differs from what stands and what stands is not newer. Counts of a window
never shrink; a record that counts less than what stands was computed from incomplete inputs and is withheld.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from unmask.schemas.windowing import MICROS

__all__ = ["Standing", "Stood", "content_digest", "is_scoped", "stood_window", "weight_of", "window_of"]

_COUNTED = ("attempts", "fallbacks_total", "masked_errors", "emitters", "late", "skewed", "duplicates")
_COUNTED_BY_CODE = ("teardowns_by_outcome", "selections", "delegation_calls", "delegation_effects")


class Stood(NamedTuple):
    """What is known of the newest record of one key."""

    revision: int
    digest: bytes
    weight: int


def content_digest(record: dict[str, Any], *ignored: str) -> bytes:
    """A digest over everything in a record but the ignored fields."""
    content = {name: value for name, value in record.items() if name not in ignored}
    return hashlib.blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def weight_of(record: dict[str, Any]) -> int:
    """The sum of all that a window record counts; it never shrinks."""
    counts = sum(record[name] for name in _COUNTED)
    return int(counts + sum(sum(record[name].values()) for name in _COUNTED_BY_CODE))


def window_of(key: str) -> tuple[int, int]:
    """Start and size of the window that the key of a window record names. Raises ValueError for any other key."""
    seconds, start, _ = key.split("|", 2)
    return int(start) * MICROS, int(seconds)


def is_scoped(key: str) -> bool:
    """Whether the key of a window record names a scope, and not the window as a whole."""
    return key.split("|", 3)[2] != "*"


def stood_window(record: dict[str, Any]) -> Stood:
    """What is kept of a decoded window record."""
    return Stood(record["revision"], content_digest(record, "revision"), weight_of(record))


class Standing:
    """The newest record of every key of one output partition."""

    def __init__(self) -> None:
        self._stood: dict[str, Stood] = {}
        self._by_window: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        self.withheld = 0
        """Records that were not published because they count less than what stands."""

    def note(self, key: str, stood: Stood | None) -> None:
        """A record was read from the topic or has been sent; None is a tombstone."""
        if stood is None:
            self.forget([key])
        else:
            self._stood[key] = stood
            self._by_window[window_of(key)].add(key)

    def must_publish(self, key: str, wanted: Stood) -> bool:
        """Whether a record must go out."""
        stood = self._stood.get(key)
        if stood is None:
            return True
        if stood.digest == wanted.digest or stood.revision > wanted.revision:
            return False
        if wanted.weight < stood.weight:
            self.withheld += 1
            return False
        return True

    def get(self, key: str) -> Stood | None:
        """What stands under the key."""
        return self._stood.get(key)

    def of_window(self, window: tuple[int, int]) -> list[str]:
        """All keys under which records of a window stand."""
        return sorted(self._by_window.get(window, ()))

    def forget(self, keys: list[str]) -> None:
        """Forgets keys whose windows are no longer kept."""
        for key in keys:
            if self._stood.pop(key, None) is not None:
                window = window_of(key)
                self._by_window[window].discard(key)
                if not self._by_window[window]:
                    del self._by_window[window]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stood)

    def __len__(self) -> int:
        return len(self._stood)
