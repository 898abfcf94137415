"""The stream job without Kafka: its pure parts fed with a log, so that the recount can be held against them.

Only tests may do this: the recount itself shares nothing with the stream but the contract.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.unit.consumers.verify.hosts import Log, Record
from tests.unit.consumers.verify.recounting import FRAMING, TABLES, recount_of

from unmask.consumers.topic_reader import Row
from unmask.consumers.verify.compare_verdicts import compare_verdicts
from unmask.consumers.verify.compare_windows import compare_windows
from unmask.consumers.verify.evidence import AsOf
from unmask.consumers.verify.outcome import Examined
from unmask.consumers.verify.published import Admissions, Marks, PublishedTopic
from unmask.consumers.verify.rules import RecountRules
from unmask.consumers.verify.span import Range
from unmask.schemas.codec import encode
from unmask.schemas.errors import DecodeError
from unmask.schemas.topics import Topics
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.fold import fold_batch, fold_unreadable
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.outputs import Outputs
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState
from unmask.streams.tables.flow import Output, Source
from unmask.streams.tables.obligations import ObligationBook
from unmask.streams.tables.partition import TablePartition
from unmask.streams.tables.rules import TableRules

__all__ = ["InMemoryStream"]


class _Known(ObligationBook):
    def knows(self, session_id: str) -> bool:
        return self.verdict_of(session_id) is not None


@dataclass
class InMemoryStream:
    """Ledger and tables of one worker. `published` is what stands on the output topics, as (topic, partition, key)."""

    partitions: int = 2
    rules: FoldRules = field(default_factory=FoldRules)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    known: _Known = field(default_factory=_Known)

    def __post_init__(self) -> None:
        self._topics = Topics("t", events_partitions=self.partitions, table_partitions=TABLES)
        self._states = {p: PartitionState(p) for p in range(self.partitions)}
        self._outputs = Outputs(self._topics, self.rules, "writer")
        table_rules = TableRules(TABLES, window_seconds=self.rules.window_seconds)
        self._tables = [TablePartition(p, table_rules, self.known) for p in range(TABLES)]
        self._intake = Intake()
        self._offsets = 0

    def feed(self, records: Iterable[Record]) -> None:
        for record in records:
            state = self._states[record.partition]
            try:
                batch = self._intake.read(record.key, record.value)
            except DecodeError as refused:
                entry = {
                    "topic": "t.events", "partition": record.partition, "offset": record.offset,
                    "broker_time": record.arrival, "reason": refused.reason.value, "size": len(record.value),
                    "digest": hashlib.sha256(record.value).hexdigest(), "fingerprint": refused.fingerprint,
                    "key": record.key.decode(),
                }  # fmt: skip
                fold_unreadable(state, self.rules, record.offset, record.arrival, entry)
            else:
                fold_batch(state, self.rules, record.offset, record.arrival, batch)

    def publish(self, through: int) -> None:
        """Everything that stood in the log at `through` has been fed: closes, publishes and judges."""
        for state in self._states.values():
            advance(state, self.rules, through)
            for record in self._outputs.records(state, state.take_touched(), mark=True):
                self._offsets += 1
                self._row(record.topic, record.partition, record.key, record.value)
                sources = {self._topics.tallies.name: Source.TALLIES, self._topics.sessions.name: Source.SESSIONS}
                if record.topic in sources:
                    self._tables[record.partition].apply(sources[record.topic], record.key, record.value, self._offsets)
        for table in self._tables:
            while outputs := list(table.collect(through, everything=True)):
                for output in outputs:
                    self._put(table.partition, output)

    def _put(self, partition: int, output: Output) -> None:
        name = {Source.WINDOWS: "t.windows", Source.VERDICTS: "t.verdicts", Source.ALERTS: "t.alerts"}[output.topic]
        value = None if output.record is None else encode(output.record_name, output.record)
        self._row(name, partition, output.key.encode(), value)
        if output.topic is Source.VERDICTS:
            self.known.apply_verdict(output.key, output.record)
            for table in self._tables:
                table.sessions.touch(output.key)

    def _row(self, topic: str, partition: int, key: bytes, value: bytes | None) -> None:
        rows = self.rows.setdefault(topic, [])
        rows.append(Row(partition, len(rows), key, value, 0))

    def newest(self, topic: str) -> dict[str, Any]:
        """What stands on an output topic, decoded, by key."""
        stands: dict[str, Any] = {}
        for row in self.rows.get(topic, []):
            assert row.key is not None
            record = topic.removeprefix("t.").removesuffix("s")
            stands[row.key.decode()] = None if row.value is None else FRAMING.decode_any((record,), row.value)[1]
        return {key: value for key, value in stands.items() if value is not None}

    def compare(self, log: Log, rules: RecountRules | None = None, **keep: int) -> Examined:
        """The recount of the log against what stands; `keep` are the first offsets kept, by `p0`, `p1` ..."""
        marks = Marks(FRAMING)
        for row in self.rows.get("t.tallies", []):
            marks.take(row)
        grace = {p: mark.grace for p, mark in marks.known.items()}
        as_of = AsOf({p: mark.read_through for p, mark in marks.known.items()}, grace)
        recount = recount_of(log, rules, grace, **keep)
        windows, verdicts = self._table("window"), self._table("verdict")
        examined = Examined()
        compare_windows(examined, recount, as_of, windows, TABLES, Range())
        compare_verdicts(examined, recount, as_of, verdicts, Admissions(FRAMING), TABLES, Range())
        return examined

    def _table(self, record: str) -> PublishedTopic:
        sizes = {str(size) for size in (*self.rules.window_seconds, 0)}
        wanted = (lambda key, _: key.split("|")[0] in sizes) if record == "window" else (lambda _key, _: True)
        table = PublishedTopic(record, FRAMING, wanted)
        for row in self.rows.get(f"t.{record}s", []):
            table.take(row)
        return table
