"""The closed sets of eligibility: answers, what is found, and what breaks a span. Nothing of them goes on the wire."""

from enum import StrEnum

__all__ = ["EXIT_CODES", "FINDING_ANSWERS", "NEEDED", "Answer", "Fault", "FindingCode"]


class Answer(StrEnum):
    """What the record proves of one capability under one release line and composition."""

    ELIGIBLE = "ELIGIBLE"
    """A healthy span without a fallback, as long and as busy as the policy asks, and parity evidence that is green."""
    NOT_ELIGIBLE = "NOT_ELIGIBLE"
    """Something speaks against it: a fallback in the policy's time, or a red parity run."""
    INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"
    """Nothing speaks against it, and too little for it."""


class FindingCode(StrEnum):
    """What was found: each is a ground for the answer that it leads to."""

    HEALTHY_SPAN = "HEALTHY_SPAN"
    """The span is as long as the policy asks."""
    ENOUGH_ATTEMPTS = "ENOUGH_ATTEMPTS"
    """As many attempts as the policy asks were counted in the span."""
    PARITY_GREEN = "PARITY_GREEN"
    """A suite's newest run is recent, ran tests, and all of them held."""

    FALLBACKS_COUNTED = "FALLBACKS_COUNTED"
    """Fallbacks of the capability were counted within the policy's days."""
    PARITY_RED = "PARITY_RED"
    """Tests of a suite's newest run failed or ended in an error."""

    NOTHING_COUNTED = "NOTHING_COUNTED"
    """The capability was not counted at all within the policy's days."""
    SPAN_TOO_SHORT = "SPAN_TOO_SHORT"
    """The healthy span is shorter than the policy asks, or there is none."""
    TOO_FEW_ATTEMPTS = "TOO_FEW_ATTEMPTS"
    """Fewer attempts were counted in the span than the policy asks."""
    NOT_WITNESSED_NOW = "NOT_WITNESSED_NOW"
    """The combination is no longer deployed, or has fallen silent, or the hour has only begun."""
    COMBINATION_CHANGED = "COMBINATION_CHANGED"
    """Another combination counted the capability before this one did, within the policy's days."""
    TELEMETRY_LOSSY = "TELEMETRY_LOSSY"
    """Events are missing, or may be, within the policy's days."""
    TELEMETRY_ABSENT = "TELEMETRY_ABSENT"
    """Within the policy's days nobody witnessed the combination for a time. Not a zero."""
    TELEMETRY_PENDING = "TELEMETRY_PENDING"
    """An hour that is long over is still waited for."""
    TELEMETRY_UNRECORDED = "TELEMETRY_UNRECORDED"
    """Nothing at all is published of an hour within the policy's days."""
    TELEMETRY_UNREADABLE = "TELEMETRY_UNREADABLE"
    """An hour's published record cannot be read."""
    PIPELINE_UNWELL = "PIPELINE_UNWELL"
    """What hosts send is not counted or not published just now; a fallback may wait in it."""
    FALLBACKS_UNATTRIBUTED = "FALLBACKS_UNATTRIBUTED"
    """Fallbacks of the combination were counted under no capability's name; they may be of this one."""
    PARITY_MISSING = "PARITY_MISSING"
    """There is no run of the suite, or no suite at all."""
    PARITY_ELSEWHERE = "PARITY_ELSEWHERE"
    """The suite has runs, for other release lines, compositions or capabilities only."""
    PARITY_STALE = "PARITY_STALE"
    """The suite's newest run is older than the policy allows."""
    PARITY_EMPTY = "PARITY_EMPTY"
    """No test of the suite's newest run was run: there are none, or all were skipped."""
    PARITY_AHEAD = "PARITY_AHEAD"
    """The suite's newest run says that it is from the future."""
    PARITY_UNREADABLE = "PARITY_UNREADABLE"
    """The suite's newest record cannot be read."""


class Fault(StrEnum):
    """Why an hour is in no healthy span."""

    FALLBACK = "fallback"
    """A fallback of the capability was counted in it."""
    UNATTRIBUTED = "unattributed"
    """A fallback was counted in it under no capability's name."""
    LOSSY = "lossy"
    """Something of it is missing, or may be."""
    ABSENT = "absent"
    """Nobody witnessed the combination in it."""
    PENDING = "pending"
    """It is over for more than an hour and still not settled."""
    UNRECORDED = "unrecorded"
    """No record of the combination is published for it."""
    UNREADABLE = "unreadable"
    """A record of it cannot be read."""


_FOR = (FindingCode.HEALTHY_SPAN, FindingCode.ENOUGH_ATTEMPTS, FindingCode.PARITY_GREEN)
_AGAINST = (FindingCode.FALLBACKS_COUNTED, FindingCode.PARITY_RED)

NEEDED = frozenset(_FOR)
"""ELIGIBLE takes all of these, and nothing else beside them."""

FINDING_ANSWERS: dict[FindingCode, Answer] = {
    code: Answer.ELIGIBLE if code in _FOR else Answer.NOT_ELIGIBLE if code in _AGAINST else Answer.INSUFFICIENT_EVIDENCE
    for code in FindingCode
}
"""What each finding alone leads to; whatever is not known better lacks evidence."""

EXIT_CODES: dict[Answer, int] = {
    Answer.ELIGIBLE: 0,
    Answer.NOT_ELIGIBLE: 30,
    # The highest: to know that there was a fallback is to know more than this.
    Answer.INSUFFICIENT_EVIDENCE: 31,
}
"""Of a report, that of its worst row. They are part of the interface and do not change."""
