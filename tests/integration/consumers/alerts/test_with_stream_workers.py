"""A watcher behind real stream workers, and on a broker of its own, all of which are killed and started anew."""

import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.alert_records import FIRING, RESOLVED, alert_record
from tests.integration.consumers.alerts.receiving import Hook, Watcher, eventually
from tests.table_records import BLUE
from tests.tables_on_kafka import Stream, WorkerProcess

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas import keys
from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

LOSS = "TELEMETRY_LOSS"
Keyed = tuple[str, dict[str, Any]]


@pytest.fixture
def stream(kafka: str, namespace: str) -> Stream:
    """A namespace with its topics."""
    return Stream(kafka, namespace)


@pytest.fixture
def started() -> Iterator[Callable[..., WorkerProcess | Watcher]]:
    """Remembers processes, so that none outlives the test."""
    processes: list[WorkerProcess | Watcher] = []

    def remember(process: WorkerProcess | Watcher) -> WorkerProcess | Watcher:
        processes.append(process)
        return process

    yield remember
    for one in processes:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait(10)


def lossy_window(start: int) -> list[Keyed]:
    """What the ledger writes of a window that an emitter witnessed and in which batches are missing."""
    about = {"partition": 0, "window_start": start, "window_seconds": 60, "scope": BLUE._asdict(), "offset": 10}
    witness = {"measure": "emitters", "capability": "-", "code": "-", "count": 1, "sessions": [], "correction": None}
    return [(keys.tally_key(0, start, 60, BLUE, "emitters", "-", "-"), about | witness), flaw(start)]


def flaw(start: int) -> Keyed:
    return keys.flaw_key(0, start, 60, BLUE, "e1", 3, 5, "gap"), {
        "partition": 0, "offset": 10, "window_start": start, "window_seconds": 60, "scope": BLUE._asdict(),
        "emitter_id": "e1", "from_seq": 3, "to_seq": 5, "cause": "gap", "losses": [],
    }  # fmt: skip


def mark(through: int) -> Keyed:
    return keys.mark_key(0), {
        "partition": 0, "partitions": 1, "offset": 100, "read_through": through, "grace_ms": 5000,
        "scopes": [{"scope": BLUE._asdict(), "accounted_through": through, "emitters": 1}],
        "unaccounted": [], "unaccounted_total": 0,
    }  # fmt: skip


def losses(hook: Hook) -> list[tuple[str, str]]:
    """What was told of losses; a delivery that a kill repeated, under its key, counts once."""
    told = dict.fromkeys((request.key, request.change) for request in hook.accepted)
    return [change for _, change in told if change[0].startswith(LOSS)]


def test_a_loss_fires_once_and_is_resolved_once_however_often_workers_and_watchers_are_killed(
    stream: Stream, hook: Hook, started: Callable[..., WorkerProcess | Watcher]
) -> None:
    bootstrap, namespace = stream.bootstrap, stream.topics.namespace

    def worker() -> WorkerProcess:
        process = WorkerProcess(bootstrap, namespace, "--only", "tables")
        started(process)
        return process.wait_ready()

    def watcher() -> Watcher:
        process = Watcher(bootstrap, namespace, "--webhook", hook.url)
        started(process)
        return process

    minute = int(time.time()) // 60 * 60 * MICROS - 600 * MICROS
    identity = f"{LOSS}|60|{minute // MICROS}|{BLUE.release_line}|{BLUE.composition}"
    running, watching = worker(), watcher()
    stream.tally(*lossy_window(minute), mark(int(time.time() * MICROS)))
    eventually(lambda: losses(hook) == [(identity, FIRING)])
    for _ in range(2):
        running.end(signal.SIGKILL)
        watching.kill()
        running, watching = worker(), watcher()
    stream.tally(flaw(minute), remove=True)
    eventually(lambda: (identity, RESOLVED) in losses(hook))
    running.end(signal.SIGKILL)
    running = worker()
    # Something else must come through before it is certain that nothing else came.
    stream.tally(*lossy_window(minute + 60 * MICROS), mark(int(time.time() * MICROS)))
    eventually(lambda: len(losses(hook)) == 3)
    assert losses(hook)[:2] == [(identity, FIRING), (identity, RESOLVED)]
    assert running.end() == 0
    assert watching.end() == 0


@pytest.mark.timeout(240)
def test_a_watcher_outlives_its_broker(
    jvm_broker: Callable[..., JvmBroker], namespace: str, hook: Hook, started: Callable[..., WorkerProcess | Watcher]
) -> None:
    broker = jvm_broker()
    topics = Topics(namespace, events_partitions=1, table_partitions=2)
    create_topics(broker.bootstrap, topics)
    producer = Producer(producer_config(broker.bootstrap))

    def publish(*alerts: dict[str, Any]) -> None:
        for found in alerts:
            producer.produce(topics.alerts.name, encode("alert", found), found["alert_id"].encode())
        assert producer.flush(60) == 0

    watcher = started(Watcher(broker.bootstrap, namespace, "--webhook", hook.url))
    assert isinstance(watcher, Watcher)
    publish(alert_record("a", FIRING, 1))
    eventually(lambda: len(hook.accepted) == 1)
    broker.kill()
    eventually(lambda: "Trying again" in watcher.log)
    broker.restart()
    publish(alert_record("a", RESOLVED, 2), alert_record("b", FIRING, 2))
    eventually(lambda: len(set(hook.changes())) == 3, timeout=90)
    assert hook.changes()[0] == ("UPSTREAM_OUTAGE|a", FIRING)
    assert set(hook.changes()) == {
        ("UPSTREAM_OUTAGE|a", FIRING), ("UPSTREAM_OUTAGE|a", RESOLVED), ("UPSTREAM_OUTAGE|b", FIRING),
    }  # fmt: skip
    assert watcher.end() == 0
    assert "Traceback" not in watcher.log
