"""The store on a disk: kept before it is sent, read back in order, limited, and honest about a disk that fails."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.outbox_rig import FailingDisk, Host, assert_accounted_for, held

from unmask.producers.outbox.page import read_page
from unmask.producers.report import OutboxHealth, OutboxState
from unmask.schemas.codes import DropCause, Family

ATTEMPT, FALLBACK = Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path / "box")
    made.cut_and_keep()
    return made


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FailingDisk:
    failing = FailingDisk()
    monkeypatch.setattr("unmask.producers.outbox.store.Batches.commit", failing)
    return failing


def _health(host: Host) -> OutboxHealth:
    health = host.life.outbox_health()
    assert health is not None
    return health


def _state(host: Host) -> OutboxState:
    return _health(host).state


def test_a_batch_may_be_sent_only_when_it_is_on_the_disk(host: Host) -> None:
    host.deliver()
    host.record(times=3)
    host.life.cut()
    assert host.life.unacknowledged() == 1
    assert host.send() == []
    host.life.keep()
    (batch,) = host.send()
    assert batch.events == {ATTEMPT: 3}
    assert host.life.counts()[ATTEMPT].pending == 3


def test_a_delivered_batch_leaves_the_disk_and_an_idle_outbox_goes_with_its_life(host: Host) -> None:
    host.record(times=3)
    host.cut_and_keep(closing=True)
    host.deliver()
    host.life.settle()
    host.life.release()
    assert not host.folder.exists()
    assert_accounted_for(host.broker.of(host.life.emitter_id), host.recorded)


def test_far_more_batches_than_memory_holds_come_back_in_order_and_unchanged(host: Host) -> None:
    cut = {}
    for number in range(300):
        host.record(times=1 + number % 3)
        host.cut_and_keep()
        cut[host.life.batches_cut] = 1 + number % 3
    assert host.life.unacknowledged() == 301
    sent = []
    while host.life.unacknowledged():
        host.life.keep()
        for batch in host.send():
            sent.append(batch.batch_seq)
            host.arrive(batch.batch_seq)
    assert sent == list(range(1, 302))
    assert held(host.broker.of(host.life.emitter_id)) == {"route_attempt": host.recorded[ATTEMPT]}
    assert host.life.counts()[ATTEMPT].delivered == host.recorded[ATTEMPT]


def test_at_most_so_many_batches_are_on_their_way(tmp_path: Path) -> None:
    host = Host(tmp_path, in_flight=5)
    for _ in range(20):
        host.record()
        host.cut_and_keep()
    assert len(host.send()) == 5
    assert host.send() == []
    host.life.returned(3)
    del host.on_the_way[3]
    assert [batch.batch_seq for batch in host.send()] == [3]


def test_a_full_outbox_drops_counts_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    host = Host(tmp_path, max_bytes=20_000)
    host.cut_and_keep()
    for _ in range(20):
        host.record(times=500)
        host.record(FALLBACK)
        host.cut_and_keep()
        counts = host.life.counts()
        assert _health(host).bytes_kept <= 20_000
        for family in (ATTEMPT, FALLBACK):
            assert counts[family].recorded == host.recorded[family] == counts[family].pending + counts[family].lost
    assert _state(host) is OutboxState.FULL
    lost = host.life.counts()[ATTEMPT]
    assert set(lost.dropped) == {DropCause.OUTBOX_FULL}
    assert lost.pending >= 1_000
    while host.life.unacknowledged():
        host.deliver()
        host.life.keep()
    host.record(times=7)
    host.cut_and_keep(closing=True)
    assert _state(host) is OutboxState.ON
    host.deliver()
    assert_accounted_for(host.broker.of(host.life.emitter_id), host.recorded)


def test_what_is_too_old_is_dropped_and_counted_but_not_what_is_on_its_way(tmp_path: Path) -> None:
    host = Host(tmp_path, max_age_s=60, in_flight=2)
    for _ in range(200):
        host.record()
        host.cut_and_keep()
    host.send()
    host.nanoseconds += 61 * 10**9
    host.life.keep()
    count = host.life.counts()[ATTEMPT]
    assert (count.pending, dict(count.dropped)) == (2, {DropCause.OUTBOX_EXPIRED: 198})
    host.arrive(1)
    host.life.returned(2)
    host.life.keep()
    count = host.life.counts()[ATTEMPT]
    assert (count.delivered, count.pending, dict(count.dropped)) == (1, 0, {DropCause.OUTBOX_EXPIRED: 199})
    host.cut_and_keep(closing=True)
    host.on_the_way.clear()
    host.deliver()
    closing = host.broker.of(host.life.emitter_id)[-1]
    assert closing["accounts"] == [
        {"family": "route_attempt", "recorded": 200, "dropped": [{"cause": "outbox_expired", "count": 199}]}
    ]


def test_a_disk_that_takes_nothing_is_told_and_batches_go_out_from_memory(host: Host, disk: FailingDisk) -> None:
    host.deliver()
    disk.problem = "SQLITE_FULL"
    host.record(times=4)
    host.cut_and_keep()
    assert _health(host) == OutboxHealth(OutboxState.FAILING, "SQLITE_FULL", _health(host).bytes_kept)
    (batch,) = host.send()
    host.arrive(batch.batch_seq)
    assert host.life.counts()[ATTEMPT].delivered == 4


def test_memory_has_a_limit_and_the_disk_gets_what_it_refused_when_it_works_again(
    tmp_path: Path, disk: FailingDisk
) -> None:
    host = Host(tmp_path / "box", in_flight=3)
    host.cut_and_keep()
    disk.problem = "SQLITE_IOERR_WRITE"
    for _ in range(3):
        assert not host.life.stalled()
        host.record()
        host.cut_and_keep()
    assert host.life.stalled()
    disk.problem = None
    host.life.keep(at_once=True)
    assert not host.life.stalled()
    assert _state(host) is OutboxState.ON
    crashed = host.crash(tmp_path / "later")
    assert_accounted_for(crashed.bring_to_its_end(), host.recorded)


def test_what_the_disk_refused_to_the_end_is_dropped_as_that_and_told_by_the_adopter(
    tmp_path: Path, disk: FailingDisk
) -> None:
    host = Host(tmp_path / "box")
    host.record(times=2)
    host.cut_and_keep()
    disk.problem = "SQLITE_FULL"
    host.record(times=5)
    host.cut_and_keep(closing=True)
    host.life.settle()
    report = host.life.report()
    assert report.pending[ATTEMPT] == 2
    assert report.dropped[ATTEMPT] == {DropCause.DISK_FAILED: 5}
    host.life.release()
    disk.problem = None
    crashed = host.crash(tmp_path / "later")
    batches = crashed.bring_to_its_end()
    assert held(batches) == {"route_attempt": 2}
    assert batches[-1]["closing"]
    assert batches[-1]["accounts"] == [
        {"family": "route_attempt", "recorded": 7, "dropped": [{"cause": "disk_failed", "count": 5}]}
    ]


def test_what_died_in_memory_while_the_disk_failed_is_counted_by_the_adopter(tmp_path: Path, disk: FailingDisk) -> None:
    host = Host(tmp_path / "box")
    host.cut_and_keep()
    disk.problem = "SQLITE_FULL"
    host.record(times=5)
    host.cut_and_keep()
    host.record(times=3)
    crashed = host.crash(tmp_path / "later")
    disk.problem = None
    last = crashed.bring_to_its_end()[-1]
    assert last["accounts"] == [
        {
            "family": "route_attempt",
            "recorded": 8,
            "dropped": [{"cause": "disk_failed", "count": 5}, {"cause": "host_died", "count": 3}],
        }
    ]


def test_closing_with_a_broker_away_leaves_everything_to_the_next_start(host: Host, tmp_path: Path) -> None:
    host.record(times=6)
    host.life.cut(closing=True)
    host.life.settle()
    host.life.release()
    report = host.life.report()
    assert (report.pending[ATTEMPT], report.dropped[ATTEMPT], report.closed) == (6, {}, False)
    batches = host.crash(tmp_path / "later").bring_to_its_end()
    assert [batch["closing"] for batch in batches] == [False, True]
    assert_accounted_for(batches, host.recorded)


def test_a_deleted_folder_is_noticed_and_what_cannot_be_sent_any_more_is_counted_at_the_end(host: Host) -> None:
    host.record(times=6)
    host.cut_and_keep()
    shutil.rmtree(host.folder)
    host.passed += 10
    host.record(times=2)
    host.cut_and_keep()
    assert _state(host) is OutboxState.GONE
    # As long as it runs nothing is lost by it.
    assert sum(sum(batch.events.values()) for batch in host.send()) == 8
    host.life.settle()
    assert host.life.report().dropped[ATTEMPT] == {DropCause.DISK_FAILED: 8}
    host.life.release()
    assert list(host.above.iterdir()) == []


def test_a_damaged_file_is_begun_anew_and_only_what_it_alone_held_is_lost(tmp_path: Path) -> None:
    host = Host(tmp_path / "box", in_flight=2)
    host.cut_and_keep()
    for _ in range(200):
        host.record()
        host.cut_and_keep()
    in_memory = 64
    host.life._store._file.close()  # type: ignore[attr-defined]
    host.life._store._file = None  # type: ignore[attr-defined]
    (host.folder / "batches.db").write_bytes(b"this is no database at all, and long enough to look like one" * 100)
    (host.folder / "batches.db-wal").unlink(missing_ok=True)
    host.record()
    host.life.cut()
    for _ in range(3):
        host.life.keep(at_once=True)
    assert _state(host) is OutboxState.ON
    count = host.life.counts()[ATTEMPT]
    assert count.recorded == 201
    assert count.dropped == {DropCause.DISK_FAILED: 200 - in_memory + 1}
    assert count.pending == in_memory
    crashed = host.crash(tmp_path / "later")
    batches = crashed.bring_to_its_end()
    assert held(batches) == {"route_attempt": in_memory}
    assert {each["cause"] for each in batches[-1]["accounts"][0]["dropped"]} == {"disk_failed"}


def test_a_batch_whose_bytes_were_damaged_is_not_sent_but_counted(tmp_path: Path) -> None:
    host = Host(tmp_path / "box")
    for _ in range(3):
        host.record(times=2)
        host.cut_and_keep()
    crashed = host.crash(tmp_path / "later")
    with sqlite3.connect(crashed.folder / "batches.db") as database:
        database.execute("UPDATE batches SET data = zeroblob(size) WHERE seq = 2")
    database.close()
    batches = crashed.bring_to_its_end()
    assert [batch["batch_seq"] for batch in batches] == [1, 3, 4]
    assert batches[-1]["accounts"][0]["dropped"] == [{"cause": "disk_failed", "count": 2}]


def test_the_page_knows_what_was_recorded_at_every_moment(host: Host) -> None:
    for times in (1, 5_000, 20_000):
        host.record(times=times)
        reading = read_page(host.folder / "page")
        assert reading is not None
        assert reading.recorded[ATTEMPT] == host.recorded[ATTEMPT]
        assert reading.newest == host.nanoseconds // 1_000


def test_the_space_of_a_drained_outbox_is_given_back(host: Host) -> None:
    for _ in range(60):
        host.record(times=9_000)
        host.cut_and_keep()
    host.life.keep()
    grown = sum(path.stat().st_size for path in host.folder.iterdir())
    while host.life.unacknowledged():
        host.deliver()
        host.life.keep(at_once=True)
    host.passed += 100
    host.life.keep(at_once=True)
    assert sum(path.stat().st_size for path in host.folder.iterdir()) < grown / 10
