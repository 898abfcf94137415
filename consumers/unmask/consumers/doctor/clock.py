"""How far this machine's clock is from the broker's, which stamps events.

Kafka tells its time in one place only: in the report of a record that it stamped. So a topic of its own is made for
the question, and deleted.
"""

import secrets
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # re-exported without saying so

from unmask.consumers.doctor.finding import Finding, Status
from unmask.schemas.kafka import client_config, producer_config

__all__ = ["check_clock", "judge_clock"]

_SAMPLES = 5
_WARN_MS = 5_000
_FAIL_MS = 300_000
"""Events further ahead than this are counted in the broker's window instead of their own."""


def check_clock(bootstrap: str, namespace: str, timeout: float) -> Iterator[Finding]:
    """The clock difference, or a warning where it could not be measured."""
    name = f"{namespace}.doctor-{secrets.token_hex(4)}"
    settings: dict[str, Any] = {"log_level": 2, **client_config(bootstrap)}
    admin = AdminClient(settings)
    topic = NewTopic(name, 1, config={"message.timestamp.type": "LogAppendTime", "retention.ms": "60000"})
    try:
        admin.create_topics([topic], request_timeout=timeout)[name].result(timeout=timeout)
        try:
            difference = _measure(bootstrap, name, timeout)
        finally:
            admin.delete_topics([name], request_timeout=timeout)[name].result(timeout=timeout)
    except (KafkaException, TimeoutError) as error:
        fix = "let this client create and delete a topic for the question, or leave it out with --no-clock"
        yield Finding("clock", Status.WARNING, f"could not be compared with the broker's ({type(error).__name__})", fix)
        return
    if difference is None:
        fix = "try again, or leave it out with --no-clock"
        yield Finding("clock", Status.WARNING, "the broker stamped no record in time", fix)
    else:
        yield judge_clock(difference)


def judge_clock(ahead_ms: int) -> Finding:
    """What a clock that is `ahead_ms` milliseconds ahead of the broker's means."""
    detail = f"{abs(ahead_ms)} ms {'ahead of' if ahead_ms >= 0 else 'behind'} the broker's"
    if abs(ahead_ms) <= _WARN_MS:
        return Finding("clock", Status.OK, detail)
    status = Status.WARNING if abs(ahead_ms) <= _FAIL_MS else Status.FAILED
    return Finding("clock", status, detail, "synchronise the clocks of hosts and brokers (NTP)")


def _measure(bootstrap: str, topic: str, timeout: float) -> int | None:
    """Milliseconds that this clock is ahead, from the sample with the shortest round trip; None without any."""
    producer = Producer({"log_level": 2, **producer_config(bootstrap, linger_ms=0)})
    deadline = time.monotonic() + timeout
    samples: list[tuple[float, float]] = []
    for _ in range(_SAMPLES):
        stamps: list[int | None] = []

        def note(error: KafkaError | None, message: Message, into: list[int | None] = stamps) -> None:
            kind, stamp = message.timestamp()
            into.append(stamp if error is None and kind == TIMESTAMP_LOG_APPEND_TIME else None)

        sent = time.time()
        producer.produce(topic, key=b"doctor", value=b"clock", on_delivery=note)
        while not stamps and time.monotonic() < deadline:
            producer.poll(0.01)
        arrived = time.time()
        if stamps and stamps[0] is not None:
            samples.append((arrived - sent, (sent + arrived) / 2 * 1000 - stamps[0]))
    return round(min(samples)[1]) if samples else None
