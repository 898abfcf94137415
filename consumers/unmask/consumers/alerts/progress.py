"""How far the alerts topic has been dealt with: what may be committed, and so never comes again."""

from collections.abc import Collection

from unmask.consumers.alerts.change import Place

__all__ = ["Progress"]


class Progress:
    """Per partition, the records that were read and still owe something. Holds nothing else, however long that takes.

    Records are read in the order of their offsets and done in any order.
    """

    def __init__(self) -> None:
        self._next: dict[int, int] = {}
        self._owing: dict[int, set[int]] = {}

    def begin(self, partition: int, position: int) -> None:
        """Reading of a partition begins at an offset."""
        self._next[partition] = position
        self._owing[partition] = set()

    def has(self, partition: int) -> bool:
        """Whether the partition is read here."""
        return partition in self._next

    def read(self, place: Place) -> None:
        """A record was read, and owes something."""
        self._next[place.partition] = place.offset + 1
        self._owing[place.partition].add(place.offset)

    def done(self, place: Place) -> None:
        """A record owes nothing any more. One of a partition that was given away does not matter."""
        self._owing.get(place.partition, set()).discard(place.offset)

    def position(self, partition: int) -> int:
        """The offset from which on something is owed, or not read yet."""
        return min(self._owing[partition], default=self._next[partition])

    def positions(self) -> dict[int, int]:
        """That of every partition."""
        return {partition: self.position(partition) for partition in self._next}

    def forget(self, partitions: Collection[int]) -> None:
        """Partitions are another watcher's now."""
        for partition in partitions:
            self._next.pop(partition, None)
            self._owing.pop(partition, None)
