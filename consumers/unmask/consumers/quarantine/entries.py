"""The quarantine's entries: what is known of each record that could not be read. Never its bytes."""

from collections.abc import Iterable, Iterator

from unmask.consumers.quarantine.place import Place
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import BrokerSilent
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing
from unmask.schemas.models import Quarantined, from_avro

__all__ = ["Entries", "read_entries"]


class Entries:
    """Entries by place, the newest word on each, in the order of their places."""

    def __init__(self, framing: Framing, rows: Iterable[Row] = ()) -> None:
        self._framing = framing
        self._found: dict[Place, Quarantined] = {}
        self.unreadable = 0
        """Entries that cannot be read themselves."""
        for row in rows:
            self.take(row)

    def take(self, row: Row) -> None:
        """Takes the next record of the quarantine topic in."""
        try:
            _, value = self._framing.decode_any(("quarantine",), row.value)
            entry = from_avro(Quarantined, value)
        except (DecodeError, ValueError):
            self.unreadable += 1
            return
        self._found[Place(entry.topic, entry.partition, entry.offset)] = entry

    def __iter__(self) -> Iterator[tuple[Place, Quarantined]]:
        return iter(sorted(self._found.items(), key=lambda item: item[0]))

    def get(self, place: Place) -> Quarantined | None:
        """The entry of a place."""
        return self._found.get(place)

    def __len__(self) -> int:
        return len(self._found)


def read_entries(source: TopicSource, framing: Framing, timeout: float) -> Entries:
    """All entries that the quarantine topic has. Raises a TopicUnreadable that names the cause."""
    entries = Entries(framing)
    with TopicReader(source, timeout=timeout) as reader:
        while not reader.caught_up:
            rows = reader.read(timeout)
            if not rows and not reader.caught_up:
                raise BrokerSilent(source.bootstrap, f"{source.topic} gave nothing for {timeout:.0f} s")
            for row in rows:
                entries.take(row)
    return entries
