"""Forked children are emitters of their own; what the parent had recorded is sent once, by the parent."""

import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from unmask.producers.testing import account_faults, events_in
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration

Batches = Callable[[], dict[str, list[dict[str, Any]]]]

_START = """
import os, sys, time, threading
from unmask.producers import Emitter, EmitterSettings

def make(**more):
    return Emitter(EmitterSettings(bootstrap_servers=sys.argv[1], namespace=sys.argv[2], **more))

def wait_for(pids):
    statuses = [os.waitpid(pid, 0)[1] for pid in pids]
    assert statuses == [0] * len(pids), statuses
"""


def _run(kafka: str, topics: Topics, script: str) -> None:
    program = _START + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", program, kafka, topics.namespace], timeout=60, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _capabilities(batches: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for batch in batches:
        for group in batch["route_attempts"]:
            counts[group["capability"]] += len(group["occurred_at"])
    return counts


def test_four_children_deliver_their_own_events_and_the_parents_buffered_ones_arrive_once(
    kafka: str, topics: Topics, batches: Batches
) -> None:
    """Case P02: an emitter that was made before the fork."""
    _run(kafka, topics, """
        emitter = make(flush_interval_ms=60_000)
        for _ in range(100):
            emitter.record_route_attempt("parent")
        pids = []
        for number in range(4):
            pid = os.fork()
            if pid == 0:
                for _ in range(10 + number):
                    emitter.record_route_attempt(f"child-{number}")
                emitter.record_fallback(f"child-{number}", 503)
                sys.exit(0)
            pids.append(pid)
        wait_for(pids)
    """)  # fmt: skip
    found = batches()
    assert len(found) == 5
    assert all(account_faults(each) == [] for each in found.values())
    assert all(each[-1]["closing"] for each in found.values())
    arrived = sum((_capabilities(each) for each in found.values()), Counter[str]())
    assert arrived == {"parent": 100, "child-0": 10, "child-1": 11, "child-2": 12, "child-3": 13}
    assert sum(events_in(batch)["kernel_fallback"] for each in found.values() for batch in each) == 4


def test_a_child_that_records_nothing_is_no_emitter(kafka: str, topics: Topics, batches: Batches) -> None:
    _run(kafka, topics, """
        emitter = make()
        assert emitter.flush(10)
        pid = os.fork()
        if pid == 0:
            health = emitter.health()
            assert not health.running and health.batches_cut == 0
            assert emitter.close(5).complete
            os._exit(0)
        wait_for([pid])
    """)  # fmt: skip
    assert len(batches()) == 1


def test_a_fork_in_the_middle_of_traffic_of_many_threads_loses_and_doubles_nothing(
    kafka: str, topics: Topics, batches: Batches
) -> None:
    _run(kafka, topics, """
        emitter = make(flush_interval_ms=5)
        running = True
        counts = [0] * 3
        def traffic(slot):
            while running:
                emitter.record_route_attempt("parent")
                emitter.record_fallback("parent", "timed out")
                counts[slot] += 1
                time.sleep(0.001)
        threads = [threading.Thread(target=traffic, args=(slot,)) for slot in range(3)]
        for thread in threads:
            thread.start()
        pids = []
        for number in range(8):
            time.sleep(0.05)
            pid = os.fork()
            if pid == 0:
                for _ in range(7):
                    emitter.record_route_attempt("child")
                assert emitter.close(20).complete
                os._exit(0)
            pids.append(pid)
        wait_for(pids)
        running = False
        for thread in threads:
            thread.join()
        report = emitter.close(20)
        assert report.complete
        assert sum(counts) == list(report.delivered.values())[0]
    """)  # fmt: skip
    found = batches()
    assert len(found) == 9
    assert all(account_faults(each) == [] for each in found.values())
    assert sum(_capabilities(each)["child"] for each in found.values()) == 56


def test_children_of_multiprocessing_close_their_emitters_at_their_end(
    kafka: str, topics: Topics, batches: Batches
) -> None:
    _run(kafka, topics, """
        import multiprocessing
        emitter = make()
        def work(number):
            emitter.record_route_attempt("pooled")
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=work, args=(number,)) for number in range(3)]
        for child in children:
            child.start()
        for child in children:
            child.join(30)
        assert [child.exitcode for child in children] == [0, 0, 0]
    """)  # fmt: skip
    found = batches()
    assert len(found) == 4
    assert all(each[-1]["closing"] for each in found.values())
    assert sum(_capabilities(each)["pooled"] for each in found.values()) == 3


def test_a_worker_that_forks_again_is_an_emitter_each_time(kafka: str, topics: Topics, batches: Batches) -> None:
    _run(kafka, topics, """
        emitter = make()
        def descend(depth):
            emitter.record_route_attempt(f"depth-{depth}")
            if depth < 3:
                pid = os.fork()
                if pid == 0:
                    descend(depth + 1)
                    sys.exit(0)
                wait_for([pid])
        descend(0)
    """)  # fmt: skip
    found = batches()
    assert sorted(tuple(_capabilities(each)) for each in found.values()) == [(f"depth-{n}",) for n in range(4)]


def test_an_asyncio_host_may_fork_its_workers(kafka: str, topics: Topics, batches: Batches) -> None:
    _run(kafka, topics, """
        import asyncio
        emitter = make()
        async def serve():
            async with emitter.session(f"s-{os.getpid()}") as session:
                async def primary():
                    await asyncio.sleep(0.01)
                    raise TimeoutError
                async def cached():
                    return "cached"
                return await asyncio.gather(*(session.acall("search", primary, cached) for _ in range(20)))
        pids = []
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                assert asyncio.run(serve()) == ["cached"] * 20
                sys.exit(0)
            pids.append(pid)
        wait_for(pids)
    """)  # fmt: skip
    found = batches()
    teardowns = [teardown for each in found.values() for batch in each for teardown in batch["session_teardowns"]]
    assert [(each["operations"], each["degraded_operations"]) for each in teardowns] == [(20, 20), (20, 20)]
    assert sum(events_in(batch)["masked_error"] for each in found.values() for batch in each) == 40
