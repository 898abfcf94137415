"""A gate for those who stand behind one: it answers from a verdict that the test sets, and counts the questions."""

from dataclasses import dataclass, field, replace
from typing import Any

from unmask.consumers.gate import Admission, Entry, NoRecord, Recorded, Unread, VerdictFacts, decide
from unmask.consumers.gate.gate import DEFAULT_TIMEOUT

__all__ = ["SESSION", "StubGate"]

SESSION = "session-1"


@dataclass
class StubGate:
    """Says of every session what `now` says of SESSION; None for no verdict, a text for why it cannot be read."""

    now: dict[str, Any] | str | None = None
    asked: list[tuple[str, bool]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def admit(
        self,
        session_id: str,
        *,
        mutating: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        successor: str | None = None,
    ) -> Admission:
        self.asked.append((session_id, mutating))
        return replace(self._answer(mutating), admission_id="question-1", successor_session_id=successor, desk=self)

    async def aadmit(self, session_id: str, **question: Any) -> Admission:
        return self.admit(session_id, **question)

    def look_again(self, admission: Admission) -> Admission:
        return replace(self._answer(admission.mutating), desk=self)

    def keep(
        self,
        admission: Admission,
        *,
        about: VerdictFacts | None,
        by: str | None = None,
        reason_code: str | None = None,
    ) -> str | None:
        self.kept.append(str(admission.step))
        return None

    def _answer(self, mutating: bool) -> Admission:
        entry: Entry = NoRecord(SESSION)
        if isinstance(self.now, str):
            entry = Unread(SESSION, self.now)
        elif self.now is not None:
            entry = Recorded(SESSION, SESSION, self.now)
        return decide(entry, mutating=mutating)
