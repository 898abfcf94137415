"""How much one host can record for good: events a second to a real broker, and the CPU that a million of them cost.

    python -m benchmarks host_rate [--quick] [--rounds N] [--events N] [--broker HOST:PORT]

One event in 50 is a fallback with a session and an operation, all others are attempts with a run id of their own. The
host records as fast as its batches are acknowledged, so that nothing is dropped; a round ends when all is, and counts
only where every event was delivered. CPU time is that of the whole process: the recording, the background thread and
the client. Beside it what one would write by hand: each event encoded with fastavro and produced as a record of its
own, with a delivery report each; and the same without encoding. Rounds are interleaved, figures are medians.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from benchmarks.host_calls import NAMESPACE
from benchmarks.host_results import median_of, ratio_of, table, write
from confluent_kafka import KafkaError, Message, Producer
from fastavro import parse_schema, schemaless_writer

from unmask.consumers.devbroker import resolve_broker
from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codes import ReasonCode
from unmask.schemas.kafka import producer_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

_AT_ONCE = 2_000
"""Events between two looks at what is waiting."""
_WAITING = 40_000
"""Events that may wait."""
_FALLBACK_EVERY = 50
_SCHEMA = parse_schema(
    {
        "type": "record", "name": "one_event", "fields": [
            {"name": "occurred_at", "type": "long"}, {"name": "capability", "type": "string"},
            {"name": "entry_point", "type": "string"}, {"name": "run_id", "type": "string"},
            {"name": "reason_code", "type": ["null", "string"]},
        ],
    }
)  # fmt: skip


def emitted(bootstrap: str, events: int, box: Path | None) -> None:
    """Record and deliver. Raises SystemExit where not all of it arrived."""
    settings = EmitterSettings(
        bootstrap_servers=bootstrap, namespace=NAMESPACE, outbox_dir=box, flush_interval_ms=100, buffer_limit=100_000
    )
    emitter = Emitter(settings)
    with emitter.session("session", trace=False):
        for number in range(events):
            if number % _FALLBACK_EVERY:
                emitter.record_route_attempt("answer", "api", f"run-{number}")
            else:
                emitter.record_fallback(
                    "answer", ReasonCode.TIMEOUT, session_id="session", operation_id=f"operation-{number}"
                )
            if number % _AT_ONCE == 0:
                while sum(count.pending for count in emitter.counts().families.values()) > _WAITING:
                    time.sleep(0.005)
    report = emitter.close(60)
    delivered = sum(report.delivered.values())
    if not report.complete or delivered != events + 1:
        raise SystemExit(f"{delivered:,} of {events:,} events were delivered: {report.dropped}, {report.pending}")


def produced(bootstrap: str, events: int, encode: Callable[[int], bytes]) -> None:
    """One record for each event. Raises SystemExit where not all of them were acknowledged."""
    topic = Topics(NAMESPACE).quarantine.name
    acknowledged = 0

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        nonlocal acknowledged
        acknowledged += error is None

    producer = Producer(
        producer_config(
            bootstrap, linger_ms=20, compression_type="lz4", queue_buffering_max_messages=100_000, batch_size=500_000
        )
    )
    for number in range(events):
        value = encode(number)
        while True:
            try:
                producer.produce(topic, value, key=b"emitter", on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 100 == 0:
            producer.poll(0)
    producer.flush(60)
    if acknowledged != events:
        raise SystemExit(f"{acknowledged:,} of {events:,} records were acknowledged")


def encoded(number: int) -> bytes:
    """An event as a record of its own."""
    out = BytesIO()
    reason = None if number % _FALLBACK_EVERY else "timeout"
    schemaless_writer(
        out,
        _SCHEMA,
        {
            "occurred_at": time.time_ns() // 1000, "capability": "answer", "entry_point": "api",
            "run_id": f"run-{number}", "reason_code": reason,
        },
    )  # fmt: skip
    return out.getvalue()


def with_outbox(bootstrap: str, events: int) -> None:
    """As emitted, with an outbox on this disk."""
    with tempfile.TemporaryDirectory(prefix="unmask-bench-") as folder:
        emitted(bootstrap, events, Path(folder))


_RAW = b"x" * 100
WAYS: dict[str, Callable[[str, int], None]] = {
    "this SDK": lambda bootstrap, events: emitted(bootstrap, events, None),
    "this SDK, with an outbox": with_outbox,
    "fastavro and produce, a record each": lambda bootstrap, events: produced(bootstrap, events, encoded),
    "produce alone, 100 bytes each": lambda bootstrap, events: produced(bootstrap, events, lambda number: _RAW),
}


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="half a minute")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--events", type=int)
    parser.add_argument("--broker", help="bootstrap servers")
    given = parser.parse_args()
    bootstrap = given.broker or resolve_broker(tethered=True).bootstrap
    create_topics(bootstrap, Topics(NAMESPACE, events_partitions=3, table_partitions=1))
    rounds, events = given.rounds or (1 if given.quick else 5), given.events or (100_000 if given.quick else 500_000)
    results: dict[str, list[dict[str, float]]] = defaultdict(list)
    for number in range(rounds):
        for name, way in WAYS.items():
            began, used = time.perf_counter(), time.process_time()
            way(bootstrap, events)
            took, used = time.perf_counter() - began, time.process_time() - used
            results[name].append({"events_per_s": events / took, "cpu_s_per_million": used / events * 1e6})
            print(f"round {number + 1}  {name:<40} {events / took:>10,.0f} events/s", flush=True)
    by_hand = results["fastavro and produce, a record each"]
    rows = []
    for name, rounds_of in results.items():
        rate, cpu = median_of(rounds_of, "events_per_s"), median_of(rounds_of, "cpu_s_per_million")
        rows.append([name, f"{rate:,.0f}", f"{cpu:.2f}", f"{ratio_of(rounds_of, by_hand, 'cpu_s_per_million'):.2f}"])
    head = (f"{events:,} events of one host", "events/s", "CPU-s per million", "CPU of the third row's")
    write("host_rate", {"events": events, "ways": results}, table(head, rows), quick=given.quick)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
