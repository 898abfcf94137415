"""Workers that come and go, and what the group or the broker forgets meanwhile."""

import signal
import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from tests.integration.streams.ledger.rig import Hosts, Rig, WorkerProcess, wait_until

from unmask.consumers.devbroker import JvmBroker
from unmask.schemas.kafka import consumer_config
from unmask.streams.ledger.membership import is_same_member
from unmask.streams.ledger.service import LedgerService

pytestmark = pytest.mark.integration


def test_partitions_move_between_two_workers_both_ways_and_nothing_is_lost_or_repeated(rig: Rig) -> None:
    hosts = Hosts(rig, 5)
    stream = threading.Thread(target=hosts.stream, args=(7.0,))
    stream.start()
    first = rig.worker("a")
    first.wait_ready(partitions=3)
    second = rig.worker("b")
    _shared(first, second)
    second.end(signal.SIGTERM)
    first.wait_ready(partitions=3)
    third = rig.worker("c")
    _shared(first, third)
    first.end(signal.SIGTERM)
    third.wait_ready(partitions=3)
    stream.join()
    hosts.close()
    rig.settle().exact(hosts)


def _shared(*workers: WorkerProcess) -> None:
    """Waits until the workers share the three partitions, and each has some."""

    def shared() -> bool:
        held = [len(worker.told.get("partitions", ())) for worker in workers]
        return all(held) and sum(held) == 3

    wait_until(shared, "all partitions shared")


def test_a_worker_without_partitions_is_ready(rig: Rig) -> None:
    workers = [LedgerService(rig.settings(name), rig.topics) for name in ("a", "b", "c", "d")]
    try:
        for worker in workers:
            worker.start()

        def shared() -> bool:
            held = sorted(len(worker.status().partitions) for worker in workers)
            return held == [0, 1, 1, 1] and all(worker.status().ready for worker in workers)

        wait_until(shared, "four workers ready on three partitions")
    finally:
        for worker in workers:
            worker.stop()


def test_the_groups_committed_offsets_decide_nothing(rig: Rig) -> None:
    hosts = Hosts(rig, 2)
    worker = rig.worker("a")
    hosts.stream(1.0)
    worker.wait_ready(partitions=3)
    rig.settle()
    worker.end(signal.SIGTERM)
    group = f"{rig.topics.namespace}.ledger"
    offsets = ConsumerGroupTopicPartitions(group)
    [(_, answer)] = rig.admin.list_consumer_group_offsets([offsets]).items()
    committed = {tp.partition: tp.offset for tp in answer.result().topic_partitions}
    assert committed == rig.ends(), "they serve lag metrics, so they are true"
    wait_until(lambda: _deleted(rig, group), "the group deleted")
    hosts.stream(0.5)
    hosts.close()
    rig.worker("a")
    rig.settle().exact(hosts)


def _deleted(rig: Rig, group: str) -> bool:
    [(_, answer)] = rig.admin.delete_consumer_groups([group]).items()
    return answer.exception() is None


@pytest.mark.chaos
def test_totals_are_exact_over_a_restart_of_the_broker(
    jvm_broker: Callable[..., JvmBroker], namespace: str, rigged: Callable[..., Rig]
) -> None:
    broker = jvm_broker()
    rig = rigged(broker.bootstrap, namespace)
    hosts = Hosts(rig, 3)
    worker = rig.worker("a")
    stream = threading.Thread(target=hosts.stream, args=(8.0, 200.0))
    stream.start()
    worker.wait_ready(partitions=3)
    time.sleep(1)
    broker.stop()
    broker.start()
    stream.join()
    hosts.close()
    rig.settle(timeout=60).exact(hosts)
    assert worker.process.poll() is None


@pytest.mark.chaos
@pytest.mark.timeout(400)
def test_totals_are_exact_while_nodes_of_a_cluster_are_killed_one_after_the_other(
    jvm_broker: Callable[..., JvmBroker], namespace: str, rigged: Callable[..., Rig]
) -> None:
    broker = jvm_broker(nodes=3)
    rig = rigged(broker.bootstrap, namespace)
    hosts = Hosts(rig, 3)
    worker = rig.worker("a")
    worker.wait_ready(partitions=3)
    stream = threading.Thread(target=hosts.stream, args=(40.0, 50.0))
    stream.start()
    for node in (1, 2, 3):
        broker.kill(node)
        time.sleep(6)
        broker.restart(node)
    stream.join()
    hosts.close()
    rig.settle(timeout=90).exact(hosts)
    assert worker.process.poll() is None


def test_a_worker_that_returns_under_its_name_gets_its_partitions_back_at_once(rig: Rig) -> None:
    """A static member is no stranger after a kill: nobody waits for its session to time out."""
    hosts = Hosts(rig, 2)
    settings = {"static_membership": True, "session_timeout_ms": 20_000}
    first = rig.worker("a", **settings)
    first.wait_ready(partitions=3)
    hosts.stream(0.5)
    first.end(signal.SIGKILL)
    began = time.monotonic()
    second = rig.worker("a", **settings)
    second.wait_ready(partitions=3, timeout=15)
    assert time.monotonic() - began < 10
    hosts.close()
    rig.settle().exact(hosts)


def test_two_workers_of_one_name_end_with_what_to_do(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.streams.ledger.lives._FENCINGS", 3)
    twins = [LedgerService(rig.settings("same"), rig.topics) for _ in range(2)]
    try:
        for twin in twins:
            twin.start()
        wait_until(lambda: any(twin.status().error is not None for twin in twins), "one of them gives up", 60)
        [error] = [twin.status().error for twin in twins if twin.status().error is not None]
        assert "--instance" in str(error)
        wait_until(lambda: any(twin.status().ready for twin in twins), "the other goes on")
    finally:
        for twin in twins:
            twin.stop()


def test_the_client_writes_a_membership_in_the_layout_by_which_members_are_compared(rig: Rig) -> None:
    joined: list[object] = []
    consumer = Consumer(consumer_config("compared", bootstrap=rig.bootstrap))

    def on_assign(consumer: Consumer, _: list[TopicPartition]) -> None:
        joined.append(consumer.consumer_group_metadata())

    try:
        nobody = consumer.consumer_group_metadata()
        consumer.subscribe([rig.topics.events.name], on_assign=on_assign)
        wait_until(lambda: consumer.poll(0.1) is None and bool(joined), "joined")
        member = consumer.consumer_group_metadata()
    finally:
        consumer.close()
    assert is_same_member(joined[0], member)
    assert not is_same_member(nobody, member)
