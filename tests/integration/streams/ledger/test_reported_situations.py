"""Situations that people reported of other systems, on a broker."""

import signal
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from tests.integration.streams.ledger.rig import Hosts, Rig, WorkerProcess, wait_until

from unmask.streams.ledger import life as ledger_life
from unmask.streams.ledger import lives
from unmask.streams.ledger.fold import fold_batch
from unmask.streams.ledger.service import LedgerService, LedgerStalled

pytestmark = pytest.mark.integration


def test_events_that_come_three_times_across_a_rebalance_and_a_restart_count_once(rig: Rig) -> None:
    """Case C14."""
    hosts = Hosts(rig, 4)
    workers = [rig.worker("a")]
    sent = [hosts.send(life, 3) for life in hosts.lives]
    workers[0].wait_ready(partitions=3)
    rig.settle()
    workers.append(rig.worker("b"))
    wait_until(lambda: _shared(workers), "all partitions shared")
    _send_again(rig, sent)
    rig.settle()
    for worker in workers:
        worker.end(signal.SIGKILL)
    rig.worker("a")
    _send_again(rig, sent)
    hosts.close()
    published = rig.settle()
    published.exact(hosts)
    assert published.total("duplicates") == 2 * len(sent)


def test_a_fault_at_the_fifth_of_nine_batches_leaves_none_of_them_behind(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case C12: no position is kept that lies past a batch which was not counted."""
    hosts = Hosts(rig, 1)
    (life,) = hosts.lives
    folded, faults = 0, 0

    def fails_once(*given: Any) -> int:
        nonlocal folded, faults
        folded += 1
        if folded == 5:
            faults += 1
            raise ZeroDivisionError("a fault in the fold")
        return fold_batch(*given)

    monkeypatch.setattr(ledger_life, "fold_batch", fails_once)
    for _ in range(3):
        hosts.send(life, 1)
    service = LedgerService(rig.settings(), rig.topics)
    service.start()
    try:
        # Four are counted and committed before the fifth comes.
        assert rig.settle().total("route_attempt") == 3
        for _ in range(4):
            hosts.send(life, 1)
        hosts.close()
        rig.settle().exact(hosts)
        assert faults == 1
    finally:
        service.stop()
    rig.worker("a")
    published = rig.settle()
    published.exact(hosts)
    assert published.total("duplicates") == 0


def test_a_batch_that_no_life_survives_ends_the_ledger_which_is_not_ready_meanwhile(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case C12: every life commits its marks, and then meets the same batch again."""

    def fails(*_given: Any) -> int:
        raise ZeroDivisionError("a fault in the fold")

    monkeypatch.setattr(lives, "_STALLED_S", 4.0)
    Hosts(rig, 1)
    rig.flush()
    monkeypatch.setattr(ledger_life, "fold_batch", fails)
    service = LedgerService(rig.settings(), rig.topics)
    service.start()
    try:
        wait_until(lambda: "ZeroDivisionError" in service.status().reason, "the first failure")
        ready = 0

        def ended() -> bool:
            nonlocal ready
            status = service.status()
            ready += status.ready
            return status.error is not None

        wait_until(ended, "the end", timeout=60)
        assert ready == 0
        error = service.status().error
        assert isinstance(error, LedgerStalled)
        assert "a fault in the fold" in str(error)
    finally:
        service.stop()


@pytest.mark.parametrize("to", ["beginning", "end"])
def test_offsets_of_the_group_that_somebody_reset_decide_nothing(rig: Rig, to: str) -> None:
    """From the beginning everything would come again, from the end what nobody has read would be passed over."""
    hosts = Hosts(rig, 2)
    worker = rig.worker("a")
    for life in hosts.lives:
        hosts.send(life, 3)
    rig.settle()
    worker.end(signal.SIGTERM)
    for life in hosts.lives:
        hosts.send(life, 3)
    rig.flush()
    group, name = f"{rig.topics.namespace}.ledger", rig.topics.events.name
    ends = rig.ends()
    places = [TopicPartition(name, partition, 0 if to == "beginning" else end) for partition, end in ends.items()]

    def reset() -> bool:
        # The broker refuses while it still takes the member that left for one of the group.
        asked = rig.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        done = [answer.result() for answer in asked.values() if answer.exception() is None]
        return len(done) == 1 and not any(place.error for place in done[0].topic_partitions)

    wait_until(reset, "the group's offsets reset")
    rig.worker("a")
    hosts.close()
    published = rig.settle()
    published.exact(hosts)
    assert published.total("duplicates") == 0


def _send_again(rig: Rig, batches: list[dict[str, Any]]) -> None:
    for batch in batches:
        rig.send(batch)
    rig.flush()


def _shared(workers: list[WorkerProcess]) -> bool:
    held = [len(worker.told.get("partitions", ())) for worker in workers]
    return all(held) and sum(held) == 3
