"""Whether the stream's own word on how far it has read can be true, checked against the log's append times.

A mark says: everything that stood in the partition at this broker's time lies below this offset. A record at or above
the offset that was appended earlier disproves it, and so does a time that the broker has not reached.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from unmask.consumers.verify.outcome import Difference
from unmask.consumers.verify.published import Mark
from unmask.schemas.instants import iso
from unmask.schemas.windowing import MICROS

__all__ = ["MarkCheck"]

_REMEMBERED = 100_000
# The clocks of a cluster's brokers differ a little, and append times are cut to milliseconds.
_TOLERANCE = MICROS


@dataclass(slots=True)
class MarkCheck:
    """Remembers the append times of each partition's newest records."""

    _appended: dict[int, deque[tuple[int, int]]] = field(default_factory=dict)

    def record(self, partition: int, offset: int, appended: int) -> None:
        """A record stands in the log; `appended` in microseconds."""
        kept = self._appended.setdefault(partition, deque(maxlen=_REMEMBERED))
        kept.append((offset, appended))

    def lies(self, marks: Mapping[int, Mark], broker_time: int) -> list[Difference]:
        """Marks that cannot be true."""
        found: list[Difference] = []
        for partition, mark in sorted(marks.items()):
            told = f"offset {mark.offset}, read through {iso(mark.read_through)}"
            unread = [at for offset, at in self._appended.get(partition, ()) if offset >= mark.offset]
            if unread and min(unread) + _TOLERANCE < mark.read_through:
                seen = f"a record at or above that offset was appended at {iso(min(unread))}"
                found.append(Difference("mark", str(partition), "read_through", told, seen))
            elif mark.read_through > broker_time + _TOLERANCE:
                found.append(Difference("mark", str(partition), "read_through", told, f"it is {iso(broker_time)}"))
        return found
