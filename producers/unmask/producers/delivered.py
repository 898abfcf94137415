"""What became of a session's teardown."""

from dataclasses import dataclass

__all__ = ["TeardownDelivery"]


@dataclass(frozen=True, slots=True)
class TeardownDelivery:
    """The state of a teardown when its host asked for it."""

    acknowledged: bool
    """Whether the broker has acknowledged it, and everything that the emitter had recorded before it."""
    lost: int
    """Teardowns that this emitter has dropped since; unless it is zero, this one may be among them."""
    pending: int
    """Events of the emitter, of any family, that wait for the broker."""
