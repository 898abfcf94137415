"""The publisher: sends output records, and fails loudly for any that was not acknowledged."""

import logging
import secrets
import time
from collections import Counter
from typing import Any

from confluent_kafka import Producer

from unmask.schemas.kafka import producer_config
from unmask.schemas.signing import Signer, sign_verdict
from unmask.schemas.tokens import opaque_id
from unmask.schemas.topics import Topics
from unmask.schemas.wire import encode
from unmask.streams.tables.errors import OutputLost
from unmask.streams.tables.flow import Output, Source, topic_names

__all__ = ["WRITER_HEADER", "Publisher"]

WRITER_HEADER = "writer"
"""Header that names the process that published a record, so that it knows its own records when it reads them back."""
_PATIENCE_S = 30.0
_logger = logging.getLogger(__name__)


class Publisher:
    """Sends records to explicit partitions, acknowledged by all replicas; verdicts under the name of their `slot`.

    With a `signer` every verdict is signed.
    """

    def __init__(self, bootstrap: str, topics: Topics, slot: str | None = None, signer: Signer | None = None) -> None:
        self._slot = slot if slot is None else opaque_id(slot)
        self._signer = signer
        self.writer = secrets.token_hex(8).encode()
        self.published: Counter[Source] = Counter()
        self._names = topic_names(topics)
        self._lost: OutputLost | None = None
        self._producer = Producer(
            producer_config(
                bootstrap,
                linger_ms=5,
                message_timeout_ms=int(_PATIENCE_S * 1000),
                # With several under way, a partition's new leader that knows nothing of this writer could refuse the
                # first and take the second; the client would report both (confluentinc/confluent-kafka-go#921).
                max_in_flight_requests_per_connection=1,
            )
        )

    def send(self, output: Output, partition: int) -> None:
        """Queues a record. Raises OutputLost where an earlier one was not acknowledged."""
        value = self._value(output)
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._producer.produce(
                    self._names[output.topic],
                    key=output.key.encode(),
                    value=value,
                    partition=partition,
                    headers=[(WRITER_HEADER, self.writer)],
                    on_delivery=self._delivered,
                )
            except BufferError:
                self.poll(0.05)
                if time.monotonic() > deadline:
                    raise OutputLost(self._names[output.topic], "the queue stayed full") from None
                continue
            self.published[output.topic] += 1
            break
        self.poll()

    def _value(self, output: Output) -> bytes | None:
        record = output.record
        if record is None:
            return None
        if output.topic is Source.VERDICTS:
            record = {**record, "writer": self._slot}
            if self._signer is not None:
                record = sign_verdict(record, self._names[Source.VERDICTS], self._signer)
        return encode(output.record_name, record)

    def poll(self, timeout: float = 0.0) -> None:
        """Takes acknowledgements in. Raises OutputLost."""
        self._producer.poll(timeout)
        if self._lost is not None:
            raise self._lost

    def close(self, timeout: float = 10.0) -> None:
        """Waits until everything was acknowledged. Raises OutputLost."""
        left = self._producer.flush(timeout)
        if self._lost is not None:
            raise self._lost
        if left:
            raise OutputLost("the output topics", f"{left} records were still under way after {timeout:.0f} s")

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None and self._lost is None:
            self._lost = OutputLost(str(message.topic()), str(error.name()))
            _logger.error("%s", self._lost)
