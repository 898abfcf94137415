"""No reader ever sees a part of what a late host tells called complete."""

import pytest
from tests.unit.streams.ledger.emitting import SECOND, T0, Life
from tests.unit.streams.ledger.folding import Folded
from tests.unit.streams.tables.test_partition import NothingKnown

from unmask.schemas.codes import Evidence
from unmask.schemas.topics import Topics
from unmask.streams.ledger.advance import advance
from unmask.streams.ledger.fold import fold_batch
from unmask.streams.ledger.outputs import Outputs
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.session_evidence import is_lossy
from unmask.streams.ledger.state import PartitionState
from unmask.streams.tables.flow import Source
from unmask.streams.tables.partition import TablePartition
from unmask.streams.tables.rules import TableRules

TOPICS = Topics("held", events_partitions=1, table_partitions=1)


class Pipeline:
    """A ledger partition and the table behind it, looked at after every single record."""

    def __init__(self, rules: FoldRules) -> None:
        self.rules = rules
        self.state = PartitionState(0)
        self.claims: list[tuple[int, str]] = []
        """What was published of the window T0 and the hosts' scope: attempts and evidence."""
        self._outputs = Outputs(TOPICS, rules, "w")
        self._table = TablePartition(0, TableRules(table_partitions=1), NothingKnown())
        self._offset = 0

    def commit(self, *, mark: bool) -> None:
        for record in self._outputs.records(self.state, self.state.take_touched(), mark=mark):
            if record.topic == TOPICS.tallies.name:
                assert self._table.apply(Source.TALLIES, record.key, record.value, self._offset)
                self._offset += 1
                self._look()

    def _look(self) -> None:
        for output in self._table.collect(T0 + 1, everything=True):
            window = output.record
            if output.topic is not Source.WINDOWS or not window or window["window_start"] != T0:
                continue
            if window["scope"] and window["capability"] is None:
                self.claims.append((window["attempts"], window["evidence"][0]["state"]))

    def complete(self) -> list[int]:
        return [attempts for attempts, state in self.claims if state == Evidence.COMPLETE.value]


@pytest.mark.parametrize("horizon", [20 * SECOND, 3600 * SECOND], ids=["corrections", "open cells"])
@pytest.mark.parametrize("marks", [(False, False, False, True), (False, True, False, True), (True, True, True, True)])
def test_a_closed_window_is_not_complete_with_a_part_of_a_late_host(horizon: int, marks: tuple[bool, ...]) -> None:
    pipeline = Pipeline(FoldRules(window_seconds=(60,), horizon_us=horizon, write_off_us=75 * SECOND))
    state, rules = pipeline.state, pipeline.rules
    now = T0 + 150 * SECOND
    fold_batch(state, rules, 0, now - SECOND, Life("elsewhere", started_at=now - SECOND).cut(now - SECOND))
    advance(state, rules, now - SECOND // 2)
    pipeline.commit(mark=True)
    # Its clock is 150 s behind, so that it tells of a window that closed long ago.
    late = Life(started_at=T0, heartbeat_ms=2_000)
    for n, mark in enumerate(marks[:3]):
        late.attempt(T0 + (n + 1) * SECOND, n=10)
        late.fallback(T0 + (n + 1) * SECOND)
        fold_batch(state, rules, n + 1, now + n * SECOND // 10, late.cut(T0 + (n + 1) * SECOND + 1))
        pipeline.commit(mark=mark)
    late.attempt(T0 + 4 * SECOND, n=10)
    fold_batch(state, rules, 4, now + SECOND, late.cut(T0 + 65 * SECOND, closing=True))
    advance(state, rules, now + 2 * SECOND)
    pipeline.commit(mark=True)
    assert [attempts for attempts in pipeline.complete() if attempts] == [40]
    assert pipeline.claims[-1] == (40, Evidence.COMPLETE.value)


def test_a_whole_backlog_in_one_transaction_is_not_seen_in_parts_either() -> None:
    pipeline = Pipeline(FoldRules(window_seconds=(60,), horizon_us=20 * SECOND))
    state, rules = pipeline.state, pipeline.rules
    now = T0 + 150 * SECOND
    advance(state, rules, now - SECOND)
    pipeline.commit(mark=True)
    late = Life(started_at=T0)
    for n in range(8):
        late.attempt(T0 + (n + 1) * SECOND, n=10)
        late.fallback(T0 + (n + 1) * SECOND)
        fold_batch(state, rules, n, now, late.cut(T0 + (n + 1) * 10 * SECOND, closing=n == 7))
    pipeline.commit(mark=False)
    advance(state, rules, now + SECOND)
    pipeline.commit(mark=True)
    assert [attempts for attempts in pipeline.complete() if attempts] == [80]


@pytest.mark.parametrize("ahead", [0, 400 * SECOND])
def test_a_lost_fallback_spoils_its_session_whatever_the_hosts_clock_says(ahead: int) -> None:
    life, folded = Life(started_at=T0 + ahead), Folded()
    folded.batch(life.cut(T0 + ahead), arrival=T0)
    life.open(T0 + ahead + SECOND)
    folded.batch(life.cut(T0 + ahead + 2 * SECOND), arrival=T0 + 2 * SECOND)
    life.fallback(T0 + ahead + 3 * SECOND, session_id="session-1", operation_id="op-1")
    life.cut(T0 + ahead + 4 * SECOND)  # never arrives
    life.tear_down(T0 + ahead + 5 * SECOND, operations=3)
    folded.batch(life.cut(T0 + ahead + 6 * SECOND), arrival=T0 + 6 * SECOND)
    assert is_lossy(folded.state, folded.state.sessions["session-1"])
