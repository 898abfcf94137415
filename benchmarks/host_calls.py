"""The calls that are measured: record calls in every usual form, and what hosts would call in their place."""

import logging
import logging.handlers
import queue
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Producer
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codes import ReasonCode

__all__ = ["NAMESPACE", "NOBODY", "PEERS", "Call", "Host", "Peers", "ProviderError"]

NAMESPACE = "bench"
NOBODY = "127.0.0.1:1"
_SESSION = 500
"""Operations of one session."""

Call = Callable[[str, str], object]
"""Called with a session, which is open, and an operation, which is new."""

PEERS = ("QueueHandler", "QueueHandler, with a fallback's fields", "OpenTelemetry counter.add", "Producer.produce")


class ProviderError(Exception):
    """As the SDKs of providers raise it: a status, the response, and what its body says."""

    def __init__(self, status: int, kind: str) -> None:
        super().__init__(f"Error code: {status}")
        self.status_code = status
        self.response = object()
        self.body = {"error": {"message": "try again later", "type": kind, "code": None}}
        self.code = None
        self.type = kind


class Host:
    """An emitter and its record calls by name."""

    def __init__(self, bootstrap: str, box: Path | None) -> None:
        # The limit is out of reach, so that no call is cheap because its event is dropped.
        self.emitter = emitter = Emitter(
            EmitterSettings(bootstrap_servers=bootstrap, namespace=NAMESPACE, buffer_limit=10_000_000, outbox_dir=box)
        )
        self._sessions = ExitStack()
        self._number = 0
        attempt, fallback, masked = emitter.record_route_attempt, emitter.record_fallback, emitter.record_masked_error
        late, said, provider = TimeoutError("5 s"), RuntimeError("upstream answered 503"), ProviderError(503, "busy")
        code = ReasonCode.TIMEOUT
        self.calls: dict[str, Call] = {
            "record_route_attempt": lambda s, o: attempt("answer", "api", "run-1"),
            "record_fallback, a code": lambda s, o: fallback("answer", code, run_id="run-1"),
            "record_fallback, a status": lambda s, o: fallback("answer", 503),
            "record_fallback, a text": lambda s, o: fallback("answer", "timed out after 5 s"),
            "record_fallback, a TimeoutError": lambda s, o: fallback("answer", late),
            "record_fallback, an exception's text": lambda s, o: fallback("answer", said),
            "record_fallback, a provider's exception": lambda s, o: fallback("answer", provider),
            "the same in a session: a code": lambda s, o: fallback("answer", code, session_id=s, operation_id=o),
            "in a session: a status": lambda s, o: fallback("answer", 503, session_id=s, operation_id=o),
            "in a session: a TimeoutError": lambda s, o: fallback("answer", late, session_id=s, operation_id=o),
            "in a session: an exception's text": lambda s, o: fallback("answer", said, session_id=s, operation_id=o),
            "in a session: a provider's exception": lambda s, o: fallback(
                "answer", provider, session_id=s, operation_id=o
            ),
            "a text that is new each time": lambda s, o: fallback("answer", RuntimeError(f"{o}: answered 503")),
            "record_masked_error": lambda s, o: masked(s, o, "weather", late, "cache"),
        }

    def operations(self, count: int) -> list[tuple[str, str]]:
        """So many new operations, in sessions that are opened here."""
        found = []
        for number in range(self._number, self._number + count):
            session = f"session-{number // _SESSION}"
            if number % _SESSION == 0 or number == self._number:
                self._sessions.enter_context(self.emitter.session(session, trace=False))
            found.append((session, f"operation-{number}"))
        self._number += count
        return found

    def close(self, seconds: float) -> tuple[int, int, int]:
        """End it: events delivered, left in the outbox, dropped."""
        self._sessions.close()
        report = self.emitter.close(seconds)
        dropped = sum(sum(causes.values()) for causes in report.dropped.values())
        return sum(report.delivered.values()), sum(report.pending.values()), dropped


class Peers:
    """What a host would call in place of a record call. Nobody takes out of the queue while calls are measured."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[object] = queue.SimpleQueue()
        logger = logging.Logger("bench")
        logger.addHandler(logging.handlers.QueueHandler(self._queue))
        meter = MeterProvider(metric_readers=[InMemoryMetricReader()]).get_meter("bench")
        counter = meter.create_counter("attempts")
        limit = "queue.buffering.max.messages"
        self._producer = producer = Producer(
            {"bootstrap.servers": NOBODY, limit: 10_000_000, "log_level": 0, "linger.ms": 1_000}
        )
        value = b"x" * 100
        late = TimeoutError("5 s")
        calls: tuple[Call, ...] = (
            lambda s, o: logger.info("attempt %s %s", "answer", "api"),
            lambda s, o: logger.info("fallback %s %s %s %s", "answer", late, s, o),
            lambda s, o: counter.add(1, {"c": "answer", "e": "api"}),
            lambda s, o: producer.produce("bench.events", value, key=b"emitter"),
        )
        self.calls: dict[str, Call] = dict(zip(PEERS, calls, strict=True))

    def clear(self) -> None:
        """Take out what the calls have left."""
        while not self._queue.empty():
            self._queue.get()
        self._producer.purge()
        self._producer.poll(0)
