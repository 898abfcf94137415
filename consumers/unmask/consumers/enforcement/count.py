"""Counts refusals where they stand on record, each enforcer apart. Pure; records come in the order of their log.

- The gate records its own answers, and what was said of them later, on the admissions.
- Hosts tell on the events what was refused to them, by whichever enforcer, and what they said of it.
- The effects ledger records every decision of its own.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unmask.schemas.codes import (
    AdmissionAnswer,
    AdmissionStep,
    EffectAnswer,
    EffectRequestKind,
    EffectStep,
    Enforcer,
    Family,
)

__all__ = ["DecisionCount", "GateCount", "HostCount", "Refusals"]

_ADMITTING = frozenset((AdmissionAnswer.ADMITTED, AdmissionAnswer.ADMITTED_READ_ONLY))
_UNSAID = "-"


@dataclass(slots=True)
class Refusals:
    """Refusals by answer, and what was said of them: by whom, and why."""

    refused: Counter[str] = field(default_factory=Counter)
    appealed: Counter[str] = field(default_factory=Counter)
    """By the answer that was appealed; a refusal that several people appealed is one."""
    vindicated: Counter[str] = field(default_factory=Counter)
    """By the answer that was shown to be wrong: false refusals."""
    appeals: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By whom and reason code."""
    vindications: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class GateCount:
    """What gates recorded."""

    refusals: Refusals = field(default_factory=Refusals)
    questions: int = 0
    overridden: int = 0
    overrides: Counter[tuple[str, str]] = field(default_factory=Counter)
    _answers: dict[str, str] = field(default_factory=dict)
    _said: dict[AdmissionStep, set[str]] = field(default_factory=dict)

    def take(self, record: Mapping[str, Any]) -> None:
        """The next decoded admission."""
        step, question = AdmissionStep(record["step"]), record["admission_id"]
        who = (record["by"] or _UNSAID, record["reason_code"] or _UNSAID)
        if step is AdmissionStep.ASKED:
            self.questions += 1
            if record["answer"] not in _ADMITTING:
                self._answers[question] = record["answer"]
                self.refusals.refused[record["answer"]] += 1
        elif step is AdmissionStep.OVERRIDDEN:
            self.overrides[who] += 1
            self.overridden += self._first(step, question)
        elif step is AdmissionStep.APPEALED:
            self.refusals.appeals[who] += 1
            self.refusals.appealed[self._answer(record)] += self._first(step, question)
        elif step is AdmissionStep.VINDICATED:
            self.refusals.vindications[who] += 1
            self.refusals.vindicated[self._answer(record)] += self._first(step, question)

    def _answer(self, record: Mapping[str, Any]) -> str:
        """The refusal that is spoken of; the step repeats it, for a question that is no longer on record."""
        return self._answers.get(record["admission_id"], str(record["answer"]))

    def _first(self, step: AdmissionStep, question: str) -> int:
        known = self._said.setdefault(step, set())
        if question in known:
            return 0
        known.add(question)
        return 1


@dataclass(slots=True)
class HostCount:
    """What hosts told of refusals, by enforcer. A batch that comes again is counted once."""

    refusals: dict[Enforcer, Refusals] = field(default_factory=dict)
    witnesses: set[str] = field(default_factory=set)
    """Emitters that can tell of effects: without any, nothing means nothing."""
    _known: set[tuple[str, int]] = field(default_factory=set)

    def take(self, batch: Mapping[str, Any]) -> None:
        """The next decoded batch."""
        emitter = batch["emitter"]["emitter_id"]
        if Family.DELEGATION_EFFECT in batch["witnesses"]:
            self.witnesses.add(emitter)
        if not batch["delegation_effects"]:
            return
        self.witnesses.add(emitter)
        if (emitter, batch["batch_seq"]) in self._known:
            return
        self._known.add((emitter, batch["batch_seq"]))
        for effect in batch["delegation_effects"]:
            self._count(effect)

    def _count(self, effect: Mapping[str, Any]) -> None:
        step, answer = effect["step"], effect["answer"] or _UNSAID
        if step not in (EffectStep.REFUSED, EffectStep.APPEALED, EffectStep.VINDICATED):
            return
        found = self.refusals.setdefault(Enforcer(effect["enforcer"] or Enforcer.UNKNOWN_ENFORCER), Refusals())
        who = (effect["by"] or _UNSAID, effect["reason_code"] or _UNSAID)
        if step == EffectStep.REFUSED:
            found.refused[answer] += 1
        elif step == EffectStep.APPEALED:
            found.appealed[answer] += 1
            found.appeals[who] += 1
        else:
            found.vindicated[answer] += 1
            found.vindications[who] += 1

    def of(self, enforcer: Enforcer) -> Refusals:
        """What was told of one enforcer."""
        return self.refusals.get(enforcer, Refusals())


@dataclass(slots=True)
class DecisionCount:
    """What the effects ledger decided."""

    claims: int = 0
    granted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Claims that were not granted, by answer."""
    abstained: Counter[str] = field(default_factory=Counter)
    """Abstentions among them, by reason."""
    fenced: int = 0
    """Commits, releases and renewals of whoever did not hold the lease any more."""

    def take(self, decision: Mapping[str, Any]) -> None:
        """The next decoded decision."""
        answer = decision["answer"]
        if decision["kind"] == EffectRequestKind.CLAIM:
            self.claims += 1
            if answer == EffectAnswer.GRANTED:
                self.granted += 1
            else:
                self.refused[answer] += 1
            if answer == EffectAnswer.ABSTAIN:
                self.abstained[decision["reason"] or _UNSAID] += 1
        elif answer == EffectAnswer.FENCED:
            self.fenced += 1
