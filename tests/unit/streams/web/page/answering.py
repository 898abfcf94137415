"""Answers for tests, from a memory and a clock of the test's own."""

from collections.abc import Callable
from typing import Any, TypeVar

from tests.table_records import at

from unmask.schemas.topics import Topics
from unmask.streams.tables.rules import TableRules
from unmask.streams.tables.verdict_check import RecordCheck
from unmask.streams.web.overview import Overview
from unmask.streams.web.page.answers import Answers, PageSetting
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.reading import Group, Reading, ReadingState
from unmask.streams.web.page.values import OverviewAnswer, PartLine

__all__ = ["LIVE", "Reader", "answers_of", "overview_of", "setting"]

_Answer = TypeVar("_Answer")
LIVE = Reading(
    ReadingState.LIVE, done=9, of=9, ends={0: 7},
    groups=(Group("shop.ledger", "STABLE", 1, frozenset((0,))), Group("shop.tables", "STABLE", 1, frozenset((0, 1)))),
)  # fmt: skip


class Reader:
    """A reader that has read already."""

    def __init__(self, memory: Memory, reading: Reading = LIVE) -> None:
        self.memory, self.reading = memory, reading

    def read(self, question: Callable[[Memory, Reading], _Answer]) -> _Answer:
        """The answer."""
        return question(self.memory, self.reading)


def setting(parts: tuple[PartLine, ...] = (), **limits: Any) -> PageSetting:
    """A worker of the namespace `shop` with one source partition and two of tables."""
    overview = Overview(TableRules(2))
    return PageSetting(
        topics=Topics("shop", events_partitions=1, table_partitions=2),
        instance="w-1",
        ledger_group="shop.ledger",
        tables_group="shop.tables",
        stalled_s=60,
        parts=lambda: parts,
        overview=lambda question: question(overview),
        check=RecordCheck(),
        limits=Limits(**limits),
    )


def answers_of(memory: Memory, *, now: int | None = None, reading: Reading = LIVE, **limits: Any) -> Answers:
    """What makes answers of a memory; ten minutes after the tests' beginning, if nothing else is said."""
    clock = at(10) if now is None else now
    return Answers(setting(**limits), Reader(memory, reading), clock=lambda: clock)


def overview_of(memory: Memory, *, now: int | None = None, reading: Reading = LIVE, **limits: Any) -> OverviewAnswer:
    """The overview of a memory."""
    return answers_of(memory, now=now, reading=reading, **limits).overview()
