"""All topics follow the rules that make counts exact and state durable."""

import re

import pytest

from unmask.schemas.history import RECORDS
from unmask.schemas.topics import Topics, namespace_from_environment

TOPICS = Topics("a.b", events_partitions=4, table_partitions=3)
PAIRS = ((TOPICS.events, TOPICS.ledger), (TOPICS.effects_requests, TOPICS.effects_state))
"""What a ledger reads, and where it keeps its state."""


def test_names_have_dots_and_no_underscores() -> None:
    for spec in TOPICS.all():
        assert re.fullmatch(r"a\.b\.[a-z]+(\.[a-z]+)?", spec.name)


@pytest.mark.parametrize("namespace", ["a_b", "A", "", "-a", ".a", "a..b", "a/b"])
def test_a_namespace_that_would_make_bad_names_is_refused(namespace: str) -> None:
    with pytest.raises(ValueError, match="namespace"):
        Topics(namespace)


@pytest.mark.parametrize("counts", [(0, 1), (1, 0)])
def test_a_topic_has_a_partition(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least one partition"):
        Topics("a", events_partitions=counts[0], table_partitions=counts[1])


def test_tables_have_one_partition_count_and_the_ledger_that_of_events() -> None:
    assert {spec.partitions for spec in TOPICS.tables()} == {3}
    assert TOPICS.ledger.partitions == TOPICS.events.partitions == 4
    assert TOPICS.is_table(TOPICS.windows)
    assert not TOPICS.is_table(TOPICS.events)


def test_state_is_compacted_and_never_only_deleted() -> None:
    named = ("ledger", "tallies", "sessions", "windows", "verdicts", "alerts", "parity", "effects.state")
    assert [spec.name for spec in TOPICS.all() if spec.compacted] == [f"a.b.{name}" for name in named]


def test_no_compaction_lag_is_zero() -> None:
    """Case V02: Apache Kafka refuses max.compaction.lag.ms=0."""
    for spec in TOPICS.all():
        assert int(spec.config.get("max.compaction.lag.ms", "1")) >= 1


def test_the_broker_stamps_what_the_ledgers_read() -> None:
    stamped = {spec.name for spec in TOPICS.all() if spec.config.get("message.timestamp.type") == "LogAppendTime"}
    assert stamped == {spec.name for spec in (*PAIRS[0], *PAIRS[1])}


def test_every_record_has_a_topic() -> None:
    named = {spec.record for spec in TOPICS.all()} - {None}
    assert named | {"evidence_flaw", "evidence_mark"} == set(RECORDS), "these two share the tallies topic"


def test_the_namespace_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_NAMESPACE", raising=False)
    assert namespace_from_environment() == "unmask"
    monkeypatch.setenv("UNMASK_NAMESPACE", "team-a")
    assert namespace_from_environment() == "team-a"
