"""Proof that two payloads are the same, bit for bit: digests of their canonical form. The payload goes nowhere.

The canonical form is JSON's data model, written so that no two different payloads have the same one:

- null, true and false; an object's members in the order of their names; an array's items in theirs (a tuple is an
  array). 1, 1.0, true and "1" are four different payloads.
- integers of any size exactly; other numbers by their 64 bits, so that NaN equals itself and 0.0 is not -0.0;
- text by its code points, nothing normalised: a composed and a decomposed é differ; bytes as they are, never as text.

What has no such form (another type, a name that is no text, a cycle, more than is looked at) has no digest, and
nothing is proven about it.
"""

import hashlib
from struct import pack
from typing import Any

from unmask.schemas.codes import Equivalence

__all__ = ["DEEPEST", "MOST_BYTES", "MOST_VALUES", "PayloadDigest", "equivalence_of", "payload_digest"]

DEEPEST = 64
"""Levels of nesting that are looked at."""
MOST_VALUES = 50_000
"""Values of one payload that are looked at."""
MOST_BYTES = 4 * 1024 * 1024
"""Bytes of texts, bytes and integers of one payload that are looked at."""


def payload_digest(payload: object) -> str | None:
    """The digest of a payload, 64 hex digits; None where it has no canonical form. Never raises an Exception."""
    digest = PayloadDigest()
    digest.add(payload)
    return digest.value()


def equivalence_of(known: str | None, found: str | None) -> Equivalence:
    """What two digests prove, where None is one that there is not."""
    if known is None or found is None:
        return Equivalence.UNPROVEN
    return Equivalence.BIT_FOR_BIT if known == found else Equivalence.DIFFERENT


class _NotCanonical(Exception):
    """The payload has no canonical form, or is more than is looked at."""


class PayloadDigest:
    """The digest of one payload, or of several after one another: the parts of a stream. Limits hold for the whole."""

    __slots__ = ("_bytes", "_hash", "_sound", "_values")

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._values = MOST_VALUES
        self._bytes = MOST_BYTES
        self._sound = True

    def add(self, payload: object) -> None:
        """Take up the next payload. Never raises an Exception."""
        if not self._sound:
            return
        try:
            self._write(payload, DEEPEST)
        except Exception:
            # Not canonical, changed by another thread meanwhile, or of a class that does not behave.
            self._sound = False

    def value(self) -> str | None:
        """The digest of what was added so far; None where part of it has no canonical form."""
        return self._hash.hexdigest() if self._sound else None

    def _write(self, value: Any, depth: int) -> None:
        self._values -= 1
        if self._values < 0 or depth < 0:
            raise _NotCanonical
        put = self._hash.update
        if value is None:
            put(b"n")
        elif value is True or value is False:
            put(b"t" if value else b"f")
        elif isinstance(value, str):
            self._afford(str.__len__(value))
            self._put(b"s", str.encode(value, "utf-8", "surrogatepass"))
        elif isinstance(value, int):
            size = int.bit_length(value) // 8 + 1
            self._afford(size)
            self._put(b"i", int.to_bytes(value, size, "big", signed=True))
        elif isinstance(value, float):
            put(b"d" + pack(">d", value))
        elif isinstance(value, bytes | bytearray | memoryview):
            self._afford(value.nbytes if isinstance(value, memoryview) else len(value))
            self._put(b"b", bytes(value))
        elif isinstance(value, dict):
            self._object(value, depth)
        elif isinstance(value, list | tuple):
            put(b"[")
            for item in list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value):
                self._write(item, depth - 1)
            put(b"]")
        else:
            raise _NotCanonical

    def _object(self, value: dict[Any, Any], depth: int) -> None:
        # The characters of a name themselves: a subclass of str may compare as it likes.
        members = {str.__str__(name): item for name, item in dict.items(value) if isinstance(name, str)}
        if len(members) != dict.__len__(value):
            raise _NotCanonical
        self._hash.update(b"{")
        for name in sorted(members):
            self._afford(len(name))
            self._put(b"s", name.encode("utf-8", "surrogatepass"))
            self._write(members[name], depth - 1)
        self._hash.update(b"}")

    def _put(self, kind: bytes, content: bytes) -> None:
        self._afford(len(content))
        self._bytes -= len(content)
        # With its length before it, no content can pass for the end of one value and the beginning of another.
        self._hash.update(kind + len(content).to_bytes(8, "big") + content)

    def _afford(self, size: int) -> None:
        # Asked before anything is copied, with what it will take at least.
        if size > self._bytes:
            raise _NotCanonical
