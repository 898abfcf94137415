"""What primaries last delivered, as digests and shapes, and what a substitute's answer is beside it.

That two answers are equal bit for bit means something where both answer the same request, so it is looked at only
where the host says which one. Shapes are compared within one request, or else within one capability of an upstream.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

from unmask.producers.equivalence import PayloadDigest, equivalence_of, payload_digest
from unmask.producers.options import Asked
from unmask.producers.shapes import PayloadShape
from unmask.schemas.codes import Equivalence

__all__ = ["Comparison", "KnownPayloads", "Sight"]


class Comparison(NamedTuple):
    """A substitute's answer beside the primary's last known one."""

    equivalence: Equivalence = Equivalence.UNPROVEN
    primary_shape: str | None = None
    fallback_shape: str | None = None


class Sight:
    """What was seen of one answer: the whole, or the parts of a stream after one another."""

    __slots__ = ("_digest", "_lost", "_payload", "_shape", "request")

    def __init__(self, asked: Asked) -> None:
        self.request = None if asked.request is None else payload_digest(asked.request)
        """The digest of the request; None where it is not known."""
        self._payload = asked.payload
        self._digest = PayloadDigest() if self.request is not None else None
        self._shape = PayloadShape()
        self._lost = False

    def add(self, answer: object) -> None:
        """Look at an answer, or at the next part of it. Never raises an Exception."""
        if self._lost:
            return
        try:
            payload = answer if self._payload is None else self._payload(answer)
        except Exception:
            # The answer is the caller's all the same; nothing can be said about its payload.
            self._lost = True
            return
        self._shape.add(payload)
        if self._digest is not None:
            self._digest.add(payload)

    def shape_anew(self) -> None:
        """Another one goes on with the stream: the whole has one digest, but the shape is that one's alone."""
        self._shape = PayloadShape()

    @property
    def digest(self) -> str | None:
        """None where the request is not known, or the payload has no canonical form."""
        return None if self._digest is None or self._lost else self._digest.value()

    @property
    def shape(self) -> str | None:
        """None where the payload has none."""
        return None if self._lost else self._shape.fingerprint()


class KnownPayloads:
    """Remembers between `limit` and twice `limit` of the newest answers of primaries. No lock, no payload."""

    __slots__ = ("_generations", "_limit")

    def __init__(self, limit: int = 4_096) -> None:
        self._limit = limit
        self._generations: tuple[dict[Hashable, Any], dict[Hashable, Any]] = ({}, {})

    def learn(self, asked: Asked, sight: Sight) -> None:
        """The primary delivered this."""
        shape = sight.shape
        self._put(("shape", asked.upstream, None, asked.capability), shape)
        if sight.request is not None:
            self._put(("shape", asked.upstream, sight.request), shape)
            self._put(("digest", asked.upstream, sight.request), sight.digest)

    def compare(self, asked: Asked, sight: Sight) -> Comparison:
        """A substitute delivered this instead."""
        primary_shape = self._get(("shape", asked.upstream, None, asked.capability))
        digest = None
        if sight.request is not None:
            primary_shape = self._get(("shape", asked.upstream, sight.request)) or primary_shape
            digest = self._get(("digest", asked.upstream, sight.request))
        return Comparison(equivalence_of(digest, sight.digest), primary_shape, sight.shape)

    def _put(self, key: Hashable, value: str | None) -> None:
        young, _ = self._generations
        if len(young) >= self._limit and key not in young:
            young = {}
            self._generations = (young, self._generations[0])
        # One without digest or shape is remembered as such: an older answer is not the last known one.
        young[key] = value

    def _get(self, key: Hashable) -> Any:
        young, old = self._generations
        return young[key] if key in young else old.get(key)
