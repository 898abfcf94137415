"""`python -m unmask.consumers.gate.describe`: how the gate answers, as tables, by asking it."""

import sys
from typing import Any

from unmask.consumers.gate.asgi import REFUSAL_STATUS
from unmask.consumers.gate.decide import decide, discharged, last_word
from unmask.consumers.gate.discharge import Discharge
from unmask.consumers.gate.entry import Displaced, Entry, NoRecord, Recorded, Tombstone, Undecodable, Unread
from unmask.consumers.gate.exit_codes import exit_code_table
from unmask.consumers.gate.refusals import REFUSALS
from unmask.consumers.testing import clean_verdict, degraded_verdict, failed_verdict
from unmask.schemas.codes import AdmissionStep, Directive, Evidence
from unmask.schemas.describe.decisions import decision_table
from unmask.schemas.describe.markdown import table
from unmask.schemas.signing import ALGORITHM

__all__ = ["gate_tables"]

_SESSION = "session"
_CLEAN, _DEGRADED, _FAILED = "CLEAN_SUCCESS", "DEGRADED_SUCCESS", "HARD_FAILURE"
_NOTHING = "nothing"
_HALT = str(Directive.HALT_AND_ALERT_DEVELOPER)
_VERDICTS = {
    "verdict": (_CLEAN, _DEGRADED, _FAILED),
    "evidence": (str(Evidence.COMPLETE), "LOSSY, PENDING or ABSENT"),
    "inherited and open": (_NOTHING, "a directive", _HALT),
    "degraded operations proven equal": ("not all", "all"),
    "successor": ("changes things", "only reads"),
    "recorded of this very verdict": (_NOTHING, str(AdmissionStep.RECONCILED), str(AdmissionStep.OVERRIDDEN)),
}


def gate_tables() -> str:
    """Answers to what is no verdict, answers to verdicts, and what an answer is to code, shell and HTTP."""
    return "\n\n".join((_records(), decision_table(_VERDICTS, ("answer",), _answer), _codes()))


def _records() -> str:
    clean = clean_verdict(_SESSION)
    found: dict[str, Entry] = {
        "the topic cannot be read to its end in time, or is not compacted": Unread(_SESSION, "."),
        "no record of the session": NoRecord(_SESSION),
        "a null value": Tombstone(_SESSION),
        "an empty value, or bytes of no known schema": Undecodable(_SESSION, "EMPTY_VALUE"),
        "a contract version that is not known": Recorded(_SESSION, _SESSION, {**clean, "contract": 2}),
        "a digest that does not fit": Recorded(_SESSION, _SESSION, {**clean, "operations": 1}),
        "a record of another session": Recorded(_SESSION, _SESSION, clean_verdict("another")),
        "no signature of a trusted key, where keys are trusted": Recorded(_SESSION, _SESSION, clean),
        "a verdict that contradicts itself": Recorded(
            _SESSION, _SESSION, clean_verdict(_SESSION, above_threshold=True)
        ),
        "a record that is no newer than one before it": Displaced(_SESSION, "it is older", clean),
    }
    rows = [(what, f"`{decide(entry, trust=_Nobody() if 'trusted' in what else None).answer}`")
            for what, entry in found.items()]  # fmt: skip
    outdated = last_word(decide(Recorded(_SESSION, _SESSION, clean)), "it has ended again since")
    rows.append(
        ("a verdict that would admit, and the stream has seen more of the session since", f"`{outdated.answer}`")
    )
    return table(("newest record of the session", "answer"), rows)


class _Nobody:
    """Trusts no key."""

    def flaw(self, statement: bytes, signature: object, use: object) -> str | None:
        """Nothing is vouched for."""
        return f"no {ALGORITHM} key is trusted"


def _answer(
    verdict: str, evidence: str, inherited: str, proven: str, successor: str, recorded: str
) -> tuple[str, ...] | None:
    record = _record(verdict, evidence, inherited, proven)
    if record is None:
        return None
    mutating = successor == "changes things"
    answer = decide(Recorded(_SESSION, _SESSION, record), mutating=mutating)
    if recorded != _NOTHING:
        answer = discharged(
            answer, Discharge(AdmissionStep(recorded), record["digest"], "question", 0, mutating, "ana")
        )
    return (str(answer.answer),)


def _record(verdict: str, evidence: str, inherited: str, proven: str) -> dict[str, Any] | None:
    changes: dict[str, Any] = {"evidence": str(Evidence.COMPLETE) if evidence == Evidence.COMPLETE else "LOSSY"}
    if inherited != _NOTHING:
        changes["inherited_from"] = ["predecessor"]
    if verdict == _FAILED:
        return failed_verdict(_SESSION, **changes)
    if verdict == _CLEAN:
        # What inherits is degraded by the rules; a writer that says otherwise is not believed to be done.
        changes["directive"] = _HALT if inherited == _HALT else str(Directive.NONE)
        return clean_verdict(_SESSION, **changes)
    if inherited == _HALT:
        changes["directive"] = _HALT
    return degraded_verdict(_SESSION, equivalent=proven == "all", **changes)


def _codes() -> str:
    rows = []
    for code, answer, meaning in exit_code_table():
        refusal = REFUSALS.get(answer)
        rows.append(
            (
                f"`{answer}`",
                meaning,
                str(code),
                "" if refusal is None else f"`{refusal.__name__}`",
                str(REFUSAL_STATUS.get(answer, "")),
            )
        )
    return table(("answer", "meaning", "exit code", "exception", "HTTP status"), rows)


if __name__ == "__main__":
    sys.stdout.write(f"{gate_tables()}\n")
