"""The gate's typed answer, and what a successor can do with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from unmask.consumers.gate.exit_codes import EXIT_CODES
from unmask.consumers.gate.obligation import AsyncProbe, Attempt, Obligation, Probe, attempt, attempt_async
from unmask.consumers.gate.off_loop import off_loop
from unmask.consumers.gate.refetch import AsyncFetch, Fetch, refetch, refetch_async
from unmask.consumers.gate.refusals import REFUSALS
from unmask.consumers.gate.verdict_facts import VerdictFacts
from unmask.schemas.codes import AdmissionAnswer, AdmissionStep, Directive, Evidence
from unmask.schemas.instants import iso
from unmask.schemas.tokens import is_token

__all__ = ["Admission", "AdmissionDesk", "NothingToAppeal", "OverrideNotNamed"]


class OverrideNotNamed(ValueError):
    """What a person decides needs a name and a reason, bounded tokens, for example by="ana" reason_code="drill"."""

    def __init__(self, part: str, what: str = "an override") -> None:
        super().__init__(
            f"{part} is not a bounded token (letters, digits, '_', '-', '.', at most 64); {what} that nobody "
            "answers for is not possible, and free text, addresses and keys are never published"
        )


class NothingToAppeal(ValueError):
    """Only a refusal can be appealed or vindicated; the text says what the answer was."""

    def __init__(self, answer: AdmissionAnswer) -> None:
        super().__init__(f"the gate answered {answer}, and only what it refuses can be appealed or shown to be right")


class AdmissionDesk(Protocol):
    """What an admission needs of its gate to be carried on: a fresh look, and a record of what happened."""

    def look_again(self, admission: "Admission") -> "Admission":
        """The answer to the same question now, unrecorded."""
        ...

    def keep(
        self,
        admission: "Admission",
        *,
        about: VerdictFacts | None,
        by: str | None = None,
        reason_code: str | None = None,
    ) -> str | None:
        """Record the admission's step on the admissions topic and await its delivery; else the cause, as a sentence.

        `about` is the verdict whose directive was carried out or overridden, which the admission may have outlived.
        """
        ...


@dataclass(frozen=True, slots=True)
class Admission:
    """What a gate answered. Only `admitted` decides; every default in it is a refusal."""

    answer: AdmissionAnswer
    session_id: str
    reason: str
    """One sentence or two: why, and what to do next. Codes and identifiers only, never text of a record."""
    mutating: bool = True
    """Whether the successor wants to change anything."""
    directive: Directive | None = None
    """What must be done first; None where no verdict could be read."""
    verdict: VerdictFacts | None = None
    """What the answer rests on; None where no verdict could be verified."""
    earlier: VerdictFacts | None = None
    """Where the newest record cannot be verified, the last one that could be: for audit, it admits nobody."""
    step: AdmissionStep = AdmissionStep.ASKED
    admission_id: str = ""
    """Names the question; the records of all its steps share it."""
    successor_session_id: str | None = None
    desk: AdmissionDesk | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.answer is AdmissionAnswer.ADMITTED_READ_ONLY and self.mutating:
            raise ValueError("a successor that changes things cannot be admitted for reads only")

    @property
    def admitted(self) -> bool:
        """Whether the successor may do what it asked for: act, or only read where it asked with mutating=False."""
        return self.answer in (AdmissionAnswer.ADMITTED, AdmissionAnswer.ADMITTED_READ_ONLY)

    @property
    def exit_code(self) -> int:
        """The exit code of the answer, see exit_codes."""
        return EXIT_CODES[self.answer]

    @property
    def obligation(self) -> Obligation | None:
        """What must be carried out before the successor may act; None where nothing can be."""
        facts = self.verdict
        open_answers = (AdmissionAnswer.RECONCILE_FIRST, AdmissionAnswer.ADMITTED_READ_ONLY)
        if facts is None or self.answer not in open_answers:
            return None
        return Obligation(
            facts.session_id,
            facts.directive,
            facts.upstreams,
            facts.signatures,
            tuple(answer.receipt for answer in facts.masked),
            facts.inherited_from,
            facts.masked,
            facts.unlisted,
        )

    @property
    def user_profile(self) -> str | None:
        """The profile that the session's user chose last, so that a successor starts from intent, not from a recovery.

        Of the verified verdict, and part of its digest. None where nothing is proven: without such a verdict, where
        events of the session are missing or may be, and where no choice of a user is on record.
        """
        facts = self.verdict
        return None if facts is None or facts.evidence is not Evidence.COMPLETE else facts.user_profile

    def raise_for_refusal(self) -> "Admission":
        """Itself where the successor is admitted. Raises the refusal's own subclass of AdmissionRefused otherwise."""
        if not self.admitted:
            raise REFUSALS[self.answer](self)
        return self

    def reconcile(self, probe: Probe) -> "Admission":
        """Carry the directive out by `probe`, record the outcome, and answer anew.

        The probe gets the Obligation and returns True where it succeeded; an exception or anything else is a failure.
        ADMITTED needs success, the same verdict still standing, and the outcome on the admissions topic. An
        admission without anything to carry out is returned unchanged where it admits; other refusals raise.
        """
        obligation = self.obligation
        if obligation is None:
            return self.raise_for_refusal()
        return self._settle(attempt(probe, obligation))

    async def areconcile(self, probe: AsyncProbe) -> "Admission":
        """Like reconcile, with a probe that may be a coroutine function; the loop is not blocked."""
        obligation = self.obligation
        if obligation is None:
            return self.raise_for_refusal()
        outcome = await attempt_async(probe, obligation)
        return await off_loop(self._settle, outcome)

    def refetch(self, fetch: Fetch) -> "Admission":
        """Carry the directive out by fetching every answer of a substitute again; like reconcile in all else.

        `fetch` gets one MaskedAnswer after the other and returns True where the primary's own answer took its place.
        It fails where the verdict does not list them all, or earlier sessions' directives are open: then reconcile.
        """
        obligation = self.obligation
        if obligation is None:
            return self.raise_for_refusal()
        return self._settle(refetch(fetch, obligation))

    async def arefetch(self, fetch: AsyncFetch) -> "Admission":
        """Like refetch, with a function that may be a coroutine function; the loop is not blocked."""
        obligation = self.obligation
        if obligation is None:
            return self.raise_for_refusal()
        outcome = await refetch_async(fetch, obligation)
        return await off_loop(self._settle, outcome)

    def override(self, *, by: str, reason_code: str) -> "Admission":
        """Let the successor pass on an operator's word, whatever the answer was; recorded with name and reason.

        Raises OverrideNotNamed. Without a record of it there is no override: the answer is then NOT_READY.
        """
        _named("an override", by, reason_code)
        passed = replace(
            self,
            answer=AdmissionAnswer.ADMITTED,
            step=AdmissionStep.OVERRIDDEN,
            reason=f"{by} let the successor pass ({reason_code}); the answer was {self.answer}.",
        )
        return passed._kept(self.verdict, by=by, reason_code=reason_code)

    async def aoverride(self, *, by: str, reason_code: str) -> "Admission":
        """Like override, without blocking the event loop."""
        return await off_loop(self.override, by=by, reason_code=reason_code)

    def appeal(self, *, by: str, reason_code: str) -> "Admission":
        """Record that somebody holds this refusal to be wrong. It discharges nothing, and the answer stays.

        Raises OverrideNotNamed, and NothingToAppeal where the successor is admitted. Where it cannot be recorded the
        answer is NOT_READY, a refusal like the one before.
        """
        return self._contested(AdmissionStep.APPEALED, "an appeal", by, reason_code)

    async def aappeal(self, *, by: str, reason_code: str) -> "Admission":
        """Like appeal, without blocking the event loop."""
        return await off_loop(self._contested, AdmissionStep.APPEALED, "an appeal", by, reason_code)

    def vindicate(self, *, by: str, reason_code: str) -> "Admission":
        """Record that what was refused was later shown to have been right; like appeal in all else."""
        return self._contested(AdmissionStep.VINDICATED, "a vindication", by, reason_code)

    async def avindicate(self, *, by: str, reason_code: str) -> "Admission":
        """Like vindicate, without blocking the event loop."""
        return await off_loop(self._contested, AdmissionStep.VINDICATED, "a vindication", by, reason_code)

    def _contested(self, step: AdmissionStep, what: str, by: str, reason_code: str) -> "Admission":
        _named(what, by, reason_code)
        if self.admitted:
            raise NothingToAppeal(self.answer)
        words = "holds that to be wrong" if step is AdmissionStep.APPEALED else "says that the successor was right"
        contested = replace(self, step=step, reason=f"{self.reason} {by} {words} ({reason_code}).")
        return contested._kept(self.verdict, by=by, reason_code=reason_code)

    def as_dict(self) -> dict[str, Any]:
        """The admission as plain values, for JSON."""
        return {
            "answer": str(self.answer),
            "admitted": self.admitted,
            "exit_code": self.exit_code,
            "session_id": self.session_id,
            "mutating": self.mutating,
            "reason": self.reason,
            "directive": None if self.directive is None else str(self.directive),
            "step": str(self.step),
            "admission_id": self.admission_id,
            "successor_session_id": self.successor_session_id,
            "user_profile": self.user_profile,
            "verdict": None if self.verdict is None else _summary(self.verdict),
            "earlier": None if self.earlier is None else _summary(self.earlier),
        }

    def _settle(self, outcome: Attempt) -> "Admission":
        if not outcome.succeeded:
            # A read-only admission that could not be raised still stands as it was, so that its answer stays.
            failed = replace(
                self,
                step=AdmissionStep.RECONCILE_FAILED,
                reason=f"The directive {self.directive} was not carried out: {outcome.reason}.",
            )
            return failed._kept(self.verdict)
        now = self if self.desk is None else self.desk.look_again(self)
        if not self._same_verdict(now):
            # What was carried out answers an older verdict. It is recorded, and the newer one decides.
            done = replace(
                now,
                step=AdmissionStep.RECONCILED,
                reason=f"The verdict changed while its directive was carried out. {now.reason}",
            )
            return done._kept(self.verdict)
        done = replace(
            self,
            answer=AdmissionAnswer.ADMITTED,
            step=AdmissionStep.RECONCILED,
            reason=f"The directive {self.directive} was carried out: {outcome.reason}.",
        )
        return done._kept(self.verdict)

    def _same_verdict(self, other: "Admission") -> bool:
        mine, theirs = self.verdict, other.verdict
        return mine is not None and theirs is not None and mine.digest == theirs.digest

    def _kept(self, about: VerdictFacts | None, **by: str) -> "Admission":
        """Itself once it is recorded, else a refusal that says why it is not."""
        if self.desk is None:
            cause: str | None = "This admission was not given by a gate, so that nothing can record it."
        else:
            cause = self.desk.keep(self, about=about, **by)
        if cause is None:
            return self
        reason = f"{self.reason} This could not be recorded, and what is not recorded does not count. {cause}"
        return replace(self, answer=AdmissionAnswer.NOT_READY, reason=reason)


def _named(what: str, by: str, reason_code: str) -> None:
    for part, value in (("by", by), ("reason_code", reason_code)):
        if not is_token(value):
            raise OverrideNotNamed(part, what)


def _summary(facts: VerdictFacts) -> Mapping[str, Any]:
    return {
        "verdict": str(facts.kind),
        "directive": str(facts.directive),
        "evidence": str(facts.evidence),
        "operations": facts.operations,
        "degraded_operations": facts.degraded_operations,
        "degraded_operation_ratio": facts.ratio,
        "threshold": facts.threshold,
        "above_threshold": facts.above_threshold,
        "equivalent": facts.equivalent,
        "outcome_claimed": None if facts.outcome_claimed is None else str(facts.outcome_claimed),
        "findings": [str(finding) for finding in facts.findings],
        "contradictions": [str(contradiction) for contradiction in facts.contradictions],
        "inherited_from": list(facts.inherited_from),
        "inherited_cut": facts.inherited_cut,
        "upstreams": list(facts.upstreams),
        "signatures": list(facts.signatures),
        "ended_at": iso(facts.ended_at),
        "digest": facts.digest,
        "writer": facts.writer,
        "sequence": facts.sequence,
    }
