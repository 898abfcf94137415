"""Enforcement correctness: what became of the gate's answers, counted from the admissions topic. Pure.

A refusal costs work, an admission may cost trust; both can turn out to have been wrong. What later records of the same
session show decides, in the order of the log:

- A refused question with steps of its own (they share its admission_id) is settled by the first of them. A directive
  that was tried and failed upholds the refusal. A probe of the upstreams that succeeded at the first try shows that
  they answered again: `refused_later_clear`. A re-fetch that succeeded did what the refusal asked for: `reconciled`.
  An operator who let the successor pass is `overridden`, which says nothing about who was right.
- A refusal for lack of knowledge (NOT_READY, UNPROVEN) without such a step is `refused_later_clear` once a later
  question about the session is admitted on a clean verdict, and upheld once one is refused for what the verdict says.
- A question that was admitted is `admitted_later_refused` once a later one about the same session is refused by another
  verdict: the first verdict had said too little.
- A refusal that somebody vindicated, by name, is `refused_later_clear` too, unless a step of its own settled it before.
  An appeal settles nothing.
- Whatever nothing later tells of is `open`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from unmask.schemas.codes import AdmissionAnswer, AdmissionStep, Directive

__all__ = ["Enforcement", "Outcome", "Report"]

_ADMITTING = frozenset((AdmissionAnswer.ADMITTED, AdmissionAnswer.ADMITTED_READ_ONLY))
_UNKNOWING = frozenset((AdmissionAnswer.NOT_READY, AdmissionAnswer.UNPROVEN))
_BY_VERDICT = frozenset((AdmissionAnswer.RECONCILE_FIRST, AdmissionAnswer.HALTED))


class Outcome(StrEnum):
    """What a question's answer turned out to be."""

    ADMITTED = "admitted"
    ADMITTED_LATER_REFUSED = "admitted_later_refused"
    UPHELD = "upheld"
    REFUSED_LATER_CLEAR = "refused_later_clear"
    RECONCILED = "reconciled"
    OVERRIDDEN = "overridden"
    OPEN = "open"


@dataclass(slots=True)
class _Question:
    answer: AdmissionAnswer
    directive: str | None
    digest: str | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Report:
    """The counts. A question is counted under one outcome."""

    questions: int
    answers: Mapping[AdmissionAnswer, int]
    """Of the questions as they were asked."""
    outcomes: Mapping[Outcome, int]
    overrides: Mapping[str, int]
    """By who overrode."""
    withdrawals: int
    appealed: int
    """Questions whose refusal somebody holds to be wrong."""
    vindicated: int
    """Questions whose refusal was shown to be wrong, as somebody says by name."""
    refusals_upheld: float | None
    """Of the refusals that were shown right or wrong, the share that was right; None where none was."""

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "questions": self.questions,
            "answers": {str(answer): self.answers.get(answer, 0) for answer in AdmissionAnswer},
            "outcomes": {str(outcome): self.outcomes.get(outcome, 0) for outcome in Outcome},
            "overrides": dict(self.overrides),
            "withdrawals": self.withdrawals,
            "appealed": self.appealed,
            "vindicated": self.vindicated,
            "refusals_upheld": self.refusals_upheld,
        }


@dataclass(slots=True)
class Enforcement:
    """Takes admission records in the order of their log, and counts."""

    _questions: dict[str, _Question] = field(default_factory=dict)
    _of_session: dict[str, list[_Question]] = field(default_factory=dict)
    _overrides: Counter[str] = field(default_factory=Counter)
    _withdrawals: int = 0
    _appealed: set[str] = field(default_factory=set)
    _vindicated: set[str] = field(default_factory=set)

    def take(self, record: Mapping[str, Any]) -> None:
        """The next decoded admission of its session."""
        step = AdmissionStep(record["step"])
        if step is AdmissionStep.ASKED:
            self._ask(record)
        elif step is AdmissionStep.WITHDRAWN:
            self._withdrawals += 1
        else:
            if step is AdmissionStep.OVERRIDDEN:
                self._overrides[record["by"] or "-"] += 1
            elif step is AdmissionStep.APPEALED:
                self._appealed.add(record["admission_id"])
            elif step is AdmissionStep.VINDICATED:
                self._vindicated.add(record["admission_id"])
            question = self._questions.get(record["admission_id"])
            # The first step settles it: a probe that succeeds at the second try did not find a wrong refusal.
            unsettled = question is not None and question.outcome is Outcome.OPEN
            # An override said nothing of who was right.
            overridden = question is not None and question.outcome is Outcome.OVERRIDDEN
            if question is not None and (unsettled or (overridden and step is AdmissionStep.VINDICATED)):
                question.outcome = _settled_by(step, question)

    def _ask(self, record: Mapping[str, Any]) -> None:
        answer = AdmissionAnswer(record["answer"])
        earlier = self._of_session.setdefault(record["session_id"], [])
        for question in earlier:
            _show(question, answer, record)
        outcome = Outcome.ADMITTED if answer in _ADMITTING else Outcome.OPEN
        asked = _Question(answer, record["directive"], record["verdict_digest"], outcome)
        self._questions[record["admission_id"]] = asked
        # What is settled for good need not be looked at again.
        self._of_session[record["session_id"]] = [q for q in earlier if _may_change(q)] + [asked]

    def report(self) -> Report:
        """What has been counted so far."""
        outcomes = Counter(question.outcome for question in self._questions.values())
        right, wrong = outcomes[Outcome.UPHELD] + outcomes[Outcome.RECONCILED], outcomes[Outcome.REFUSED_LATER_CLEAR]
        return Report(
            questions=len(self._questions),
            answers=Counter(question.answer for question in self._questions.values()),
            outcomes=outcomes,
            overrides=dict(self._overrides),
            withdrawals=self._withdrawals,
            appealed=len(self._appealed),
            vindicated=len(self._vindicated),
            refusals_upheld=right / (right + wrong) if right + wrong else None,
        )


def _settled_by(step: AdmissionStep, question: _Question) -> Outcome:
    if step is AdmissionStep.RECONCILE_FAILED:
        return Outcome.UPHELD
    if step is AdmissionStep.OVERRIDDEN:
        return Outcome.OVERRIDDEN
    if step is AdmissionStep.VINDICATED:
        return Outcome.REFUSED_LATER_CLEAR
    if step is AdmissionStep.RECONCILED:
        probed = question.directive == Directive.PROBE_UPSTREAM_BEFORE_ACTION
        return Outcome.REFUSED_LATER_CLEAR if probed else Outcome.RECONCILED
    return Outcome.OPEN


def _show(question: _Question, answer: AdmissionAnswer, later: Mapping[str, Any]) -> None:
    """What a later answer about the same session shows of an earlier one."""
    if question.outcome is Outcome.ADMITTED:
        if answer in _BY_VERDICT and later["verdict_digest"] != question.digest:
            question.outcome = Outcome.ADMITTED_LATER_REFUSED
    elif question.outcome is Outcome.OPEN and question.answer in _UNKNOWING:
        if answer in _BY_VERDICT:
            question.outcome = Outcome.UPHELD
        elif answer is AdmissionAnswer.ADMITTED and later["directive"] == Directive.NONE:
            question.outcome = Outcome.REFUSED_LATER_CLEAR


def _may_change(question: _Question) -> bool:
    return question.outcome is Outcome.ADMITTED or (question.outcome is Outcome.OPEN and question.answer in _UNKNOWING)
