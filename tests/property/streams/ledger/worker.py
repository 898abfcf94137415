"""A ledger worker without Kafka: reads a log, commits or crashes, moves to another worker, as the world has it."""

from typing import Any, NamedTuple

from tests.property.streams.ledger.world import Logged

from unmask.schemas.topics import Topics
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.fold import fold_batch, fold_unreadable
from unmask.streams.ledger.outputs import Outputs, Record
from unmask.streams.ledger.pieces import restore
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState

__all__ = ["Published", "Standing", "Worker"]


class Standing(NamedTuple):
    """How an emitter stood when something was published."""

    last_seq: int
    unaccounted: bool


class Published(NamedTuple):
    """One record, with what the ledger knew when it was published, and whether its transaction was committed."""

    record: Record
    knew: dict[str, Standing]
    committed: bool


class Worker:
    """The ledger of one partition."""

    def __init__(self, partition: int, topics: Topics, rules: FoldRules, log: list[Logged]) -> None:
        self.partition = partition
        self.topics = topics
        self.rules = rules
        self.log = log
        self.published: list[Published] = []
        self._pieces: dict[bytes, bytes] = {}
        self._lives = 0
        self._begin()

    def _begin(self) -> None:
        self._lives += 1
        self.state: PartitionState = restore(self.partition, self._pieces)[0]
        self._outputs = Outputs(self.topics, self.rules, f"writer-{self._lives}")

    def read(self, n: int) -> None:
        """Folds up to n records."""
        for offset in range(self.state.next_offset, min(len(self.log), self.state.next_offset + n)):
            record = self.log[offset]
            if record.batch is not None:
                batch = record.batch | {"digest": record.digest}
                fold_batch(self.state, self.rules, offset, record.arrival, batch)
            else:
                fold_unreadable(self.state, self.rules, offset, record.arrival, self._entry(offset, record))

    def advance(self, now: int) -> None:
        """Learns that everything was read, if it was."""
        if self.state.next_offset == len(self.log):
            advance(self.state, self.rules, now)

    def commit(self, *, mark: bool) -> None:
        """A transaction that succeeds."""
        for record in self._transaction(mark=mark):
            self._publish(record, committed=True)
            if record.topic == self.topics.ledger.name:
                if record.value is None:
                    self._pieces.pop(record.key, None)
                else:
                    self._pieces[record.key] = record.value

    def crash(self, *, after: int, mark: bool) -> None:
        """A transaction of which the first records reach the broker and that is never committed; then a new life."""
        for record in self._transaction(mark=mark)[:after]:
            self._publish(record, committed=False)
        self._begin()

    def move(self) -> None:
        """Another worker takes the partition over after a clean hand-over."""
        self.commit(mark=False)
        self._begin()

    def _transaction(self, *, mark: bool) -> list[Record]:
        return list(self._outputs.records(self.state, self.state.take_touched(), mark=mark))

    def _publish(self, record: Record, *, committed: bool) -> None:
        knew = {
            name: Standing(emitter.last_seq, emitter.unaccounted is not None)
            for name, emitter in self.state.emitters.items()
        }
        self.published.append(Published(record, knew, committed))

    def _entry(self, offset: int, record: Logged) -> dict[str, Any]:
        return {
            "topic": self.topics.events.name, "partition": self.partition, "offset": offset,
            "broker_time": record.arrival, "reason": "BAD_MAGIC", "size": 1, "digest": "0" * 64, "fingerprint": None,
            "key": record.key,
        }  # fmt: skip
