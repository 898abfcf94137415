"""All sessions that are remembered, as lines; one of which nothing new came is not made again."""

from collections import defaultdict
from typing import Any

from unmask.streams.tables.verdict_check import RecordCheck
from unmask.streams.web.page.lines.sessions import session_facts, session_line
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.values import SessionLine

__all__ = ["SessionBoard"]


class SessionBoard:
    """Makes the lines of a memory's sessions. To be used from one thread at a time."""

    def __init__(self, check: RecordCheck) -> None:
        self._check = check
        self._made: dict[str, tuple[Any, SessionLine | None]] = {}

    def lines(self, memory: Memory) -> list[SessionLine]:
        """Those with an open directive first, then those that run, then the rest; the newest first."""
        parts: defaultdict[str, list[bytes]] = defaultdict(list)
        for key, raw in memory.sessions.items():
            parts[key.rpartition("|")[0]].append(raw)
        verdicts = dict(memory.verdicts.items())
        known, self._made = self._made, {}
        for session_id in {**parts, **verdicts}:
            rests_on = (
                tuple(parts.get(session_id, ())),
                verdicts.get(session_id),
                session_id in verdicts,
                tuple(memory.admissions.get(session_id) or ()),
            )
            before = known.get(session_id)
            line = before[1] if before is not None and before[0] == rests_on else self._line(session_id, *rests_on)
            self._made[session_id] = (rests_on, line)
        lines = [line for _, line in self._made.values() if line is not None]
        return sorted(
            lines,
            key=lambda line: (not (line.open or line.flaw), line.ended_at is not None, -line.last_seen_at.timestamp()),
        )

    def _line(
        self, session_id: str, parts: tuple[bytes, ...], verdict: bytes | None, stands: bool, steps: tuple[bytes, ...]
    ) -> SessionLine | None:
        facts = session_facts(
            session_id, parts, verdict, withdrawn=stands and verdict is None, admissions=steps, check=self._check
        )
        return session_line(facts) if facts.known else None
