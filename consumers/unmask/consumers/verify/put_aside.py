"""Which records the stream put into quarantine: for its counts they are unreadable, whatever this version can read."""

import hashlib
from dataclasses import dataclass, field

from unmask.consumers.topic_reader import Row
from unmask.schemas.errors import DecodeError
from unmask.schemas.framing import Framing

__all__ = ["PutAside"]


@dataclass(slots=True)
class PutAside:
    """The quarantine's entries about one topic."""

    topic: str
    framing: Framing
    _digests: dict[tuple[int, int], str] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Takes a record of the quarantine topic in; one that cannot be read puts nothing aside."""
        try:
            _, entry = self.framing.decode_any(("quarantine",), row.value)
        except DecodeError:
            return
        if entry["topic"] == self.topic:
            self._digests[entry["partition"], entry["offset"]] = entry["digest"]

    def holds(self, row: Row) -> bool:
        """Whether this very record of the log was put aside."""
        digest = self._digests.get((row.partition, row.offset))
        return digest is not None and digest == hashlib.sha256(row.value or b"").hexdigest()
