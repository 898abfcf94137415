"""The exit code of each of the gate's answers, for shells. They are part of the interface and do not change."""

from unmask.schemas.codes import AdmissionAnswer

__all__ = ["EXIT_CODES", "exit_code_table"]

EXIT_CODES: dict[AdmissionAnswer, int] = {
    AdmissionAnswer.ADMITTED: 0,
    # Not 0, so that `unmask gate ... && act` refuses where a caller does not tell the two apart.
    AdmissionAnswer.ADMITTED_READ_ONLY: 10,
    AdmissionAnswer.RECONCILE_FIRST: 20,
    AdmissionAnswer.HALTED: 21,
    AdmissionAnswer.NO_VERDICT: 22,
    AdmissionAnswer.WITHDRAWN: 23,
    AdmissionAnswer.UNPROVEN: 24,
    AdmissionAnswer.UNVERIFIABLE: 25,
    AdmissionAnswer.NOT_READY: 26,
}

_MEANINGS: dict[AdmissionAnswer, str] = {
    AdmissionAnswer.ADMITTED: "go on",
    AdmissionAnswer.ADMITTED_READ_ONLY: "go on, but change nothing",
    AdmissionAnswer.RECONCILE_FIRST: "carry the directive out first",
    AdmissionAnswer.HALTED: "the predecessor failed; a person must look",
    AdmissionAnswer.NO_VERDICT: "the topic was read to its end and holds no verdict of the session",
    AdmissionAnswer.WITHDRAWN: "the verdict was withdrawn",
    AdmissionAnswer.UNPROVEN: "there is a verdict, but its evidence is not complete",
    AdmissionAnswer.UNVERIFIABLE: "the record cannot be decoded, was altered, or contradicts itself",
    AdmissionAnswer.NOT_READY: "the topic could not be read to its end in time",
}


def exit_code_table() -> list[tuple[int, AdmissionAnswer, str]]:
    """Exit code, answer and meaning of all answers, in the order of their codes."""
    return sorted((code, answer, _MEANINGS[answer]) for answer, code in EXIT_CODES.items())
