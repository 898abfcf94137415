"""Batches that are not what they claim to be: of another life of their emitter, or a number's that had other content.

They are never counted, and what they tell of proves nothing: from the emitter's last cut, or from their first event if
that was earlier, to their arrival, in the emitter's scope and in the one that they name.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from unmask.consumers.verify.rules import SKEW
from unmask.consumers.verify.strict import Batch
from unmask.schemas.scope import Scope

__all__ = ["Disputed", "Identity", "disputed_stretch", "named_sessions"]

_REMEMBERED = 8
"""Of so many newest batches the stream can tell other content; of older numbers nobody can any more."""
_NAMING = (
    "masked_errors", "kernel_fallbacks", "session_openings", "session_teardowns", "route_selections",
    "delegation_progress", "delegation_effects",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Disputed:
    """A stretch of time of which it is not known who tells. Microseconds."""

    first: int
    last: int
    scopes: frozenset[Scope]


@dataclass(slots=True)
class Identity:
    """What an emitter said of itself, and digests of its newest batches."""

    scope: Scope
    started_at: int
    newest: int = 0
    _digests: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)] * _REMEMBERED)
    """Number and digest of the newest batches, each in the place that its number has."""

    @classmethod
    def of(cls, batch: Batch) -> "Identity":
        """As the first batch says."""
        said = batch["emitter"]
        return cls(Scope(**said["scope"]), said["started_at"])

    def is_another_life(self, batch: Batch) -> bool:
        """Whether the batch says something else of the emitter."""
        said = batch["emitter"]
        return bool(said["started_at"] != self.started_at) or Scope(**said["scope"]) != self.scope

    def had_other_content(self, seq: int, value: bytes) -> bool:
        """Whether the batch of this number, which was read before, had other bytes."""
        number, digest = self._digests[seq % _REMEMBERED]
        return number == seq > self.newest - _REMEMBERED and digest != zlib.crc32(value)

    def remember(self, seq: int, value: bytes) -> None:
        """A batch was read."""
        self.newest = max(self.newest, seq)
        if seq > self.newest - _REMEMBERED:
            self._digests[seq % _REMEMBERED] = (seq, zlib.crc32(value))


def disputed_stretch(batch: Batch, arrival: int, last_cut: int, scope: Scope) -> Disputed:
    """What a batch spoils that is not of the emitter that it names, whose scope and last cut are given."""
    instants = list(_instants(batch))
    first = min((last_cut, *instants))
    last = max(arrival, last_cut, min(max(instants, default=0), arrival + SKEW))
    return Disputed(first, last, frozenset((scope, Scope(**batch["emitter"]["scope"]))))


def named_sessions(batch: Batch) -> set[str]:
    """Sessions that a batch names."""
    return {event["session_id"] for part in _NAMING for event in batch[part] if event["session_id"] is not None}


def _instants(batch: Batch) -> Iterator[int]:
    for group in batch["route_attempts"]:
        yield from group["occurred_at"]
    for part in _NAMING:
        for event in batch[part]:
            yield event["occurred_at"]
