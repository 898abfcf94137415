"""What is decided about a request, before it becomes a record."""

from typing import NamedTuple

from unmask.schemas.codes import EffectAnswer, EffectReason

__all__ = ["Answer"]


class Answer(NamedTuple):
    """An answer, why, and the lease of which it speaks."""

    answer: EffectAnswer
    reason: EffectReason | None = None
    token: int | None = None
    lease_until: int | None = None
    """Microseconds since the epoch."""
