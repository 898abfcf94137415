"""What a record call costs its caller, beside calls that hosts make anyway.

    python benchmarks/record_call.py [--calls N] [--broker HOST:PORT]

Measures each call by itself: an attempt and a fallback with the broker unreachable and, with --broker, with a broker
that answers, both without an outbox and with one in a temporary folder. In the same run: logging's QueueHandler, an
OpenTelemetry counter, and confluent-kafka's `produce` of a message of 100 bytes. Times are in microseconds and hold the
cost of reading the clock once, which the first row shows. The ratios are against QueueHandler: p50 and p99.
"""

import argparse
import logging
import logging.handlers
import queue
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codes import ReasonCode
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

NAMESPACE = "bench"
NOBODY = "127.0.0.1:1"
PERCENTILES = (50, 90, 99, 99.9)
Row = tuple[float, float]
"""p50 and p99 in microseconds."""


def measure(call: Callable[[int], object], calls: int) -> list[int]:
    """Nanoseconds of each of `calls` calls, sorted."""
    clock = time.perf_counter_ns
    for number in range(1_000):
        call(number)
    times = [0] * calls
    for number in range(calls):
        before = clock()
        call(number)
        times[number] = clock() - before
    return sorted(times)


def row(name: str, times: list[int], against: Row | None = None) -> Row:
    """Print one row."""
    cells = [times[min(len(times) - 1, int(len(times) * share / 100))] / 1000 for share in PERCENTILES]
    ratios = "" if against is None else f"{cells[0] / against[0]:9.2f}{cells[2] / against[1]:7.2f}"
    print(f"{name:<58}" + "".join(f"{cell:9.2f}" for cell in cells) + f"{times[-1] / 1000:11.1f}{ratios}")
    return cells[0], cells[2]


def emitter_rows(title: str, bootstrap: str, calls: int, against: Row, box: Path | None) -> None:
    """An emitter's record calls."""
    emitter = Emitter(
        EmitterSettings(bootstrap_servers=bootstrap, namespace=NAMESPACE, buffer_limit=10_000_000, outbox_dir=box)
    )
    times = measure(lambda number: emitter.record_route_attempt("answer", "api", "run-1"), calls)
    row(f"record_route_attempt, {title}", times, against)
    times = measure(lambda number: emitter.record_fallback("answer", ReasonCode.TIMEOUT, run_id="run-1"), calls // 4)
    row(f"record_fallback (code), {title}", times, against)
    error = TimeoutError("timed out after 5 s")
    times = measure(
        lambda number: emitter.record_fallback("answer", error, session_id="s", operation_id=f"op-{number}"),
        calls // 10,
    )
    row(f"record_fallback (exception, session), {title}", times, against)
    report = emitter.close(10 if bootstrap != NOBODY else 0.5)
    dropped = sum(sum(causes.values()) for causes in report.dropped.values())
    left = sum(report.pending.values())
    print(f"{'':<58}delivered {sum(report.delivered.values())}, left in the outbox {left}, dropped {dropped}")


def client_row(calls: int, against: Row) -> None:
    """confluent-kafka's own call, into its queue in memory; nothing outlives the process."""
    producer = Producer(
        {"bootstrap.servers": NOBODY, "queue.buffering.max.messages": 10_000_000, "log_level": 0, "linger.ms": 1_000}
    )
    value = b"x" * 100
    times = measure(lambda number: producer.produce("bench.events", value, key=b"emitter"), calls // 2)
    row("confluent_kafka Producer.produce", times, against)
    producer.purge()


def main() -> None:
    """Run all of it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--broker", help="bootstrap servers of a broker that answers")
    arguments = parser.parse_args()
    calls = arguments.calls

    head = "".join(f"{f'p{share}':>9}" for share in PERCENTILES)
    print(f"{'microseconds per call':<58}{head}{'max':>11}{'p50':>9}{'p99':>7} of QueueHandler's")
    row("an empty call", measure(lambda number: None, calls))

    logger = logging.Logger("bench")
    logger.addHandler(logging.handlers.QueueHandler(queue.SimpleQueue()))
    times = measure(lambda number: logger.info("attempt %s %s", "answer", "api"), calls // 2)
    against = row("logging.handlers.QueueHandler", times)
    meter = MeterProvider(metric_readers=[InMemoryMetricReader()]).get_meter("bench")
    counter = meter.create_counter("attempts")
    times = measure(lambda number: counter.add(1, {"c": "answer", "e": "api"}), calls // 2)
    row("OpenTelemetry counter.add", times, against)
    client_row(calls, against)

    ways = [("unreachable", NOBODY)]
    if arguments.broker:
        create_topics(arguments.broker, Topics(NAMESPACE, events_partitions=3, table_partitions=1))
        ways.append(("delivering", arguments.broker))
    for title, bootstrap in ways:
        emitter_rows(title, bootstrap, calls, against, None)
        with tempfile.TemporaryDirectory(prefix="unmask-bench-") as box:
            emitter_rows(f"{title}, outbox", bootstrap, calls, against, Path(box))


if __name__ == "__main__":
    main()
