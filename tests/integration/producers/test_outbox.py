"""The disk outbox on a real broker: killed hosts, closed ones, forks, full disks, and the start that comes after."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.journalling_host import KillableHost, assert_journals_are_accounted_for
from tests.outbox_rig import dropped, held

from unmask.consumers.devbroker import JvmBroker
from unmask.producers import Emitter, EmitterSettings
from unmask.producers.report import OutboxState
from unmask.producers.testing import account_faults, lost_by_cause
from unmask.schemas.codec import decode, encode
from unmask.schemas.codes import DropCause, Family
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration

Batches = Callable[[], dict[str, list[dict[str, Any]]]]
Make = Callable[..., Emitter]
NOBODY = "127.0.0.1:1"


@pytest.fixture
def box(tmp_path: Path) -> Path:
    return tmp_path / "box"


@pytest.fixture
def make(kafka: str, topics: Topics, box: Path) -> Make:
    """An emitter with the outbox in `box`; `bootstrap_servers=NOBODY` is one whose broker is away."""

    def make(**settings: Any) -> Emitter:
        given = {"bootstrap_servers": kafka, "flush_interval_ms": 20, **settings}
        return Emitter(EmitterSettings(namespace=topics.namespace, outbox_dir=box, release_line="r1", **given))

    return make


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def adopt_all(make: Make, box: Path, topics: Topics) -> None:
    """A start on this host, for as long as it takes to send what others have left."""
    emitter = make()
    own = box / topics.events.name / emitter.emitter_id
    until(lambda: list((box / topics.events.name).iterdir()) == [own])
    assert emitter.close(10).complete
    assert list((box / topics.events.name).iterdir()) == []


def test_a_killed_host_without_a_broker_is_counted_exactly_once_by_the_next_start(
    kafka: str, topics: Topics, box: Path, tmp_path: Path, make: Make, batches: Batches
) -> None:
    """Case P05: what a killed host had not delivered outlives it."""
    host = KillableHost(NOBODY, topics.namespace, box, tmp_path / "journals")
    time.sleep(2)
    host.kill()
    assert batches() == {}
    adopt_all(make, box, topics)
    lost = assert_journals_are_accounted_for(tmp_path / "journals", batches())
    assert set(lost) <= {"host_died"}


def test_a_host_that_is_killed_between_the_send_and_the_report_sends_nothing_twice_that_counts(
    kafka: str, topics: Topics, box: Path, tmp_path: Path, make: Make, batches: Batches
) -> None:
    """Case P05: killed after the send and before the acknowledgement; each batch counts once."""
    for _ in range(3):
        host = KillableHost(kafka, topics.namespace, box, tmp_path / "journals", pause_s=0)
        time.sleep(1)
        host.kill()
    adopt_all(make, box, topics)
    found = batches()
    assert_journals_are_accounted_for(tmp_path / "journals", found)
    assert len(found) == 4


def test_an_emitter_that_is_adopted_closes_so_that_it_does_not_end_as_a_silent_one(
    make: Make, box: Path, topics: Topics, kafka: str, batches: Batches, tmp_path: Path
) -> None:
    host = KillableHost(kafka, topics.namespace, box, tmp_path / "journals")
    time.sleep(1)
    host.kill()
    killed_at = time.time_ns() // 1_000
    time.sleep(2)
    adopt_all(make, box, topics)
    last = batches()[host.emitter_id][-1]
    assert last["closing"]
    assert killed_at - 1_500_000 < last["sent_at"] < killed_at + 1_500_000


def test_what_close_leaves_behind_is_pending_and_goes_out_with_the_next_start(
    make: Make, box: Path, topics: Topics, batches: Batches
) -> None:
    emitter = make(bootstrap_servers=NOBODY)
    for _ in range(100):
        emitter.record_route_attempt("answer")
    emitter.record_fallback("answer", 503)
    report = emitter.close(0.5)
    assert not report.complete
    assert not report.closed
    assert report.pending[Family.ROUTE_ATTEMPT] == 100
    assert report.pending[Family.KERNEL_FALLBACK] == 1
    assert not any(report.dropped.values())
    until(lambda: not emitter.health().running)
    adopt_all(make, box, topics)
    found = batches()[emitter.emitter_id]
    assert account_faults(found) == []
    assert held(found) == {"route_attempt": 100, "kernel_fallback": 1}
    assert [batch["closing"] for batch in found].count(True) == 1


def test_an_emitter_beside_leaves_the_living_alone(make: Make, box: Path, topics: Topics, batches: Batches) -> None:
    first, second = make(), make()
    for _ in range(50):
        first.record_route_attempt("answer")
        second.record_route_attempt("answer")
    time.sleep(1)
    assert first.health().outboxes_adopted == second.health().outboxes_adopted == 0
    assert first.close(10).complete
    assert second.close(10).complete
    found = batches()
    assert set(found) == {first.emitter_id, second.emitter_id}
    assert all(account_faults(each) == [] and each[-1]["closing"] for each in found.values())


def test_of_several_starts_at_once_each_outbox_has_one_adopter(
    make: Make, box: Path, topics: Topics, batches: Batches, records: Callable[[], list[Message]]
) -> None:
    dead = []
    for _ in range(8):
        emitter = make(bootstrap_servers=NOBODY)
        for _ in range(10):
            emitter.record_route_attempt("answer")
        emitter.close(0.05)
        dead.append(emitter)
    until(lambda: not any(emitter.health().running for emitter in dead))
    starts: list[Emitter] = []
    barrier = threading.Barrier(4)

    def start() -> None:
        barrier.wait()
        starts.append(make())

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: sum(emitter.health().outboxes_adopted for emitter in starts) == 8)
    for emitter in starts:
        assert emitter.close(10).complete
    found = batches()
    for emitter in dead:
        assert held(found[emitter.emitter_id]) == {"route_attempt": 10}
    assert len(records()) == sum(len(each) for each in found.values())


def test_a_forked_child_has_an_outbox_of_its_own_and_does_not_stand_in_the_way_of_its_parents(
    kafka: str, topics: Topics, box: Path, make: Make, batches: Batches
) -> None:
    program = textwrap.dedent("""
        import os, signal, sys, time
        from pathlib import Path
        from unmask.producers import Emitter, EmitterSettings
        emitter = Emitter(EmitterSettings(bootstrap_servers="127.0.0.1:1", namespace=sys.argv[1],
                                          outbox_dir=Path(sys.argv[2]), flush_interval_ms=20))
        for _ in range(30):
            emitter.record_route_attempt("parent")
        time.sleep(0.3)
        pid = os.fork()
        if pid == 0:
            for _ in range(7):
                emitter.record_route_attempt("child")
            emitter.record_fallback("child", 503)
            time.sleep(0.5)
            os.write(1, f"{os.getpid()}\\n".encode())
            time.sleep(60)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    parent = subprocess.Popen(
        [sys.executable, "-c", program, topics.namespace, str(box)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.wait(20)
    lives = box / topics.events.name
    assert len(list(lives.iterdir())) == 2
    emitter = make()
    # The parent's outbox goes out although its child lives on with open files.
    until(lambda: emitter.health().outboxes_adopted == 1)
    time.sleep(0.2)
    assert len(list(lives.iterdir())) == 2
    assert emitter.close(10).complete
    os.kill(child, 9)
    parent.stdout.close()
    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text(), 10)
    adopt_all(make, box, topics)
    found = batches()
    totals = sorted(sorted(held(each).items()) for each in found.values())
    assert totals == [[], [], [("kernel_fallback", 1), ("route_attempt", 7)], [("route_attempt", 30)]]
    assert all(account_faults(each) == [] and each[-1]["closing"] for each in found.values())


def test_a_host_with_a_client_queue_of_ten_and_a_paused_broker_never_waits_and_loses_nothing(
    jvm_broker: Callable[..., JvmBroker], namespace: str, box: Path, read_records: Callable[[str, str], list[Message]]
) -> None:
    """Case P01: a full client queue, a broker that does not answer, and an end of the process."""
    broker = jvm_broker()
    topics = Topics(namespace, events_partitions=1, table_partitions=1)
    create_topics(broker.bootstrap, topics)

    def make() -> Emitter:
        return Emitter(
            EmitterSettings(
                bootstrap_servers=broker.bootstrap, namespace=namespace, outbox_dir=box, flush_interval_ms=5,
                max_batch_events=5, client_options={"queue.buffering.max.messages": 10},
            )
        )  # fmt: skip

    emitter = make()
    assert emitter.flush(20)
    broker.pause()
    slowest = 0.0
    for number in range(1_000):
        before = time.perf_counter()
        emitter.record_route_attempt("answer", "api", f"run-{number}")
        slowest = max(slowest, time.perf_counter() - before)
        count = emitter.counts()[Family.ROUTE_ATTEMPT]
        assert count.recorded == number + 1 == count.delivered + count.pending + count.lost
    assert slowest < 0.25
    until(lambda: emitter.health().problem == "_QUEUE_FULL")
    report = emitter.close(0.5)
    assert not report.complete
    assert sum(report.delivered.values()) + sum(report.pending.values()) == 1_000
    until(lambda: not emitter.health().running)
    broker.resume()
    later = make()
    until(lambda: later.health().outboxes_adopted == 1)
    assert later.close(20).complete
    decoded = [decode("event_batch", each.value()) for each in read_records(broker.bootstrap, topics.events.name)]
    found = {batch["batch_seq"]: batch for batch in decoded if batch["emitter"]["emitter_id"] == emitter.emitter_id}
    assert account_faults(found.values()) == []
    assert held(found.values()) == {"route_attempt": 1_000}


def test_a_full_outbox_is_accounted_for_at_every_step_and_after_a_restart(
    make: Make, box: Path, topics: Topics, batches: Batches
) -> None:
    """Case P07: a full disk buffer drops by policy, and counts what it drops."""
    emitter = make(bootstrap_servers=NOBODY, outbox_max_bytes=1_000_000, flush_interval_ms=10)
    recorded, full = 0, False
    deadline = time.monotonic() + 60
    while emitter.counts()[Family.ROUTE_ATTEMPT].dropped.get(DropCause.OUTBOX_FULL, 0) < 20_000:
        assert time.monotonic() < deadline
        for number in range(2_000):
            emitter.record_route_attempt("answer", "api", f"a-long-run-id-that-takes-space-{recorded + number}")
        recorded += 2_000
        count = emitter.counts()[Family.ROUTE_ATTEMPT]
        assert count.recorded == recorded == count.pending + count.lost
        health = emitter.health().outbox
        assert health is not None
        assert health.bytes_kept <= 1_000_000
        full |= health.state is OutboxState.FULL
    assert full
    report = emitter.close(0.5)
    left = report.pending[Family.ROUTE_ATTEMPT]
    assert left + sum(report.dropped[Family.ROUTE_ATTEMPT].values()) == recorded
    until(lambda: not emitter.health().running)
    adopt_all(make, box, topics)
    found = batches()[emitter.emitter_id]
    assert account_faults(found) == []
    assert held(found) == {"route_attempt": left}
    lost = {str(cause): count for cause, count in report.dropped[Family.ROUTE_ATTEMPT].items()}
    assert lost_by_cause(found[-1]) == {"route_attempt": lost}


@pytest.mark.parametrize("over", [False, True])
def test_records_just_under_and_over_the_limit_arrive_whole_or_divided(
    make: Make, box: Path, topics: Topics, batches: Batches, over: bool
) -> None:
    """The client's and the broker's own limits are a little above ours: what is as large as ours must pass both."""
    limit = EmitterSettings().max_record_bytes
    emitter = make(
        bootstrap_servers=NOBODY, max_batch_events=1_000_000, flush_interval_ms=3_600_000, buffer_limit=10**6
    )
    # 58 characters of a run and 7 to 9 bytes around them for each.
    attempts = 14_000 if over else 13_000
    for number in range(attempts):
        emitter.record_route_attempt("answer", "api", f"run-{number:054}")
    emitter.close(3)
    until(lambda: not emitter.health().running)
    adopt_all(make, box, topics)
    found = batches()[emitter.emitter_id]
    assert held(found) == {"route_attempt": attempts}
    with_events = [batch for batch in found if batch["route_attempts"]]
    assert len(with_events) == (2 if over else 1)
    if not over:
        assert limit * 0.9 < len(encode("event_batch", with_events[0])) <= limit


def test_a_broker_that_takes_only_small_records_makes_an_adopter_count_what_it_refuses(
    make: Make, box: Path, kafka: str, namespace: str, read_records: Callable[[str, str], list[Message]]
) -> None:
    namespace += "small"
    topic = Topics(namespace, events_partitions=1, table_partitions=1).events.name
    limited = NewTopic(topic, 1, 1, config={"max.message.bytes": "20000"})
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([limited])[topic].result(20)
    given: dict[str, Any] = {"namespace": namespace, "outbox_dir": box, "client_options": {"compression.type": "none"}}
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY, flush_interval_ms=3_600_000, **given))
    for number in range(400):
        emitter.record_route_attempt("answer", "api", f"run-{number:054}")
    emitter.close(2)
    until(lambda: not emitter.health().running)
    later = Emitter(EmitterSettings(bootstrap_servers=kafka, **given))
    until(lambda: later.health().outboxes_adopted == 1)
    assert later.close(10).complete
    decoded = [decode("event_batch", each.value()) for each in read_records(kafka, topic)]
    found = [batch for batch in decoded if batch["emitter"]["emitter_id"] == emitter.emitter_id]
    last = max(found, key=lambda batch: int(batch["batch_seq"]))
    assert last["closing"]
    assert lost_by_cause(last) == {"route_attempt": {"too_large": 400 - held(found)["route_attempt"]}}
    assert dropped(last)["route_attempt"] > 0


def test_two_topics_may_share_a_folder_and_nothing_goes_to_the_wrong_one(
    make: Make, kafka: str, topics: Topics, namespace: str, box: Path, batches: Batches
) -> None:
    other = Topics(f"{namespace}x", events_partitions=1, table_partitions=1)
    create_topics(kafka, other)
    left = Emitter(EmitterSettings(bootstrap_servers=NOBODY, namespace=other.namespace, outbox_dir=box))
    left.record_route_attempt("answer")
    left.close(0.1)
    until(lambda: not left.health().running)
    adopt_all(make, box, topics)
    assert left.emitter_id not in batches()
    assert [path.name for path in (box / other.events.name).iterdir()] == [left.emitter_id]


def test_drops_of_every_host_add_up_over_restarts(
    kafka: str, topics: Topics, box: Path, tmp_path: Path, make: Make, batches: Batches
) -> None:
    """A buffer of a hundred events: most calls are dropped, and still every one is accounted for after a kill."""
    for _ in range(2):
        host = KillableHost(
            NOBODY, topics.namespace, box, tmp_path / "journals", threads=3, pause_s=0, buffer_limit=100
        )  # fmt: skip
        time.sleep(1.5)
        host.kill()
    adopt_all(make, box, topics)
    lost = assert_journals_are_accounted_for(tmp_path / "journals", batches(), threads=3)
    assert lost["buffer_full"] > 0
    assert set(lost) <= {"buffer_full", "host_died"}


def test_forks_in_the_middle_of_traffic_leave_every_process_its_own_exact_account(
    kafka: str, topics: Topics, box: Path, make: Make, batches: Batches
) -> None:
    program = textwrap.dedent("""
        import os, sys, threading, time
        from pathlib import Path
        from unmask.producers import Emitter, EmitterSettings
        emitter = Emitter(EmitterSettings(bootstrap_servers=sys.argv[1], namespace=sys.argv[2],
                                          outbox_dir=Path(sys.argv[3]), flush_interval_ms=5, urgent_spacing_ms=0))
        running = True
        counts = [0] * 3
        def traffic(slot):
            while running:
                emitter.record_route_attempt("parent")
                emitter.record_fallback("parent", "timed out")
                counts[slot] += 1
                time.sleep(0.0005)
        threads = [threading.Thread(target=traffic, args=(slot,)) for slot in range(3)]
        for thread in threads:
            thread.start()
        pids = []
        for number in range(12):
            time.sleep(0.05)
            pid = os.fork()
            if pid == 0:
                for _ in range(7):
                    emitter.record_route_attempt("child")
                assert emitter.health().outbox.state == "on", emitter.health()
                if number % 3 == 0:
                    os.kill(os.getpid(), 9)
                assert emitter.close(30).complete
                os._exit(0)
            pids.append(pid)
        statuses = [os.waitpid(pid, 0)[1] for pid in pids]
        assert statuses == [9 if number % 3 == 0 else 0 for number in range(12)], statuses
        running = False
        for thread in threads:
            thread.join()
        report = emitter.close(30)
        assert report.complete, report
        assert sum(counts) == list(report.delivered.values())[0]
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, kafka, topics.namespace, str(box)], capture_output=True, text=True, timeout=90
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    adopt_all(make, box, topics)
    found = batches()
    children = [each for each in found.values() if each[-1]["accounts"] and len(each[-1]["accounts"]) == 1]
    assert len(children) == 12
    assert all(account_faults(each) == [] and each[-1]["closing"] for each in found.values())
    assert [(held(each) + dropped(each[-1]))["route_attempt"] for each in children] == [7] * 12


def test_a_child_that_records_before_anybody_else_is_told_of_the_fork_counts_for_itself(
    kafka: str, topics: Topics, box: Path, make: Make, batches: Batches
) -> None:
    program = textwrap.dedent("""
        import os, sys
        emitter = None
        # Registered before the emitter's own: it runs first in the child.
        os.register_at_fork(after_in_child=lambda: emitter.record_route_attempt("early"))
        from pathlib import Path
        from unmask.producers import Emitter, EmitterSettings
        emitter = Emitter(EmitterSettings(bootstrap_servers=sys.argv[1], namespace=sys.argv[2],
                                          outbox_dir=Path(sys.argv[3]), flush_interval_ms=60_000))
        emitter.record_route_attempt("parent")
        pid = os.fork()
        if pid == 0:
            assert emitter.close(20).complete
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        os.kill(os.getpid(), 9)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, kafka, topics.namespace, str(box)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (-9, "", "")
    adopt_all(make, box, topics)
    found = batches()
    recorded = sorted(
        ([each["recorded"] for each in series[-1]["accounts"]], len(held(series))) for series in found.values()
    )
    assert recorded == [([], 0), ([1], 0), ([1], 1)]
