"""What a record call costs its caller, beside calls that hosts make anyway.

    python benchmarks/record_call.py [--calls N] [--broker HOST:PORT]

Measures each call by itself, in batches of a fresh process state: an attempt and a fallback with the broker unreachable
and, with --broker, with a broker that answers; `logging.handlers.QueueHandler` and an OpenTelemetry counter in the same
run. Times are in microseconds and hold the cost of reading the clock once, which the first row shows.
"""

import argparse
import logging
import logging.handlers
import queue
import time
from collections.abc import Callable

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.codes import ReasonCode
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

NAMESPACE = "bench"
PERCENTILES = (50, 90, 99, 99.9)


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


def row(name: str, times: list[int], against: float | None) -> float:
    """Print one row; the median in microseconds."""
    cells = [times[min(len(times) - 1, int(len(times) * share / 100))] / 1000 for share in PERCENTILES]
    ratio = "" if against is None else f"{cells[0] / against:8.2f}"
    print(f"{name:<44}" + "".join(f"{cell:9.2f}" for cell in cells) + f"{times[-1] / 1000:11.1f}{ratio}")
    return cells[0]


def emitter_rows(title: str, bootstrap: str, calls: int, against: float) -> None:
    """An emitter's record calls."""
    emitter = Emitter(EmitterSettings(bootstrap_servers=bootstrap, namespace=NAMESPACE, buffer_limit=10_000_000))
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
    report = emitter.close(10 if title != "unreachable" else 0.2)
    dropped = sum(sum(causes.values()) for causes in report.dropped.values())
    print(f"{'':<44}delivered {sum(report.delivered.values())}, dropped {dropped}")


def main() -> None:
    """Run all of it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--broker", help="bootstrap servers of a broker that answers")
    arguments = parser.parse_args()
    calls = arguments.calls

    head = "".join(f"{f'p{share}':>9}" for share in PERCENTILES)
    print(f"{'microseconds per call':<44}{head}{'max':>11}   ratio")
    row("an empty call", measure(lambda number: None, calls), None)

    logger = logging.Logger("bench")
    logger.addHandler(logging.handlers.QueueHandler(queue.SimpleQueue()))
    times = measure(lambda number: logger.info("attempt %s %s", "answer", "api"), calls // 2)
    logging_median = row("logging.handlers.QueueHandler", times, None)

    meter = MeterProvider(metric_readers=[InMemoryMetricReader()]).get_meter("bench")
    counter = meter.create_counter("attempts")
    row("OpenTelemetry counter.add", measure(lambda number: counter.add(1, {"c": "answer", "e": "api"}), calls // 2),
        logging_median)  # fmt: skip

    emitter_rows("unreachable", "127.0.0.1:1", calls, logging_median)
    if arguments.broker:
        create_topics(arguments.broker, Topics(NAMESPACE, events_partitions=3, table_partitions=1))
        emitter_rows("delivering", arguments.broker, calls, logging_median)
    print("ratio: median against QueueHandler's")


if __name__ == "__main__":
    main()
