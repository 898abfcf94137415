"""A gate's view over so many verdicts: how long it takes to be ready, its memory, and what a question costs."""

import os
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass

from benchmarks.processes import resident_mb
from confluent_kafka import Producer

from unmask.consumers.gate import VerdictView, decide, verdict_source
from unmask.consumers.testing import clean_verdict
from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

__all__ = ["VerdictsCost", "measure_verdicts"]

_PARTITIONS = 6
_ASKED = 5_000


@dataclass(frozen=True, slots=True)
class VerdictsCost:
    """Of one view."""

    ready_s: float
    memory_mb: float
    """That the process has more than before it."""
    look_up_p50_us: float
    look_up_p99_us: float


def measure_verdicts(bootstrap: str, namespace: str, verdicts: int) -> VerdictsCost:
    """Fills a topic of its own, and has a process of its own read it."""
    topics = Topics(namespace, events_partitions=1, table_partitions=_PARTITIONS)
    create_topics(bootstrap, topics)
    producer = Producer(
        producer_config(bootstrap, linger_ms=20, batch_size=500_000, queue_buffering_max_messages=500_000)
    )
    record = {**clean_verdict("session"), "writer": "worker-1"}
    for number in range(verdicts):
        name = f"session-{number}"
        value = encode("verdict", {**record, "session_id": name, "sequence": number + 1})
        while True:
            try:
                producer.produce(topics.verdicts.name, key=name, value=value)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise RuntimeError("the broker did not take the verdicts within 120 s")
    command = [sys.executable, "-m", "benchmarks.growth.verdicts", bootstrap, namespace, str(verdicts)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return VerdictsCost(*map(float, said.split()))


def _view(bootstrap: str, namespace: str, verdicts: int) -> VerdictsCost:
    before = resident_mb(os.getpid())
    began = time.perf_counter()
    view = VerdictView(verdict_source(bootstrap, namespace)).start()
    view.wait_ready(300)
    ready_s = time.perf_counter() - began
    times = []
    for _ in range(_ASKED):
        name = f"session-{secrets.randbelow(verdicts)}"
        asked = time.perf_counter()
        decide(view.entry(name))
        times.append((time.perf_counter() - asked) * 1e6)
    memory = resident_mb(os.getpid()) - before
    view.close()
    times.sort()
    return VerdictsCost(ready_s, memory, times[_ASKED // 2], times[_ASKED * 99 // 100])


if __name__ == "__main__":
    cost = _view(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    print(cost.ready_s, cost.memory_mb, cost.look_up_p50_us, cost.look_up_p99_us)
