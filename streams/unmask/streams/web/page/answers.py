"""The answers: everything that is known at one moment, cut to what is shown."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from unmask.schemas.codes import AlertState
from unmask.schemas.instants import from_micros
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS
from unmask.streams.tables.verdict_check import RecordCheck
from unmask.streams.web.overview import Overview
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.lines.alerts import alert_lines
from unmask.streams.web.page.lines.condition import Known, condition
from unmask.streams.web.page.lines.emitters import emitter_lines
from unmask.streams.web.page.lines.session_board import SessionBoard
from unmask.streams.web.page.lines.sessions import SessionFacts, session_detail, session_facts, session_line
from unmask.streams.web.page.lines.windows import labelled_windows, whole_windows
from unmask.streams.web.page.lines.workers import group_lines, partition_lines
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.reading import Reading, ReadingState
from unmask.streams.web.page.values import (
    EmitterLine,
    OverviewAnswer,
    PartLine,
    SessionAnswer,
    SizeLine,
    TotalLine,
    WindowAnswer,
    WorkersAnswer,
)

__all__ = ["Answers", "PageSetting"]


_Answer = TypeVar("_Answer")


class Knowing(Protocol):
    """Whoever knows what stands on the topics; the page's reader does."""

    def read(self, question: Callable[[Memory, Reading], _Answer]) -> _Answer:
        """The answer of a function that is given what is known while nobody changes it."""


def _wall_clock() -> int:
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class PageSetting:
    """What the page needs to know of its worker."""

    topics: Topics
    instance: str
    ledger_group: str
    tables_group: str
    stalled_s: int
    parts: Callable[[], tuple[PartLine, ...]]
    """The worker's parts as they are now."""
    overview: Callable[[Callable[[Overview], Any]], Any]
    """Calls a function with the totals of the namespace."""
    check: RecordCheck
    limits: Limits = field(default_factory=Limits)


class Answers:
    """Makes answers from what the reader knows. To be used from one thread at a time."""

    def __init__(self, setting: PageSetting, reader: Knowing, clock: Callable[[], int] = _wall_clock) -> None:
        self._setting = setting
        self._reader = reader
        self._now = clock
        self._board = SessionBoard(setting.check)

    def overview(self) -> OverviewAnswer:
        """What the page shows. Raises LedgerStateUnreadable."""
        totals = self._setting.overview(_totals)
        return self._reader.read(lambda memory, reading: self._overview(memory, reading, totals))

    def _overview(self, memory: Memory, reading: Reading, totals: tuple[TotalLine, ...]) -> OverviewAnswer:
        shown, now = self._setting.limits.shown, self._now()
        sizes, alerts = whole_windows(memory, now), alert_lines(memory)
        sessions, emitters = self._board.lines(memory), emitter_lines(memory)
        return OverviewAnswer(
            **self._frame(memory, reading, now, sizes, emitters),
            sizes=sizes,
            totals=totals,
            alerts=tuple(alerts[:shown]),
            alerts_firing=dict(Counter(line.kind.value for line in alerts if line.state is AlertState.FIRING)),
            alerts_cut=max(0, len(alerts) - shown) + memory.firing.cut + memory.resolved.cut,
            sessions=tuple(sessions[:shown]),
            sessions_cut=max(0, len(sessions) - shown) + max(memory.sessions.cut, memory.verdicts.cut),
            emitters=tuple(emitters[:shown]),
            emitters_cut=max(0, len(emitters) - shown) + memory.emitters.cut,
        )

    def window(self, seconds: int, start: int) -> WindowAnswer | None:
        """One window; None where nothing is remembered of it."""

        def ask(memory: Memory, reading: Reading) -> WindowAnswer | None:
            now = self._now()
            found = labelled_windows(memory, seconds, start, now)
            if found is None:
                return None
            kept = len(memory.windows[seconds, start])
            cut = kept >= self._setting.limits.records_of_a_window
            return WindowAnswer(
                **self._frame(memory, reading, now), window=found[0], lines=tuple(found[1]), lines_cut=cut
            )

        return self._reader.read(ask)

    def remembered(self, session_id: str) -> SessionFacts | None:
        """A session as far as it is remembered; None where it is not."""

        def ask(memory: Memory, _: Reading) -> SessionFacts:
            parts = [raw for key, raw in memory.sessions.items() if key.rpartition("|")[0] == session_id]
            verdict = memory.verdicts.get(session_id)
            return session_facts(
                session_id, parts, verdict, withdrawn=verdict is None and session_id in memory.verdicts,
                admissions=memory.admissions.get(session_id) or (), check=self._setting.check,
            )  # fmt: skip

        facts = self._reader.read(ask)
        return facts if facts.known else None

    def session(self, facts: SessionFacts) -> SessionAnswer:
        """One session."""
        frame = self._reader.read(lambda memory, reading: self._frame(memory, reading, self._now()))
        return SessionAnswer(**frame, session=session_line(facts), detail=session_detail(facts))

    def workers(self) -> WorkersAnswer:
        """Partitions and workers. Raises LedgerStateUnreadable."""

        def ask(memory: Memory, reading: Reading) -> WorkersAnswer:
            now = self._now()
            return WorkersAnswer(
                **self._frame(memory, reading, now),
                partitions=self._partitions(memory, reading, now),
                groups=self._groups(reading),
                instance=self._setting.instance,
                parts=self._setting.parts(),
            )

        return self._reader.read(ask)

    def _frame(
        self,
        memory: Memory,
        reading: Reading,
        now: int,
        sizes: tuple[SizeLine, ...] | None = None,
        emitters: list[EmitterLine] | None = None,
    ) -> dict[str, Any]:
        known = Known(
            reading=reading,
            partitions=self._partitions(memory, reading, now),
            groups=self._groups(reading),
            parts=self._setting.parts(),
            sizes=whole_windows(memory, now) if sizes is None else sizes,
            emitters=tuple(emitter_lines(memory) if emitters is None else emitters),
            sessions=len(memory.sessions) + len(memory.verdicts),
        )
        return {
            "namespace": self._setting.topics.namespace,
            "generated_at": from_micros(now),
            "complete": reading.state is ReadingState.LIVE and reading.silent_since is None,
            "condition": condition(known),
        }

    def _partitions(self, memory: Memory, reading: Reading, now: int) -> Any:
        return partition_lines(memory, reading, self._setting.topics, now, self._setting.stalled_s * MICROS)

    def _groups(self, reading: Reading) -> Any:
        return group_lines(reading, self._setting.topics, self._setting.ledger_group, self._setting.tables_group)


def _totals(overview: Overview) -> tuple[TotalLine, ...]:
    lines = []
    for capability in sorted(overview.capabilities()):
        attempts, reasons = 0, dict[str, int]()
        for totals in overview.totals.values():
            attempts += sum(n for (name, _), n in totals.attempts.items() if name == capability)
            for (name, reason), n in totals.fallbacks.items():
                if name == capability:
                    reasons[reason] = reasons.get(reason, 0) + n
        lines.append(
            TotalLine(
                capability=capability, attempts=attempts, fallbacks=sum(reasons.values()), fallbacks_by_reason=reasons
            )
        )
    return tuple(lines)
