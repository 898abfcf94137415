"""A report reads no more of a year's windows than it must, and never less."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from confluent_kafka import Producer

from unmask.consumers.report.fallbacks_view import fallbacks_source, read_fallbacks
from unmask.consumers.testing import window_record
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.windows_view import read_windows, windows_source
from unmask.schemas.kafka import producer_config
from unmask.schemas.keys import window_key
from unmask.schemas.testing import sample
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.schemas.wire import encode

pytestmark = pytest.mark.integration

HOUR = 3_600 * MICROS
BEGAN = 1_767_225_600 * MICROS
HOURS = 600
Stamped = tuple[dict[str, Any], int]


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each read brought."""
    counts: list[int] = []
    read = TopicReader.read

    def counted(reader: TopicReader, timeout: float) -> list[Row]:
        rows = read(reader, timeout)
        counts.append(len(rows))
        return rows

    monkeypatch.setattr(TopicReader, "read", counted)
    return counts


def hours(published_late: int = 0) -> Iterable[Stamped]:
    for number in range(HOURS):
        start = BEGAN + number * HOUR
        yield window_record(start, 3_600, attempts=number), (start + HOUR + published_late) // 1000


def test_records_from_before_the_range_are_left_unread(
    kafka: str, topics: Topics, publish_windows: Callable[[Iterable[Stamped]], None], rows_read: list[int]
) -> None:
    publish_windows(hours())
    source = windows_source(kafka, topics.namespace)
    told: list[tuple[int, int]] = []
    last = BEGAN + HOURS * HOUR
    found = read_windows(
        source, 3_600, last - 24 * HOUR, last, timeout=30, progress=lambda total, left: told.append((total, left))
    )
    assert [window.attempts for window in found.windows] == list(range(HOURS - 24, HOURS))
    assert sum(rows_read) < 200
    assert told[-1][1] == 0
    assert found.newest == last - HOUR


def test_a_worker_whose_clock_was_behind_hides_nothing(
    kafka: str, topics: Topics, publish_windows: Callable[[Iterable[Stamped]], None], rows_read: list[int]
) -> None:
    records = list(hours())
    # The clock was 20 days behind for most of the time, and was put right for the last hours.
    wrong = [(record, stamp - 20 * 86_400_000) for record, stamp in records[:-6]]
    publish_windows(wrong + records[-6:])
    source = windows_source(kafka, topics.namespace)
    last = BEGAN + HOURS * HOUR
    found = read_windows(source, 3_600, last - 48 * HOUR, last, timeout=30)
    assert [window.attempts for window in found.windows] == list(range(HOURS - 48, HOURS))
    assert sum(rows_read) > HOURS


def test_a_key_that_is_no_window_s_and_one_that_was_deleted_are_no_newest_window(
    kafka: str, topics: Topics, publish_windows: Callable[[Iterable[Stamped]], None]
) -> None:
    publish_windows([(window_record(BEGAN, 3_600), BEGAN // 1000)])
    producer = Producer(producer_config(kafka))
    deleted = window_key(BEGAN + 9 * HOUR, 3_600, None, None)
    for key, value in (("3600|" + "9" * 30, b"x"), ("3600|-5", b"x"), ("3600|soon", b"x"), (deleted, None)):
        producer.produce(topics.windows.name, key=key, value=value)
    assert producer.flush(30) == 0
    found = read_windows(windows_source(kafka, topics.namespace), 3_600, BEGAN, BEGAN + 99 * HOUR, timeout=30)
    assert (len(found.windows), found.newest, found.unreadable) == (1, BEGAN, ())


def test_a_fallback_that_the_ledger_would_not_publish_reaches_no_terminal_and_no_spreadsheet(
    kafka: str, topics: Topics
) -> None:
    producer, now = Producer(producer_config(kafka)), time.time_ns() // 1000
    for tenant in ("acme", "=cmd|'/c calc'!A1", "\x1b[2J", "a\nb"):
        record = sample("fallback") | {"occurred_at": now, "tenant_id": tenant}
        producer.produce(topics.fallbacks.name, value=encode("fallback", record))
    assert producer.flush(30) == 0
    source = fallbacks_source(kafka, topics.namespace)
    found = read_fallbacks(source, 3_600, now - HOUR, now + HOUR, timeout=30)
    assert ([told.tenant for told in found.counts], found.unreadable) == (["acme"], 3)
