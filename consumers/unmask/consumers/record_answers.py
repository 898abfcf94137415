"""What reading what is on record can come to, each with an exit code of its own; the gate's codes mean the same."""

from enum import StrEnum

from unmask.consumers.gate.exit_codes import EXIT_CODES as GATE_CODES
from unmask.schemas.codes import AdmissionAnswer

__all__ = ["EXIT_CODES", "NotShown", "RecordAnswer", "exit_code_table"]


class RecordAnswer(StrEnum):
    """What there is to show."""

    SHOWN = "SHOWN"
    """Everything that is on record, read to the end that it had at the question."""
    ABSENT = "ABSENT"
    """Nothing is on record: nobody told of it, or it is older than the topics keep."""
    UNREADABLE = "UNREADABLE"
    """Something is on record that cannot be read here, so that nothing may be said."""
    NOT_READY = "NOT_READY"
    """The topics could not be read to their end in time."""


EXIT_CODES: dict[RecordAnswer, int] = {
    RecordAnswer.SHOWN: 0,
    RecordAnswer.ABSENT: GATE_CODES[AdmissionAnswer.NO_VERDICT],
    RecordAnswer.UNREADABLE: GATE_CODES[AdmissionAnswer.UNVERIFIABLE],
    RecordAnswer.NOT_READY: GATE_CODES[AdmissionAnswer.NOT_READY],
}
_MEANINGS = {
    RecordAnswer.SHOWN: "what is on record is shown",
    RecordAnswer.ABSENT: "nothing is on record",
    RecordAnswer.UNREADABLE: "a record of it cannot be read here",
    RecordAnswer.NOT_READY: "the topics could not be read to their end in time",
}


class NotShown(Exception):
    """There is nothing to show; `answer` says in which way, the text why and what to do."""

    def __init__(self, answer: RecordAnswer, reason: str) -> None:
        super().__init__(reason)
        self.answer = answer


def exit_code_table() -> str:
    """Exit code, answer and meaning of all answers, for a command's help."""
    return "\n\n".join(f"{code:>2}  {answer}: {_MEANINGS[answer]}." for answer, code in EXIT_CODES.items())
