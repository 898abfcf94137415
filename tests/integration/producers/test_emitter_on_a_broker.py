"""What an emitter puts on a real broker."""

import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.testing import account_faults, events_in
from unmask.schemas.codes import Family
from unmask.schemas.models import EventBatch
from unmask.schemas.models.record import from_avro
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration

Batches = Callable[[], dict[str, list[dict[str, Any]]]]


def test_everything_recorded_arrives_once_with_accounts_that_hold(emitter: Emitter, batches: Batches) -> None:
    for number in range(5_000):
        emitter.record_route_attempt("answer", "api", f"run-{number}")
        if number % 500 == 0:
            emitter.record_fallback("answer", "timed out after 5 s", run_id=f"run-{number}")
            emitter.record_masked_error("s-1", f"op-{number}", "openai", 503, "cache.v2")
            time.sleep(0.03)
    report = emitter.close(10)
    assert report.complete
    (found,) = batches().values()
    assert account_faults(found) == []
    total = sum((events_in(batch) for batch in found), Counter[str]())
    assert total == {"route_attempt": 5_000, "kernel_fallback": 10, "masked_error": 10}
    assert {str(family): count for family, count in report.delivered.items() if count} == total
    runs = [run for batch in found for group in batch["route_attempts"] for run in group["run_id"]]
    assert sorted(runs) == sorted(f"run-{number}" for number in range(5_000))


def test_every_batch_keeps_to_the_contract(emitter: Emitter, batches: Batches) -> None:
    with emitter.session("s-1", predecessor="s-0") as session:
        session.call("openai", _refused, lambda: "cached", receipt="cache.v2", capability="answer", run_id="run-1")
    emitter.record_route_attempt("answer")
    emitter.record_fallback("answer", "rate limit exceeded", entry_point="api", tenant_id="t", conversation_id="c")
    emitter.close(10)
    (found,) = batches().values()
    models = [from_avro(EventBatch, batch) for batch in found]
    assert [model.batch_seq for model in models] == list(range(1, len(models) + 1))
    assert [model.closing for model in models] == [False] * (len(models) - 1) + [True]
    assert sum(len(model.session_openings) for model in models) == 1
    (teardown,) = [teardown for model in models for teardown in model.session_teardowns]
    assert (teardown.operations, teardown.degraded_operations) == (1, 1)


def test_an_emitter_is_witnessed_from_its_start_and_keeps_its_heartbeat(emitter: Emitter, batches: Batches) -> None:
    time.sleep(2.5)
    (found,) = batches().values()
    assert found[0]["batch_seq"] == 1
    assert found[0]["sent_at"] - found[0]["emitter"]["started_at"] < 1_000_000
    gaps = [later["sent_at"] - earlier["sent_at"] for earlier, later in pairwise(found)]
    assert len(gaps) >= 2
    assert max(gaps) <= found[0]["emitter"]["heartbeat_ms"] * 1_000


def test_a_teardown_is_acknowledged_within_a_bound_while_the_process_stays_alive_and_idle(
    kafka: str, topics: Topics, batches: Batches
) -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=kafka, namespace=topics.namespace, flush_interval_ms=60_000))
    assert emitter.flush(10)
    with emitter.session("s-1"):
        pass
    deadline = time.monotonic() + 2
    while emitter.counts()[Family.SESSION_TEARDOWN].delivered == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert emitter.counts()[Family.SESSION_TEARDOWN].delivered == 1
    assert [batch["session_teardowns"] for batch in next(iter(batches().values()))][-1]
    assert emitter.close(5).complete


def test_batches_go_to_the_partition_that_murmur2_gives_the_emitter(
    settings: EmitterSettings, records: Callable[[], list[Any]]
) -> None:
    emitters = [Emitter(settings) for _ in range(4)]
    for emitter in emitters:
        assert emitter.close(10).complete
    places = {message.key().decode(): message.partition() for message in records()}
    assert places == {emitter.emitter_id: partition_for(emitter.emitter_id, 3) for emitter in emitters}


def test_flush_returns_when_all_that_was_recorded_is_on_the_broker(
    kafka: str, topics: Topics, batches: Batches
) -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=kafka, namespace=topics.namespace, flush_interval_ms=60_000))
    for _ in range(100):
        emitter.record_route_attempt("answer")
    assert emitter.flush(10)
    (found,) = batches().values()
    assert sum((events_in(batch) for batch in found), Counter[str]()) == {"route_attempt": 100}
    emitter.close(5)


def test_a_topic_that_is_made_later_gets_everything(kafka: str, namespace: str) -> None:
    topics = Topics(namespace, events_partitions=3, table_partitions=1)
    emitter = Emitter(EmitterSettings(bootstrap_servers=kafka, namespace=namespace, flush_interval_ms=20))
    for _ in range(50):
        emitter.record_route_attempt("answer")
    assert not emitter.flush(1)
    assert emitter.health().problem == "UNKNOWN_TOPIC_OR_PART"
    assert emitter.health().partition is None
    admin = AdminClient({"bootstrap.servers": kafka})
    assert topics.events.name not in admin.list_topics(timeout=10).topics
    admin.create_topics([NewTopic(topics.events.name, 3, 1)])[topics.events.name].result(20)
    assert emitter.flush(20)
    assert emitter.health().partition == partition_for(emitter.emitter_id, 3)
    report = emitter.close(10)
    assert report.complete
    assert report.delivered[Family.ROUTE_ATTEMPT] == 50


def test_a_record_limit_of_the_broker_below_ours_drops_counts_and_then_fits(kafka: str, namespace: str) -> None:
    topics = Topics(namespace, events_partitions=1, table_partitions=1)
    admin = AdminClient({"bootstrap.servers": kafka})
    limited = NewTopic(topics.events.name, 1, 1, config={"max.message.bytes": "20000"})
    admin.create_topics([limited])[topics.events.name].result(20)
    emitter = Emitter(
        EmitterSettings(
            bootstrap_servers=kafka, namespace=namespace, flush_interval_ms=20,
            client_options={"compression.type": "none"},
        )
    )  # fmt: skip
    for _ in range(20):
        for number in range(400):
            emitter.record_route_attempt("answer", "api", f"run-{number:050}")
        emitter.flush(10)
    report = emitter.close(10)
    assert report.closed
    dropped = sum(report.dropped[Family.ROUTE_ATTEMPT].values())
    assert 0 < dropped < 4_000
    assert report.delivered[Family.ROUTE_ATTEMPT] == 8_000 - dropped
    assert [str(cause) for cause in report.dropped[Family.ROUTE_ATTEMPT]] == ["too_large"]


def _refused() -> str:
    raise ConnectionRefusedError(111, "nobody listens")
