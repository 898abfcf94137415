"""Puts what a gate answered, and what was carried out, on the admissions topic."""

import threading
import time
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.verdict_facts import VerdictFacts
from unmask.schemas.kafka import producer_config
from unmask.schemas.signing import Signer, sign_admission
from unmask.schemas.topics import Topics
from unmask.schemas.wire import encode

__all__ = ["AdmissionRecorder", "admission_record"]

_POLL_SECONDS = 0.05


def admission_record(
    admission: Admission,
    occurred_at: int,
    *,
    about: VerdictFacts | None,
    by: str | None = None,
    reason_code: str | None = None,
) -> dict[str, Any]:
    """The admission's record; `occurred_at` in microseconds, `about` the verdict that it was about."""
    return {
        "admission_id": admission.admission_id,
        "session_id": admission.session_id,
        "step": str(admission.step),
        "answer": str(admission.answer),
        "mutating": admission.mutating,
        "occurred_at": occurred_at,
        "verdict_digest": None if about is None else about.digest,
        "directive": None if about is None else str(about.directive),
        "successor_session_id": admission.successor_session_id,
        "by": by,
        "reason_code": reason_code,
        "signature": None,
    }


class _Report:
    """The delivery report of one record, awaited by the thread that produced it."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.failure: KafkaError | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        self.failure = error
        self.arrived.set()


class _Closed(Exception):
    """The gate was closed, and its producer with it."""


class AdmissionRecorder:
    """A producer of admission records, signed where there is a `signer`.

    Safe for use by several threads; connects when the first record is sent.
    """

    def __init__(
        self, topics: Topics, bootstrap: str | None, *, give_up_after: float, signer: Signer | None = None
    ) -> None:
        self._topic = topics.admissions.name
        self._signer = signer
        self._give_up_after = give_up_after
        self._config = producer_config(
            bootstrap,
            # A record that comes after its sender was told that it did not would say something else than the answer.
            message_timeout_ms=max(1, int(give_up_after * 1000)),
            linger_ms=0,
            error_cb=_ignore,
        )
        self._config.setdefault("log_level", 2)
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._closed = False

    def post(self, record: dict[str, Any]) -> None:
        """Send without waiting. What cannot be sent is lost: it informs, and decides nothing."""
        try:
            producer = self._connected()
            producer.produce(self._topic, key=record["session_id"], value=self._value(record))
            producer.poll(0)
        except (BufferError, KafkaException, _Closed):
            return

    def deliver(self, record: dict[str, Any]) -> str | None:
        """Send and await the broker's acknowledgement. None once it came, else the cause as a sentence."""
        report = _Report()
        deadline = time.monotonic() + self._give_up_after
        try:
            producer = self._connected()
            producer.produce(self._topic, key=record["session_id"], value=self._value(record), on_delivery=report)
            while not report.arrived.is_set() and time.monotonic() < deadline:
                producer.poll(_POLL_SECONDS)
        except _Closed:
            return "The gate is closed; make a new one and ask again."
        except (BufferError, KafkaException) as error:
            return (
                f"Sending to {self._topic} failed ({type(error).__name__}); check the broker and this client's rights."
            )
        if not report.arrived.is_set():
            return (
                f"{self._topic} did not acknowledge the record in {self._give_up_after:g} s; check the broker, and the "
                "topic with: unmask topics check"
            )
        if report.failure is not None:
            return f"The broker did not take the record on {self._topic} ({report.failure.name()}); try again."
        return None

    def close(self, timeout: float) -> None:
        """Send what is still waiting, for at most `timeout` seconds."""
        with self._lock:
            producer, self._producer = self._producer, None
            self._closed = True
        if producer is not None:
            producer.flush(timeout)
            producer.purge()

    def _value(self, record: dict[str, Any]) -> bytes:
        signed = record if self._signer is None else sign_admission(record, self._topic, self._signer)
        return encode("admission", signed)

    def _connected(self) -> Producer:
        with self._lock:
            if self._closed:
                raise _Closed
            if self._producer is None:
                self._producer = Producer(self._config)
            return self._producer


def _ignore(error: KafkaError) -> None:
    """Connection troubles show up in the delivery report, or as its absence."""
