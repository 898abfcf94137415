"""On whose behalf a transaction consumes: the group refuses offsets of a member or a generation that is over.

That refusal is what keeps a worker that was paused from committing what another has taken over. But the group takes
offsets that name no member at all, and a client that has lost its membership names none. So what is handed over is
never anything but the membership under which the partitions were assigned, at most in a newer generation.
"""

from typing import Any

from confluent_kafka import Consumer

__all__ = ["Membership", "is_same_member"]

# The client writes a membership as bytes: this, four bytes of the generation, then group, member and instance.
_LAYOUT = b"CGMDv2:"
_REST = len(_LAYOUT) + 4


class Membership:
    """The membership of one consumer, as of its last rebalance."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._assigned: Any = None

    def assigned(self) -> None:
        """To be called when partitions are assigned or taken back: then it is certain."""
        self._assigned = self._consumer.consumer_group_metadata()

    def lost(self) -> None:
        """It is over."""
        self._assigned = None

    def __call__(self) -> Any:
        """The membership, in the newest generation that is known of it; None when it is over."""
        newest = self._consumer.consumer_group_metadata()
        return newest if is_same_member(self._assigned, newest) else self._assigned


def is_same_member(one: Any, other: Any) -> bool:
    """Whether two memberships differ in nothing but the generation. No for anything in an unknown layout."""
    return (
        isinstance(one, bytes)
        and isinstance(other, bytes)
        and len(one) > _REST
        and one.startswith(_LAYOUT)
        and other.startswith(_LAYOUT)
        and one[_REST:] == other[_REST:]
    )
