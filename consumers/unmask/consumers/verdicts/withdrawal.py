"""Withdrawing a verdict: recorded on the admissions first, with a name and a reason, then removed by a tombstone.

The record is what holds: a stream worker that reads it does not publish the verdict again until something of the
session happens after it, and takes it off itself where the tombstone was overtaken.
"""

import secrets
import time
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from unmask.consumers.gate.admission import OverrideNotNamed
from unmask.consumers.gate.entry import NoRecord, Recorded, Tombstone, Unread
from unmask.consumers.gate.recorder import AdmissionRecorder
from unmask.consumers.gate.view import VerdictNotReady, VerdictView
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codes import AdmissionAnswer, AdmissionStep
from unmask.schemas.kafka import producer_config
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import Signer, Trust
from unmask.schemas.tokens import is_token, opaque_id
from unmask.schemas.topics import Topics

__all__ = ["NothingToWithdraw", "Withdrawal", "WithdrawalUnrecorded", "withdraw"]


class NothingToWithdraw(Exception):
    """The session has no verdict, or it was withdrawn already."""

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(f"nothing was withdrawn: session {session_id} {why}")


class WithdrawalUnrecorded(Exception):
    """The broker did not take the record or the tombstone; the text says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A verdict that was withdrawn."""

    session_id: str
    admission_id: str
    digest: str | None
    """Of the verdict that stood; None where the newest record was none that could be read."""


def withdraw(
    topics: Topics,
    bootstrap: str,
    session_id: str,
    *,
    by: str,
    reason_code: str,
    timeout: float,
    signer: Signer | None = None,
    trust: Trust | None = None,
) -> Withdrawal:
    """Withdraw what stands for a session; from then on its gate answers WITHDRAWN.

    Raises OverrideNotNamed where `by` or `reason_code` is no bounded token, NothingToWithdraw, VerdictNotReady,
    TopicUnreadable, WithdrawalUnrecorded.
    """
    for part, value in (("by", by), ("reason_code", reason_code)):
        if not is_token(value):
            raise OverrideNotNamed(part)
    key = opaque_id(session_id)
    digest = _standing(topics, bootstrap, key, timeout, trust)
    admission_id = secrets.token_hex(16)
    record = {
        "admission_id": admission_id,
        "session_id": key,
        "step": str(AdmissionStep.WITHDRAWN),
        "answer": str(AdmissionAnswer.WITHDRAWN),
        "mutating": True,
        "occurred_at": time.time_ns() // 1_000,
        "verdict_digest": digest,
        "directive": None,
        "successor_session_id": None,
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
        raise WithdrawalUnrecorded(f"nothing was withdrawn. {cause}")
    _remove(topics, bootstrap, key, timeout)
    return Withdrawal(key, admission_id, digest)


def _standing(topics: Topics, bootstrap: str, key: str, timeout: float, trust: Trust | None) -> str | None:
    source = TopicSource(topics.verdicts.name, bootstrap)
    partition = partition_for(key, source.shape(timeout).partitions)
    with VerdictView(source, partitions=[partition], only=key, trust=trust) as view:
        view.wait_ready(timeout)
        entry = view.entry(key)
    if isinstance(entry, Unread):
        raise VerdictNotReady(entry.cause)
    if isinstance(entry, NoRecord):
        raise NothingToWithdraw(key, "has no verdict")
    if isinstance(entry, Tombstone):
        raise NothingToWithdraw(key, "has none any more: its verdict was withdrawn")
    if isinstance(entry, Recorded):
        return str(entry.verdict["digest"])
    return None


def _remove(topics: Topics, bootstrap: str, key: str, timeout: float) -> None:
    failures: list[KafkaError | None] = []

    def note(error: KafkaError | None, _: Message) -> None:
        failures.append(error)

    config = producer_config(bootstrap, message_timeout_ms=max(1, int(timeout * 1000)), linger_ms=0)
    producer = Producer({"log_level": 2, **config})
    try:
        producer.produce(topics.verdicts.name, key=key, value=None, on_delivery=note)
        producer.flush(timeout)
    except (BufferError, KafkaException) as error:
        failures.append(None)
        raise WithdrawalUnrecorded(_overtaken(type(error).__name__)) from error
    if failures != [None]:
        failure = failures[0] if failures else None
        raise WithdrawalUnrecorded(_overtaken("no acknowledgement" if failure is None else failure.name()))


def _overtaken(cause: str) -> str:
    return (
        f"the withdrawal is recorded, but the verdict could not be removed ({cause}): a stream worker removes it when "
        "it reads the record; or withdraw it again"
    )
