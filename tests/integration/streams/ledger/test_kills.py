"""Workers that are killed, at random and at each point of a transaction: every event counts once, whatever dies."""

import random
import signal
import threading
import time

import pytest
from tests.integration.streams.ledger.rig import Hosts, Rig, wait_until

pytestmark = pytest.mark.integration


def _streamed(hosts: Hosts, seconds: float) -> threading.Thread:
    thread = threading.Thread(target=hosts.stream, args=(seconds,))
    thread.start()
    return thread


def test_totals_are_exact_after_kills_at_random_moments(rig: Rig) -> None:
    seed = time.time_ns()
    pick = random.Random(seed)
    hosts = Hosts(rig, 4)
    stream = _streamed(hosts, 9.0)
    worker = rig.worker("a")
    while stream.is_alive():
        worker.wait_ready(partitions=3)
        time.sleep(pick.uniform(0.05, 0.7))
        worker.end(signal.SIGKILL)
        worker = rig.worker("a")
    stream.join()
    hosts.close()
    assert len(rig.workers) >= 3, f"seed {seed}"
    rig.settle().exact(hosts)


@pytest.mark.parametrize("point", ["sent", "offsets", "committed"])
def test_totals_are_exact_after_a_kill_at_each_point_of_a_transaction(rig: Rig, point: str) -> None:
    hosts = Hosts(rig, 3)
    stream = _streamed(hosts, 2.5)
    for nth in (2, 3):
        doomed = rig.worker("a", at=[point, nth, "SIGKILL"])
        wait_until(doomed.struck.is_set, f"{doomed.name} struck at {point}")
        assert doomed.process.wait(10) == -signal.SIGKILL
    stream.join()
    hosts.close()
    rig.worker("a")
    rig.settle().exact(hosts)


def test_another_worker_ends_the_transaction_that_a_killed_one_left_open(rig: Rig) -> None:
    hosts = Hosts(rig, 3)
    stream = _streamed(hosts, 2.0)
    # Longer than the test: only fencing can end the transaction before.
    doomed = rig.worker("a", at=["offsets", 2, "SIGKILL"], transaction_timeout_ms=60_000)
    wait_until(doomed.struck.is_set, "the first worker struck")
    struck_at = time.monotonic()
    heir = rig.worker("b")
    stream.join()
    hosts.close()
    heir.wait_ready(partitions=3, timeout=15)
    published = rig.settle()
    assert time.monotonic() - struck_at < 20
    published.exact(hosts)


@pytest.mark.parametrize("point", ["sent", "offsets"])
def test_a_worker_that_was_paused_within_a_transaction_cannot_commit_it_after_it_was_replaced(
    rig: Rig, point: str
) -> None:
    hosts = Hosts(rig, 3)
    stream = _streamed(hosts, 6.0)
    zombie = rig.worker("a", at=[point, 3, "SIGSTOP"], transaction_timeout_ms=60_000)
    wait_until(zombie.struck.is_set, "the first worker paused")
    heir = rig.worker("b")
    heir.wait_ready(partitions=3, timeout=15)
    time.sleep(0.5)
    zombie.signal(signal.SIGCONT)
    stream.join()
    hosts.close()
    rig.settle().exact(hosts)
    assert zombie.process.poll() is None, "it goes on in a new life"
    zombie.wait_ready()


@pytest.mark.chaos
def test_a_worker_that_was_paused_at_any_time_counts_nothing_twice(rig: Rig) -> None:
    hosts = Hosts(rig, 3)
    stream = _streamed(hosts, 7.0)
    first = rig.worker("a")
    first.wait_ready(partitions=3)
    second = rig.worker("b")
    second.wait_ready()
    for worker in (first, second):
        worker.signal(signal.SIGSTOP)
        time.sleep(2.2)
        worker.signal(signal.SIGCONT)
    stream.join()
    hosts.close()
    rig.settle().exact(hosts)
