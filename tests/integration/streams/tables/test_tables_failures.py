"""What ends a tables worker, and what does not."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from tests.table_records import session_tally, teardown
from tests.tables_on_kafka import PARTITIONS, Stream, WorkerProcess, eventually

from unmask.consumers.devbroker import JvmBroker

pytestmark = pytest.mark.integration

_RUN = """
import sys
from unmask.consumers.cli.main import main
sys.argv = ["unmask", "stream", "--port", "0", *sys.argv[1:]]
main()
"""
_BROKEN_FOLD = """
from unmask.streams.tables.session_table import SessionTable

def apply(self, key, record):
    raise ZeroDivisionError("a fault in the fold")

SessionTable.apply = apply
"""
_READS_NOTHING = """
import asyncio
from unmask.streams.tables import service, transport

async def getmany(self, active_partitions, timeout):
    await asyncio.sleep(0.2)
    return {}

transport._CommittedThread.getmany = getmany
service._STALL_CHECK_S, service._STALLED_S = 0.5, 3.0
"""
_BEGINS_LATE = """
import asyncio
from faust.types import TP
from unmask.streams.tables import service

seek = service.TablesService._seek

async def late(self, ends, cancelled):
    places = [TP(*place) for place in ends]
    now = {}
    while not any(end > ends[place.topic, place.partition] for place, end in now.items()):
        await asyncio.sleep(0.2)
        now = {place: end or 0 for place, end in (await self._app.consumer.highwaters(*places)).items()}
    await seek(self, {(place.topic, place.partition): end for place, end in now.items()}, cancelled)

service.TablesService._seek = late
"""


def start(stream: Stream, fault: str, *arguments: str) -> "subprocess.Popen[str]":
    environment = {
        **os.environ, "KAFKA_BOOTSTRAP_SERVERS": stream.bootstrap, "UNMASK_NAMESPACE": stream.topics.namespace,
    }  # fmt: skip
    command = [sys.executable, "-c", fault + _RUN, *arguments]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def ended(session_id: str) -> dict[str, object]:
    return session_tally(session_id, teardowns=[teardown(4)])


def test_a_fault_in_the_fold_ends_the_process_and_says_so(stream: Stream) -> None:
    """C12: an exception that Faust would acknowledge must not become a record that nobody has taken in."""
    process = start(stream, _BROKEN_FOLD, "--only", "tables")
    try:
        time.sleep(6)
        assert process.poll() is None
        stream.session(ended("s1"))
        _, errors = process.communicate(timeout=40)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "unmask stream: ZeroDivisionError: a fault in the fold" in errors
    assert stream.read("verdict") == []


def test_a_consumer_that_stops_without_an_error_ends_the_process(stream: Stream) -> None:
    """C13."""
    process = start(stream, _READS_NOTHING, "--only", "tables")
    try:
        time.sleep(6)
        assert process.poll() is None
        for partition in range(PARTITIONS):
            stream.raw(stream.topics.tallies.name, partition, b"c|0", b"anything")
        _, errors = process.communicate(timeout=40)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "unmask stream: TablesStalled: partition" in errors


def test_records_that_faust_passes_over_before_a_partition_is_live_are_not_lost(stream: Stream) -> None:
    """Faust begins behind the place to which it was sent, as it may where it had fetched on already."""
    process = start(stream, _BEGINS_LATE, "--only", "tables")
    try:
        sent: list[str] = []
        deadline = time.monotonic() + 60
        while not stream.newest("verdict"):
            assert time.monotonic() < deadline
            sent.append(f"s{len(sent)}")
            stream.session(ended(sent[-1]))
            time.sleep(0.5)
        # At least the one for which Faust was waiting lies before its beginning, and nothing follows it.
        eventually(lambda: stream.newest("verdict").keys() == set(sent))
    finally:
        process.kill()
        process.communicate()


def test_a_ledger_that_gives_up_takes_the_worker_with_it(stream: Stream) -> None:
    """C01: a flood of unreadable records stops the worker instead of diverting everything."""
    for _ in range(1000):
        stream.queue(stream.topics.events.name, 0, b"e1", b"no batch")
    stream.raw(stream.topics.events.name, 0, b"e1", b"no batch")
    process = start(stream, "")
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "unmask stream: QuarantineFlood: " in errors
    assert "no batch" not in errors


@pytest.mark.chaos
@pytest.mark.timeout(180)
def test_a_broker_that_restarts_is_waited_for(
    jvm_broker: Callable[..., JvmBroker], namespace: str, worker: Callable[..., WorkerProcess]
) -> None:
    broker = jvm_broker()
    own = Stream(broker.bootstrap, namespace)
    running = worker(bootstrap=broker.bootstrap).wait_ready()
    own.session(ended("s1"))
    eventually(lambda: "s1" in own.newest("verdict"))
    broker.kill()
    time.sleep(4)
    broker.start()
    own.session(ended("s2"))
    eventually(lambda: running.ended() or "s2" in own.newest("verdict"), 90)
    assert not running.ended(), running.log
    assert running.end() == 0, running.log
