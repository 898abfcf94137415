"""Appeals and vindications of what a gate refused, recorded afterwards by whoever was not there when it answered.

They are steps of the refused question and share its admission_id. They discharge nothing: the next question about the
session is answered as if nobody had said anything.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.consumers.gate.admission import OverrideNotNamed
from unmask.consumers.gate.followed import NotRead
from unmask.consumers.gate.recorder import AdmissionRecorder
from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codes import AdmissionAnswer, AdmissionStep
from unmask.schemas.errors import DecodeError
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import Signer, Trust, admission_flaw
from unmask.schemas.tokens import is_token, opaque_id
from unmask.schemas.topics import Topics
from unmask.schemas.wire import decode

__all__ = ["CONTESTING", "ContestUnrecorded", "Contested", "NoRefusalOnRecord", "contest", "refusal_of"]

CONTESTING = {AdmissionStep.APPEALED: "an appeal", AdmissionStep.VINDICATED: "a vindication"}
"""Steps that say of a refusal that it was wrong, and how they are called."""

_ADMITTING = frozenset((str(AdmissionAnswer.ADMITTED), str(AdmissionAnswer.ADMITTED_READ_ONLY)))
_POLL_SECONDS = 0.05


class NoRefusalOnRecord(Exception):
    """The admissions hold no refusal of the session that this could be about; the text says what was looked for."""

    def __init__(self, session_id: str, admission_id: str | None) -> None:
        which = "no refusal" if admission_id is None else f"no refusal under admission {admission_id}"
        super().__init__(
            f"nothing was recorded: {which} of session {session_id} is on record. Admissions are kept for 90 days; "
            "`unmask gate SESSION --json` tells the admission_id of its own question"
        )


class ContestUnrecorded(Exception):
    """The broker did not take the record; the text says why."""


@dataclass(frozen=True, slots=True)
class Contested:
    """What was recorded, and about which refusal."""

    session_id: str
    admission_id: str
    answer: str
    """The refusal."""
    refused_at: int
    """Microseconds since the epoch, by the clock of the gate that refused."""


def contest(
    topics: Topics,
    bootstrap: str,
    session_id: str,
    *,
    step: AdmissionStep,
    by: str,
    reason_code: str,
    timeout: float,
    admission_id: str | None = None,
    signer: Signer | None = None,
    trust: Trust | None = None,
) -> Contested:
    """Record an appeal or a vindication of a session's newest refusal, or of the one that `admission_id` names.

    A vindication without `admission_id` is of the newest refusal that was appealed, where any was. Raises
    OverrideNotNamed, NoRefusalOnRecord, ContestUnrecorded, NotRead, TopicUnreadable.
    """
    for part, value in (("by", by), ("reason_code", reason_code)):
        if not is_token(value):
            raise OverrideNotNamed(part, CONTESTING[step])
    key = opaque_id(session_id)
    records = _records(TopicSource(topics.admissions.name, bootstrap, compacted=False), key, timeout, trust)
    refused = refusal_of(records, step, admission_id)
    if refused is None:
        raise NoRefusalOnRecord(key, admission_id)
    record = {
        **refused,
        "step": str(step),
        "occurred_at": time.time_ns() // 1_000,
        "by": by,
        "reason_code": reason_code,
        "signature": None,
    }
    recorder = AdmissionRecorder(topics, bootstrap, give_up_after=timeout, signer=signer)
    try:
        cause = recorder.deliver(record)
    finally:
        recorder.close(0)
    if cause is not None:
        raise ContestUnrecorded(f"nothing was recorded. {cause}")
    return Contested(key, refused["admission_id"], refused["answer"], refused["occurred_at"])


def refusal_of(
    records: Sequence[Mapping[str, Any]], step: AdmissionStep, admission_id: str | None
) -> Mapping[str, Any] | None:
    """The question that a step is about, of a session's records in the order of their log; None where there is none."""
    asked = [
        record
        for record in records
        if record["step"] == AdmissionStep.ASKED
        and record["answer"] not in _ADMITTING
        and admission_id in (None, record["admission_id"])
    ]
    appealed = {record["admission_id"] for record in records if record["step"] == AdmissionStep.APPEALED}
    if step is AdmissionStep.VINDICATED:
        asked = [record for record in asked if record["admission_id"] in appealed] or asked
    return asked[-1] if asked else None


def _records(source: TopicSource, key: str, timeout: float, trust: Trust | None) -> list[Mapping[str, Any]]:
    """All believed admissions of a session, in the order of their log."""
    deadline = time.monotonic() + timeout
    partition = partition_for(key, source.shape(timeout).partitions)
    found: list[Mapping[str, Any]] = []
    with TopicReader(source, [partition], timeout=timeout) as reader:
        while not reader.caught_up:
            if time.monotonic() > deadline:
                raise NotRead(
                    f"The admissions could not be read to their end in time ({reader.remaining} offsets left). Allow "
                    "more time, or check the broker's load."
                )
            for row in reader.read(_POLL_SECONDS):
                if row.key != key.encode() or row.value is None:
                    continue
                try:
                    record = decode("admission", row.value)
                except DecodeError:
                    continue
                if _asked(record) or admission_flaw(record, session_id=key, topic=source.topic, trust=trust) is None:
                    found.append(record)
    return found


def _asked(record: Mapping[str, Any]) -> bool:
    # A gate without a key of its own may ask, and be held to be wrong; what it said decides nothing here.
    return bool(record["step"] == AdmissionStep.ASKED)
