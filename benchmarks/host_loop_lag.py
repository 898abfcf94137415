"""What recording does to a busy asyncio loop: how late its timers are, with and without.

    python -m benchmarks host_loop_lag [--quick] [--rounds N] [--seconds N] [--broker HOST:PORT]

A loop serves requests from several tasks, each of which computes for about 0.2 ms and waits a little, so that the loop
is busy for about half of the time; a timer that is due every 2 ms notes how late it is called. Each request records an
attempt, and one in 20 a fallback with a session and an operation. Compared are: nothing recorded, recorded by this SDK
(to a broker, with an outbox on this disk), the same said to logging through a QueueHandler, whose listener formats it,
and an OpenTelemetry counter. Rounds are interleaved; percentiles are medians of the rounds, the largest is of all.
"""

import argparse
import asyncio
import io
import itertools
import json
import logging
import logging.handlers
import queue
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.host_calls import NAMESPACE
from benchmarks.host_results import median_of, ratio_of, table, write
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from unmask.consumers.devbroker import resolve_broker
from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

_TASKS = 8
_TICK_S = 0.002
_PAUSE_S = 0.0025
_FALLBACK_EVERY = 20
_REQUEST = {"prompt": ["a question of a few words"] * 40, "temperature": 0.5, "tools": [{"name": "search"}] * 20}

Note = Callable[[int], None]
"""Records the request of this number."""


@contextmanager
def nothing(bootstrap: str) -> Iterator[Note]:
    """Records nothing."""
    yield lambda number: None


@contextmanager
def emitting(bootstrap: str) -> Iterator[Note]:
    """Records with this SDK. Raises SystemExit where not all of it arrived."""
    with tempfile.TemporaryDirectory(prefix="unmask-bench-") as folder:
        settings = EmitterSettings(bootstrap_servers=bootstrap, namespace=NAMESPACE, outbox_dir=Path(folder))
        emitter = Emitter(settings)
        late = TimeoutError("timed out after 5 s")

        def note(number: int) -> None:
            emitter.record_route_attempt("answer", "api", f"run-{number}")
            if number % _FALLBACK_EVERY == 0:
                emitter.record_fallback("answer", late, session_id="s", operation_id=f"operation-{number}")

        with emitter.session("s", trace=False):
            yield note
        if not emitter.close(30).complete:
            raise SystemExit("not everything was delivered")


@contextmanager
def logging_by_queue(bootstrap: str) -> Iterator[Note]:
    """Says the same to logging, which a listener formats."""
    waiting: queue.SimpleQueue[object] = queue.SimpleQueue()
    logger = logging.Logger("bench")
    logger.addHandler(logging.handlers.QueueHandler(waiting))
    listener = logging.handlers.QueueListener(waiting, logging.StreamHandler(io.StringIO()))
    listener.start()
    late = TimeoutError("timed out after 5 s")

    def note(number: int) -> None:
        logger.info("attempt %s %s %s", "answer", "api", f"run-{number}")
        if number % _FALLBACK_EVERY == 0:
            logger.info("fallback %s %s %s %s", "answer", late, "s", f"operation-{number}")

    yield note
    listener.stop()


@contextmanager
def counting(bootstrap: str) -> Iterator[Note]:
    """Counts with OpenTelemetry: no run, no session, no operation."""
    meter = MeterProvider(metric_readers=[InMemoryMetricReader()]).get_meter("bench")
    attempts, fallbacks = meter.create_counter("attempts"), meter.create_counter("fallbacks")

    def note(number: int) -> None:
        attempts.add(1, {"capability": "answer", "entry_point": "api"})
        if number % _FALLBACK_EVERY == 0:
            fallbacks.add(1, {"capability": "answer", "reason": "timeout"})

    yield note


WAYS = {
    "nothing recorded": nothing,
    "this SDK, with an outbox": emitting,
    "QueueHandler and listener": logging_by_queue,
    "OpenTelemetry counters": counting,
}


async def serve(note: Note, seconds: float) -> dict[str, float]:
    """Lag of the timer in milliseconds, and how many requests were served a second."""
    end = time.perf_counter() + seconds
    numbers = itertools.count()
    lags: list[float] = []

    async def work() -> None:
        while time.perf_counter() < end:
            number = next(numbers)
            for _ in range(10):
                json.loads(json.dumps(_REQUEST))
            note(number)
            await asyncio.sleep(_PAUSE_S)

    async def watch() -> None:
        while time.perf_counter() < end:
            due = time.perf_counter() + _TICK_S
            await asyncio.sleep(_TICK_S)
            lags.append((time.perf_counter() - due) * 1000)

    used = time.process_time()
    await asyncio.gather(watch(), *(work() for _ in range(_TASKS)))
    used = time.process_time() - used
    lags.sort()
    served = next(numbers)
    return {
        "p50": lags[len(lags) // 2], "p99": lags[int(len(lags) * 0.99)], "max": lags[-1],
        "requests_per_s": served / seconds, "cpu_us_per_request": used / served * 1e6,
    }  # fmt: skip


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="half a minute")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--broker", help="bootstrap servers")
    given = parser.parse_args()
    bootstrap = given.broker or resolve_broker(tethered=True).bootstrap
    create_topics(bootstrap, Topics(NAMESPACE, events_partitions=3, table_partitions=1))
    rounds, seconds = given.rounds or (2 if given.quick else 7), given.seconds or (2.0 if given.quick else 5.0)
    results: dict[str, list[dict[str, float]]] = defaultdict(list)
    for number in range(rounds):
        for name, way in WAYS.items():
            with way(bootstrap) as note:
                results[name].append(asyncio.run(serve(note, seconds)))
            print(f"round {number + 1}  {name:<28} p99 {results[name][-1]['p99']:6.2f} ms", flush=True)
    rows = []
    for name, rounds_of in results.items():
        figures = [median_of(rounds_of, figure) for figure in ("p50", "p99", "cpu_us_per_request", "requests_per_s")]
        ratio = ratio_of(rounds_of, results["nothing recorded"], "p99")
        largest = max(each["max"] for each in rounds_of)
        p50, p99, cpu, rate = figures
        rows.append([name, f"{p50:.2f}", f"{p99:.2f}", f"{ratio:.2f}", f"{largest:.1f}", f"{cpu:.0f}", f"{rate:,.0f}"])
    head = (
        "lag of a timer of the loop, ms", "p50", "p99", "p99 of nothing's", "largest", "CPU µs per request",
        "requests/s",
    )  # fmt: skip
    write("host_loop_lag", {"seconds": seconds, "ways": results}, table(head, rows), quick=given.quick)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
