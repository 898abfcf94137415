"""The log as it is: every batch of every emitter with its place and time, read at the end, and counted by nobody else.

An emitter's batches have cuts; a batch accounts for the stretch from the cut before to its own. The cut of an emitter
whose clock is ahead by more than five minutes is the broker's time, as the contract says.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import decode_any
from unmask.schemas.errors import DecodeError
from unmask.schemas.topics import Topics

__all__ = ["AHEAD_US", "Batch", "Chain", "Log", "read_log"]

AHEAD_US = 300_000_000
_UNKNOWN_US = 10_000_000  # an unreadable record of an unknown emitter may tell of so much time before it
_LONGEST_US = 3_600_000_000  # and one of any emitter of no more than this


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch, the first time that it came."""

    seq: int
    offset: int
    arrival: int
    cut: int
    ahead: bool
    body: dict[str, Any]


@dataclass(slots=True)
class Chain:
    """All batches of one emitter."""

    emitter_id: str
    release_line: str
    partition: int
    first_heard: int
    """The broker's time of its first record."""
    started: int
    first_offset: int = 0
    """Where its first record stands."""
    batches: dict[int, Batch] = field(default_factory=dict)
    _seqs: list[int] = field(default_factory=list)

    @property
    def seqs(self) -> list[int]:
        """The batch_seq of all batches, in order."""
        return self._seqs

    @property
    def last(self) -> Batch:
        """The batch with the highest batch_seq."""
        return self.batches[self._seqs[-1]]

    def in_order(self) -> Iterator[Batch]:
        """By batch_seq."""
        return (self.batches[seq] for seq in self._seqs)

    def take(self, offset: int, arrival: int, body: dict[str, Any]) -> bool:
        """A record of this emitter. False where the batch is known."""
        seq, sent = body["batch_seq"], body["sent_at"]
        if seq in self.batches:
            return False
        place = bisect_left(self._seqs, seq)
        before = self.batches[self._seqs[place - 1]].cut if place else self.started
        if place == len(self._seqs):
            ahead = sent > arrival + AHEAD_US
            cut = max(before, arrival if ahead else sent)
        else:
            above = self.batches[self._seqs[place]]
            ahead = above.ahead and sent > above.cut
            cut = min(max(sent, before), above.cut)
        self.batches[seq] = Batch(seq, offset, arrival, cut, ahead, body)
        insort(self._seqs, seq)
        return True


@dataclass(slots=True)
class Log:
    """Everything on the events topic."""

    records: int = 0
    chains: dict[str, Chain] = field(default_factory=dict)
    duplicates: list[tuple[str, int]] = field(default_factory=list)
    """Release line and broker's time of every record that was there before."""
    unreadable: list[tuple[int, int]] = field(default_factory=list)
    """For every record that nobody can read: the stretch of time that it may have told of."""
    reasons: Counter[str] = field(default_factory=Counter)


def read_log(bootstrap: str, topics: Topics) -> Log:
    """Reads it from its beginning to its end. Raises a TopicUnreadable."""
    log = Log()
    with TopicReader(TopicSource(topics.events.name, bootstrap, compacted=False), timeout=30.0) as reader:
        while not reader.caught_up:
            for row in reader.read(0.5):
                _take(log, row.partition, row.offset, row.timestamp_ms * 1_000, row.key or b"", row.value)
    return log


def _take(log: Log, partition: int, offset: int, arrival: int, key: bytes, value: bytes | None) -> None:
    log.records += 1
    try:
        _, body = decode_any(("event_batch",), value)
        emitter_id: str = body["emitter"]["emitter_id"]
        if emitter_id.encode() != key:
            raise DecodeError("EMPTY_KEY", "another key")  # type: ignore[arg-type]
    except DecodeError as error:
        known = log.chains.get(key.decode(errors="replace"))
        since = arrival - _UNKNOWN_US if known is None else max(known.last.cut, arrival - _LONGEST_US)
        log.unreadable.append((min(since, arrival), max(since, arrival)))
        log.reasons[str(error.reason)] += 1
        return
    chain = log.chains.get(emitter_id)
    if chain is None:
        started = min(
            body["emitter"]["started_at"], arrival if body["sent_at"] > arrival + AHEAD_US else body["sent_at"]
        )
        line = body["emitter"]["scope"]["release_line"]
        chain = log.chains[emitter_id] = Chain(emitter_id, line, partition, arrival, started, offset)
    if not chain.take(offset, arrival, body):
        log.duplicates.append((chain.release_line, arrival))
