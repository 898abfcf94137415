"""From what a host hands in to what may be published. Labels are looked at in the background thread only."""

from functools import lru_cache

from unmask.producers import foreign
from unmask.schemas.tokens import INVALID_LABEL, is_token, label, opaque_id

__all__ = ["NO_ENTRY_POINT", "OVERFLOW", "UNSPECIFIED", "Vocabulary", "identifier", "optional_identifier"]

OVERFLOW = "overflow"
NO_ENTRY_POINT = "-"
"""What callers write for no entry point."""
UNSPECIFIED = "unspecified"
"""What is published for it, since every published label is a token."""
_REMEMBERED = 1_024

_opaque = lru_cache(maxsize=4_096)(opaque_id)


def identifier(raw: object) -> str:
    """An identifier as it is published: a token, or the digest of something else."""
    if type(raw) is str:
        # Most are new and tokens already: to remember these would cost more than to look at them again.
        return raw if is_token(raw) else _opaque(raw)
    return opaque_id(foreign.text_of(raw))


def optional_identifier(raw: object) -> str | None:
    """An identifier, None for None or an empty text."""
    return None if raw is None or (type(raw) is str and not raw) else identifier(raw)


class Vocabulary:
    """Labels of one kind: at most `limit` distinct ones, then `overflow`, so that no host can flood the counts."""

    __slots__ = ("_distinct", "_known", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._distinct = {INVALID_LABEL, OVERFLOW, UNSPECIFIED}
        self._known: dict[str, str] = {}

    def __call__(self, raw: object) -> str:
        """The label to publish for `raw`."""
        if type(raw) is str:
            known = self._known.get(raw)
            if known is not None:
                return known
            text = raw
        else:
            text = str.__str__(raw) if isinstance(raw, str) else INVALID_LABEL
        published = label(text)
        if published not in self._distinct:
            if len(self._distinct) >= self._limit + 3:
                return OVERFLOW
            self._distinct.add(published)
        # What is refused is looked at again each time: remembering it would let raw texts pile up.
        if published == text and len(self._known) < _REMEMBERED:
            self._known[text] = published
        return published
