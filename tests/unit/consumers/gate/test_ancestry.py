"""A clean verdict says too little while what its session continues has not been judged."""

from dataclasses import dataclass, field
from typing import Any

from unmask.consumers.gate.ancestry import left_out
from unmask.consumers.gate.discharge import Discharge
from unmask.consumers.gate.entry import Displaced, Entry, NoRecord, Recorded, Tombstone
from unmask.consumers.gate.verdict_facts import read_facts
from unmask.consumers.testing import clean_verdict, degraded_verdict
from unmask.schemas.codes import AdmissionStep
from unmask.schemas.testing import sample

BEFORE, SESSION = "session-0", "session-1"
OPEN = degraded_verdict(BEFORE)
NO_VERDICT = "session session-0, whose work it continues, has no verdict yet"
LEFT_OPEN = "session session-0, whose work it continues, has left a directive open"


@dataclass
class Known:
    """Sessions that the stream has seen, and what the verdict topic holds for them."""

    entries: dict[str, Entry]
    done: set[str] = field(default_factory=set)

    def snapshots(self, session_id: str) -> list[dict[str, Any]]:
        return [sample("session_tally", session_id=session_id)] if session_id in self.entries else []

    def entry(self, session_id: str) -> Entry:
        return self.entries[session_id]

    def discharge(self, session_id: str, digest: str) -> Discharge | None:
        return Discharge(AdmissionStep.RECONCILED, digest, "question-1", 0, True) if digest in self.done else None


def recorded(verdict: dict[str, Any]) -> Entry:
    return Recorded(verdict["session_id"], verdict["session_id"], verdict)


def missing(*entries: Entry, done: str = "", **verdict: Any) -> str | None:
    facts = read_facts(clean_verdict(SESSION, predecessor_session_id=BEFORE, **verdict))
    return left_out(facts, Known({entry.session_id: entry for entry in entries}, {done}))


def test_a_predecessor_that_the_stream_has_seen_must_have_a_verdict() -> None:
    assert missing(NoRecord(BEFORE)) == NO_VERDICT
    assert missing() is None
    assert missing(recorded(clean_verdict(BEFORE))) is None


def test_its_open_directive_must_be_in_the_verdict() -> None:
    assert missing(recorded(OPEN)) == LEFT_OPEN
    assert missing(recorded(OPEN), inherited_from=[BEFORE], verdict="DEGRADED_SUCCESS") is None
    assert missing(recorded(OPEN), done=OPEN["digest"]) is None
    assert missing(recorded(OPEN), done="of another verdict") == LEFT_OPEN


def test_what_somebody_wrote_over_it_does_not_hide_it() -> None:
    assert missing(Displaced(BEFORE, "it is older", OPEN)) == LEFT_OPEN
    assert missing(Displaced(BEFORE, "it is older", None)) is None
    assert missing(Tombstone(BEFORE)) is None


def test_sessions_in_between_do_not_hide_it_either() -> None:
    between = [f"between-{number}" for number in range(3)]
    chain = [
        recorded(clean_verdict(name, predecessor_session_id=before))
        for name, before in zip([BEFORE, *between], [*between, "first"], strict=True)
    ]
    assert missing(*chain, recorded(clean_verdict("first"))) is None
    assert missing(*chain, NoRecord("first")) == "session first, whose work it continues, has no verdict yet"
    assert missing(*chain) is None


def test_a_circle_of_sessions_is_gone_round_once() -> None:
    assert missing(recorded(clean_verdict(BEFORE, predecessor_session_id=SESSION))) is None
