"""The decision: a pure function of the facts, the policy and an instant. Every default of it is a refusal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unmask.consumers.eligibility.answers import FINDING_ANSWERS, NEEDED, Answer, Fault, FindingCode
from unmask.consumers.eligibility.facts import Hour, ParityFact, Timeline
from unmask.consumers.eligibility.parity_check import Finding, Needed, judge_parity
from unmask.consumers.eligibility.policy import DAY, HOUR, WINDOW_SECONDS, Policy
from unmask.consumers.eligibility.span import PARTS, Span, faults_of, find_span, last_witnessed
from unmask.schemas.instants import iso
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import window_start

__all__ = ["Decision", "decide", "duration", "worst"]

_FINDING_OF_FAULT = {
    Fault.UNATTRIBUTED: FindingCode.FALLBACKS_UNATTRIBUTED,
    Fault.LOSSY: FindingCode.TELEMETRY_LOSSY,
    Fault.ABSENT: FindingCode.TELEMETRY_ABSENT,
    Fault.PENDING: FindingCode.TELEMETRY_PENDING,
    Fault.UNRECORDED: FindingCode.TELEMETRY_UNRECORDED,
    Fault.UNREADABLE: FindingCode.TELEMETRY_UNREADABLE,
}


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for one capability under one combination, with everything that it rests on."""

    capability: str
    scope: Scope | None
    answer: Answer
    findings: tuple[Finding, ...]
    """All of them, whatever they speak for."""
    span: Span | None
    earliest: int | None
    """When it could be ELIGIBLE at the earliest, as things stand; None where nothing is witnessed at all."""


def decide(
    timeline: Timeline,
    needed: Sequence[Needed],
    runs: Sequence[ParityFact],
    policy: Policy,
    as_of: int,
    *,
    unwell: str | None = None,
) -> Decision:
    """The answer at `as_of`, microseconds. `needed` are the parity runs that must be green (`needed_runs`).

    `unwell` says what is wrong with the pipeline just now, in words; None where nothing is.
    """
    scope = timeline.scope
    if scope is None:
        nothing = Finding(FindingCode.NOTHING_COUNTED, f"not one attempt in the last {policy.days} d, and not a zero")
        return Decision(timeline.capability, None, Answer.INSUFFICIENT_EVIDENCE, (nothing,), None, None)
    span = find_span(timeline, as_of)
    findings = (
        *_of_fallbacks(timeline, policy, as_of),
        *_of_span(timeline, span, policy, as_of),
        *([] if unwell is None else [Finding(FindingCode.PIPELINE_UNWELL, unwell)]),
        *judge_parity(needed, runs, timeline.capability, scope, policy, as_of),
    )
    answer = _answer({finding.code for finding in findings})
    return Decision(timeline.capability, scope, answer, findings, span, max(as_of, span.start + policy.span))


def worst(answers: Sequence[Answer]) -> Answer:
    """Of a report: INSUFFICIENT_EVIDENCE before NOT_ELIGIBLE before ELIGIBLE, and of nothing, the first."""
    for answer in (Answer.INSUFFICIENT_EVIDENCE, Answer.NOT_ELIGIBLE):
        if answer in answers:
            return answer
    return Answer.ELIGIBLE if answers else Answer.INSUFFICIENT_EVIDENCE


def duration(micros: int) -> str:
    """A length of time in days and hours."""
    days, hours = divmod(micros // HOUR, DAY // HOUR)
    parts = [f"{days} d"] * (days > 0) + [f"{hours} h"] * (hours > 0 or days == 0)
    return " ".join(parts)


def _answer(codes: set[FindingCode]) -> Answer:
    if any(FINDING_ANSWERS[code] is Answer.NOT_ELIGIBLE for code in codes):
        return Answer.NOT_ELIGIBLE
    return Answer.ELIGIBLE if codes == NEEDED else Answer.INSUFFICIENT_EVIDENCE


def _of_fallbacks(timeline: Timeline, policy: Policy, as_of: int) -> Iterator[Finding]:
    hours = [
        (start, hour.fallbacks)
        for start, hour in timeline.hours.items()
        if hour.fallbacks > 0 and start + HOUR > as_of - policy.span
    ]
    if hours:
        total, newest = sum(count for _, count in hours), max(start for start, _ in hours)
        yield Finding(
            FindingCode.FALLBACKS_COUNTED,
            f"{total} in the last {policy.days} d, the newest in the hour of {iso(newest)}",
        )


def _of_span(timeline: Timeline, span: Span, policy: Policy, as_of: int) -> Iterator[Finding]:
    long_enough = span.length >= policy.span
    held = f"{duration(span.length)} of {policy.days} d"
    yield Finding(FindingCode.HEALTHY_SPAN if long_enough else FindingCode.SPAN_TOO_SHORT, held)
    enough = span.attempts >= policy.attempts
    counted = f"{span.attempts:,} of {policy.attempts:,}"
    yield Finding(FindingCode.ENOUGH_ATTEMPTS if enough else FindingCode.TOO_FEW_ATTEMPTS, counted)
    if not long_enough:
        yield from _broken(timeline, span, policy, as_of)


def _broken(timeline: Timeline, span: Span, policy: Policy, as_of: int) -> Iterator[Finding]:
    """Why the span is not longer: the change before it, and every kind of fault within the policy's days."""
    changed = span.restart.changed
    if span.restart.previous is not None and changed:
        yield Finding(
            FindingCode.COMBINATION_CHANGED, f"another {' and '.join(PARTS[name] for name in changed)} before"
        )
    current = window_start(as_of, WINDOW_SECONDS)
    if {Fault.ABSENT, Fault.UNRECORDED} & set(faults_of(timeline.hours.get(current, Hour()))):
        seen = last_witnessed(timeline, current)
        since = "not within what was read" if seen is None else f"last witnessed in the hour of {iso(seen)}"
        yield Finding(FindingCode.NOT_WITNESSED_NOW, since)
    first = max(timeline.read_from, window_start(as_of - policy.span, WINDOW_SECONDS))
    found: dict[Fault, list[int]] = {}
    for start in range(first, current + HOUR, HOUR):
        hour = timeline.hours.get(start)
        state_may_wait = start >= current - HOUR
        for fault in (Fault.UNRECORDED,) if hour is None else faults_of(hour, unsettled=state_may_wait):
            found.setdefault(fault, []).append(start)
    for fault, starts in found.items():
        code = _FINDING_OF_FAULT.get(fault)
        if code is not None:
            hours = "1 hour" if len(starts) == 1 else f"{len(starts)} hours"
            yield Finding(code, f"{hours} in the last {policy.days} d, the newest that of {iso(starts[-1])}")
