"""Which of many patterns a text can match at all, told by its words: to search for each of them costs far more.

Each pattern has *roots*: small letters without a gap, of which every text that it matches holds at least one, whatever
case it is written in. A root lies within one word, a word being letters without a gap. What a word holds is worked out
once and remembered by the word's hash, never by the word.
"""

from collections.abc import Iterable

__all__ = ["Sieve"]

_MOST = 16_384
# Letters become small ones, all else divides words.
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isascii() and chr(code).isalpha() else 32 for code in range(256))


class Sieve:
    """Roots of several patterns; the answers are sets of patterns as bits, the first pattern being 1."""

    __slots__ = ("_known", "_roots", "every")

    def __init__(self, patterns: Iterable[str]) -> None:
        """The roots of each pattern, divided by spaces."""
        self._roots: dict[bytes, int] = {}
        self._known: dict[int, int] = {}
        self.every = 0
        for number, roots in enumerate(patterns):
            for root in roots.encode().split():
                self._roots[root] = self._roots.get(root, 0) | 1 << number
            self.every |= 1 << number

    def of(self, text: str) -> int:
        """The patterns that `text` may match; it matches no other one."""
        if not text.isascii():
            # Some letters outside of ASCII are the same as one within where case is ignored.
            return self.every
        known = self._known
        found = 0
        words = text.encode().translate(_LETTERS).split()
        for word, key in zip(words, map(hash, words), strict=True):
            bits = known.get(key)
            found |= self._learn(word, key) if bits is None else bits
        return found

    def _learn(self, word: bytes, key: int) -> int:
        bits = 0
        for root, patterns in self._roots.items():
            if root in word:
                bits |= patterns
        if len(self._known) >= _MOST:
            self._known = {}
        self._known[key] = bits
        return bits
