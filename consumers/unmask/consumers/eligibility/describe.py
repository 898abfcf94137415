"""`python -m unmask.consumers.eligibility.describe`: how eligibility is decided, as tables, by asking it."""

import ast
import inspect
import sys
from enum import EnumType
from itertools import pairwise
from typing import Any

from unmask.consumers.eligibility.answers import EXIT_CODES, FINDING_ANSWERS, Answer, FindingCode
from unmask.consumers.eligibility.decide import decide
from unmask.consumers.eligibility.facts import Hour, ParityFact, Timeline
from unmask.consumers.eligibility.parity_check import needed_runs
from unmask.consumers.eligibility.policy import DAY, HOUR, Policy
from unmask.consumers.eligibility.span import faults_of
from unmask.schemas.codes import Evidence
from unmask.schemas.describe.decisions import decision_table
from unmask.schemas.describe.markdown import table
from unmask.schemas.scope import Scope

__all__ = ["eligibility_tables"]

_POLICY = Policy()
_SCOPE = Scope("2026.1", "unmask.v1", "kafka", "metadata_only", "default")
_AS_OF = 20_000 * DAY + 30 * 60_000_000
_CURRENT = 20_000 * DAY
_SOUND = Hour(Evidence.COMPLETE, attempts=20)

_YES, _NO = "yes", "no"
_HOUR_CONDITIONS = {
    "evidence, worst family": ("COMPLETE", "LOSSY", "PENDING", "ABSENT", "no record"),
    "the hour": ("goes on, or is the one before", "is older"),
    "fallbacks of the capability": (_NO, _YES),
    "fallbacks under no name": (_NO, _YES),
    "known to be missing": (_NO, _YES),
    "record": ("readable", "unreadable"),
}

_WELL = "well"
_LONG, _SHORT = "28 days and more", "27 days"
_FALLBACKS = {"none": 0, "one": 1}
_LATEST = {
    "healthy": Hour(Evidence.PENDING),
    "events missing": Hour(Evidence.LOSSY, lost=True),
    "events missing, not settled": Hour(Evidence.PENDING, lost=True),
    "a fallback under no name": Hour(Evidence.PENDING, unattributed=1),
    "nobody there": Hour(Evidence.ABSENT),
    "no record": Hour(),
    "unreadable": Hour(Evidence.PENDING, readable=False),
}
_RUNS: dict[str, dict[str, Any] | None] = {
    "green": {},
    "red": {"failures": 1},
    "in error": {"errors": 1},
    "all skipped": {"skipped": 5},
    "no tests": {"tests": 0},
    "too old": {"run_at": _AS_OF - 8 * DAY},
    "from the future": {"run_at": _AS_OF + DAY},
    "of another line only": {"release_line": "2025.9"},
    "unreadable": {"readable": False},
    "none": None,
}
_CONDITIONS = {
    "fallbacks within 28 days": tuple(_FALLBACKS),
    "newest parity run": tuple(_RUNS),
    "healthy hours up to now": (_LONG, _SHORT),
    "the hour that goes on": tuple(_LATEST),
    "attempts in them": ("enough", "too few"),
    "the pipeline": (_WELL, "not well"),
}


def eligibility_tables() -> str:
    """What an hour is, what all of them come to, what each finding means, and the exit codes."""
    return "\n\n".join(
        (
            "What keeps an hour out of a healthy span:",
            decision_table(_HOUR_CONDITIONS, ("hour",), _hour),
            "What the facts come to, by the default policy:",
            decision_table(_CONDITIONS, ("answer",), _answer),
            "What is found, and what each finding leads to:",
            table(
                ("finding", "leads to", "meaning"),
                [
                    (f"`{code}`", f"`{FINDING_ANSWERS[FindingCode(code)]}`", said)
                    for code, said in _members(FindingCode)
                ],
            ),
            "Answers and exit codes; of several rows the highest is the report's:",
            table(
                ("answer", "exit code", "meaning"),
                [(f"`{code}`", str(EXIT_CODES[Answer(code)]), said) for code, said in _members(Answer)],
            ),
        )
    )


def _hour(state: str, age: str, fallbacks: str, nameless: str, lost: str, record: str) -> tuple[str, ...] | None:
    hour = Hour(
        state=None if state == "no record" else Evidence(state),
        fallbacks=int(fallbacks == _YES),
        unattributed=int(nameless == _YES),
        lost=lost == _YES,
        readable=record == "readable",
    )
    unsettled = age != "is older"
    if faults_of(hour, unsettled=unsettled):
        return ("begins the clock anew",)
    return ("waited for",) if hour.state is Evidence.PENDING else ("healthy",)


def _answer(fallbacks: str, run: str, length: str, latest: str, attempts: str, pipeline: str) -> tuple[str, ...]:
    hours = dict.fromkeys(range(_CURRENT - (28 if length == _LONG else 27) * DAY - HOUR, _CURRENT, HOUR), _SOUND)
    hours[_CURRENT] = _LATEST[latest]._replace(fallbacks=_FALLBACKS[fallbacks])
    # 28 days hold more than the one, and less than the other.
    policy = Policy(attempts=10_000 if attempts == "enough" else 20_000)
    runs = _runs(run)
    needed = needed_runs(policy, runs, "search", _SCOPE)
    unwell = None if pipeline == _WELL else "STOPPED"
    return (decide(Timeline("search", _SCOPE, hours, 0), needed, runs, policy, _AS_OF, unwell=unwell).answer,)


def _runs(name: str) -> list[ParityFact]:
    changes = _RUNS[name]
    if changes is None:
        return []
    usual: dict[str, Any] = {"suite": "golden", "release_line": _SCOPE.release_line, "composition": None}
    return [ParityFact(**{**usual, "run_at": _AS_OF - DAY, "tests": 5, **changes})]


def _members(enum: EnumType) -> list[tuple[str, str]]:
    """Codes, and the texts below them in the source, which Python itself forgets."""
    (statement,) = ast.parse(inspect.getsource(enum)).body
    assert isinstance(statement, ast.ClassDef)
    return [
        (str(code.value.value), str(text.value.value))
        for code, text in pairwise(statement.body)
        if isinstance(code, ast.Assign)
        and isinstance(code.value, ast.Constant)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    ]


if __name__ == "__main__":
    sys.stdout.write(f"{eligibility_tables()}\n")
