"""A broker that is away is not the host's problem, and what it costs is counted."""

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest
from confluent_kafka import Message

from unmask.consumers.devbroker import JvmBroker
from unmask.producers import Emitter, EmitterSettings
from unmask.producers.testing import account_faults, events_in
from unmask.schemas.codec import decode
from unmask.schemas.codes import DropCause, Family
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration


def test_record_calls_neither_block_nor_raise_and_every_event_is_counted() -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", buffer_limit=1_000, flush_interval_ms=10))
    slowest = 0.0
    for number in range(20_000):
        before = time.perf_counter()
        emitter.record_route_attempt("answer", "api", f"run-{number}")
        slowest = max(slowest, time.perf_counter() - before)
    count = emitter.counts()[Family.ROUTE_ATTEMPT]
    assert count.recorded == 20_000
    assert count.recorded == count.delivered + count.pending + count.lost
    assert set(count.dropped) == {DropCause.BUFFER_FULL}
    # A call that waited for the broker would take as long as a connection attempt; a busy machine may take some time.
    assert slowest < 0.25
    before = time.monotonic()
    report = emitter.close(0.5)
    assert time.monotonic() - before < 1.5
    assert not report.complete
    assert not any(report.pending.values())
    assert sum(report.dropped[Family.ROUTE_ATTEMPT].values()) == 20_000
    assert emitter.health().internal_errors == 0


def test_the_end_of_the_process_is_not_held_up_and_says_nothing() -> None:
    program = (
        "from unmask.producers import Emitter, EmitterSettings\n"
        "emitter = Emitter(EmitterSettings(bootstrap_servers='127.0.0.1:1', close_timeout_ms=300))\n"
        "emitter.record_fallback('answer', 'boom')\n"
    )
    before = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], timeout=30, capture_output=True, text=True)
    assert time.monotonic() - before < 10
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_batches_that_the_client_gave_up_are_produced_again_when_the_broker_is_back(
    jvm_broker: Callable[..., JvmBroker], namespace: str, read_records: Callable[[str, str], list[Message]]
) -> None:
    """Case P09: an outage under load that lasts longer than the client keeps a record."""
    broker = jvm_broker()
    topics = Topics(namespace, events_partitions=1, table_partitions=1)
    create_topics(broker.bootstrap, topics)
    emitter = Emitter(
        EmitterSettings(
            bootstrap_servers=broker.bootstrap, namespace=namespace, flush_interval_ms=50, max_unacknowledged=5,
            delivery_timeout_ms=1_000,
        )
    )  # fmt: skip
    emitter.record_route_attempt("before")
    assert emitter.flush(10)
    broker.kill()
    seen_unacknowledged = 0
    deadline = time.monotonic() + 60
    recorded = 1
    while emitter.health().redeliveries < 3 and time.monotonic() < deadline:
        emitter.record_route_attempt("during")
        recorded += 1
        seen_unacknowledged = max(seen_unacknowledged, emitter.health().batches_unacknowledged)
        count = emitter.counts()[Family.ROUTE_ATTEMPT]
        assert count.recorded == recorded == count.delivered + count.pending + count.lost
        time.sleep(0.01)
    assert emitter.health().redeliveries >= 3
    assert seen_unacknowledged == 5
    broker.restart()
    assert emitter.flush(60)
    report = emitter.close(20)
    assert report.complete
    decoded = [decode("event_batch", each.value()) for each in read_records(broker.bootstrap, topics.events.name)]
    found = {batch["batch_seq"]: batch for batch in decoded}
    assert account_faults(found.values()) == []
    assert sum((events_in(batch) for batch in found.values()), Counter[str]()) == {"route_attempt": recorded}


def test_many_threads_record_at_once_and_nothing_is_lost_or_counted_twice() -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", buffer_limit=5_000, flush_interval_ms=5))

    def traffic(slot: int) -> None:
        for number in range(3_000):
            emitter.record_route_attempt("answer")
            # Two layers, here two threads, report the same operation.
            emitter.record_fallback("answer", 503, session_id="s", operation_id=f"op-{number}-{slot // 2}")

    threads = [threading.Thread(target=traffic, args=(slot,)) for slot in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = emitter.counts()
    assert counts[Family.ROUTE_ATTEMPT].recorded == 12_000
    assert counts[Family.KERNEL_FALLBACK].recorded == 6_000
    emitter.close(0)
    for family, recorded in ((Family.ROUTE_ATTEMPT, 12_000), (Family.KERNEL_FALLBACK, 6_000)):
        count = emitter.counts()[family]
        assert (count.recorded, count.pending, count.lost) == (recorded, 0, recorded)
