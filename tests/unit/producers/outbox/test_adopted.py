"""What an adopter makes of a dead emitter's outbox, at explicit instants."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.outbox_rig import START, Host, assert_accounted_for, held

from unmask.producers.outbox import page as page_module
from unmask.producers.outbox.adopted import died_with_the_host
from unmask.producers.outbox.page import read_page
from unmask.producers.report import FAMILIES
from unmask.producers.testing import account_faults, lost_by_cause
from unmask.schemas.codes import Family

ATTEMPT, MASKED = Family.ROUTE_ATTEMPT, Family.MASKED_ERROR
SECOND = 10**9


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path / "box")
    made.cut_and_keep()
    return made


@pytest.fixture
def later(tmp_path: Path) -> Path:
    return tmp_path / "later"


def test_what_was_left_goes_out_under_the_old_name_to_the_old_partition(host: Host, later: Path) -> None:
    host.deliver()
    host.record(times=3)
    host.cut_and_keep()
    host.record(MASKED)
    host.cut_and_keep()
    host.life.keep(at_once=True)
    crashed = host.crash(later)
    life = crashed.adopt()
    assert (life.emitter_id, life.partition) == (host.life.emitter_id, 2)
    while crashed.step(life):
        pass
    batches = crashed.broker.of(host.life.emitter_id)
    assert [batch["batch_seq"] for batch in batches] == [1, 2, 3, 4]
    assert [batch["emitter"] for batch in batches] == [host.life.identity.as_record()] * 4
    assert_accounted_for(batches, host.recorded)


def test_events_that_were_in_no_batch_on_the_disk_died_with_the_host(host: Host, later: Path) -> None:
    host.record(times=3)
    host.cut_and_keep()
    host.record(times=4)
    host.record(MASKED, times=2)
    host.life.cut()
    host.record(times=5)
    batches = host.crash(later).bring_to_its_end()
    assert lost_by_cause(batches[-1]) == {"route_attempt": {"host_died": 9}, "masked_error": {"host_died": 2}}
    assert_accounted_for(batches, host.recorded)


def test_an_idle_emitter_that_is_killed_is_closed_with_nothing_lost(host: Host, later: Path) -> None:
    host.record(times=3)
    host.cut_and_keep()
    host.deliver()
    host.nanoseconds += 5 * SECOND
    host.life.keep(at_once=True)
    crashed = host.crash(later)
    host.nanoseconds += 3_600 * SECOND
    (*_, last) = crashed.bring_to_its_end()
    assert lost_by_cause(last) == {}
    # It was there until it was last seen, and no longer.
    assert last["sent_at"] == (START + 5 * SECOND) // 1_000


def test_the_last_account_covers_the_newest_lost_event_and_ends_shortly_after_it(host: Host, later: Path) -> None:
    host.life.keep(at_once=True)
    host.nanoseconds += 90 * SECOND
    host.record()
    crashed = host.crash(later)
    host.nanoseconds += 3_600 * SECOND
    (*_, last) = crashed.bring_to_its_end()
    assert last["sent_at"] == (START + 91 * SECOND) // 1_000


def test_the_last_account_is_never_before_the_last_cut_nor_after_the_adoption(host: Host, later: Path) -> None:
    host.record()
    host.nanoseconds += 60 * SECOND
    host.cut_and_keep()
    cut_at = host.nanoseconds // 1_000
    host.record()
    # The host's clock is put back before somebody adopts.
    host.nanoseconds -= 50 * SECOND
    (*_, last) = host.crash(later).bring_to_its_end()
    assert last["sent_at"] == cut_at + 1
    assert lost_by_cause(last) == {"route_attempt": {"host_died": 1}}


def test_an_emitter_that_never_cut_a_batch_tells_of_itself_in_its_first_and_last(tmp_path: Path, later: Path) -> None:
    host = Host(tmp_path / "box")
    host.record(times=7)
    (batch,) = host.crash(later).bring_to_its_end()
    assert (batch["batch_seq"], batch["closing"]) == (1, True)
    assert lost_by_cause(batch) == {"route_attempt": {"host_died": 7}}
    assert_accounted_for([batch], host.recorded)


def test_an_emitter_that_did_nothing_at_all_leaves_nothing(tmp_path: Path, later: Path) -> None:
    assert Host(tmp_path / "box").crash(later).bring_to_its_end() == []


def test_a_closing_batch_that_was_on_the_disk_is_the_last(host: Host, later: Path) -> None:
    host.record(times=3)
    host.cut_and_keep(closing=True)
    batches = host.crash(later).bring_to_its_end()
    assert [batch["closing"] for batch in batches] == [False, True]
    assert_accounted_for(batches, host.recorded)


def test_a_closing_batch_that_was_delivered_before_others_is_the_last(host: Host, later: Path) -> None:
    host.record(times=3)
    host.cut_and_keep()
    host.cut_and_keep(closing=True)
    host.send()
    host.arrive(3)
    host.life.keep(at_once=True)
    crashed = host.crash(later)
    batches = crashed.bring_to_its_end()
    assert [batch["batch_seq"] for batch in batches] == [1, 2, 3]
    assert_accounted_for(batches, host.recorded)


def test_what_is_given_up_after_the_closing_batch_was_cut_is_told_by_one_more(tmp_path: Path, later: Path) -> None:
    host = Host(tmp_path / "box", max_age_s=60)
    host.record(times=3)
    host.cut_and_keep()
    host.record(times=2)
    host.cut_and_keep(closing=True)
    crashed = host.crash(later)
    host.nanoseconds += 3_600 * SECOND
    batches = crashed.bring_to_its_end()
    assert [(batch["batch_seq"], batch["closing"]) for batch in batches] == [(2, True), (3, True)]
    assert lost_by_cause(batches[-1]) == {"route_attempt": {"outbox_expired": 3}}
    assert held(batches) == {"route_attempt": 2}


def test_batches_that_were_acknowledged_but_not_deleted_yet_come_as_duplicates(host: Host, later: Path) -> None:
    host.record(times=3)
    host.cut_and_keep()
    host.deliver()
    crashed = host.crash(later)
    batches = crashed.bring_to_its_end()
    assert crashed.broker.duplicates > len(batches) - 2
    assert_accounted_for(batches, host.recorded)


def test_a_second_adopter_goes_on_where_the_first_one_died(host: Host, later: Path, tmp_path: Path) -> None:
    for _ in range(5):
        host.record(times=2)
        host.cut_and_keep()
    host.record(times=9)
    crashed = host.crash(later)
    for stage in range(8):
        life = crashed.adopt()
        crashed.step(life, at_most=1, acknowledged=stage % 2 == 0)
        again = crashed.copy(tmp_path / f"stage-{stage}")
        assert_accounted_for(again.copy(tmp_path / f"end-{stage}").bring_to_its_end(), host.recorded)
        crashed = again
    assert_accounted_for(crashed.bring_to_its_end(), host.recorded)


def test_what_is_too_old_at_its_adoption_is_told_in_the_last_account(tmp_path: Path, later: Path) -> None:
    host = Host(tmp_path / "box", max_age_s=60)
    for _ in range(100):
        host.record()
        host.cut_and_keep()
    host.record(times=2)
    crashed = host.crash(later)
    host.nanoseconds += 3_600 * SECOND
    (last,) = crashed.bring_to_its_end()
    assert last["batch_seq"] == 101
    assert lost_by_cause(last) == {"route_attempt": {"outbox_expired": 100, "host_died": 2}}


def test_after_a_restart_of_the_machine_nobody_claims_to_know_what_was_lost(
    host: Host, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page may not have reached the disk; the emitter then ends as a silent one, and its windows are lossy."""
    host.record(times=3)
    host.cut_and_keep()
    host.record(times=2)
    crashed = host.crash(later)
    monkeypatch.setattr(page_module, "boot_id", lambda: "another-run")
    batches = crashed.bring_to_its_end()
    assert held(batches) == {"route_attempt": 3}
    assert not any(batch["closing"] for batch in batches)


def test_a_page_that_knows_less_than_the_account_proves_nothing(host: Host, later: Path) -> None:
    host.record(times=3)
    host.cut_and_keep()
    crashed = host.crash(later)
    page = crashed.folder / "page"
    data = bytearray(page.read_bytes())
    head = len(data) // (1 + len(FAMILIES))
    data[head:] = bytes(len(data) - head)
    page.write_bytes(data)
    reading = read_page(page)
    assert reading is not None
    assert reading.standing is not None
    assert died_with_the_host(reading, reading.standing.totals) is None
    assert not any(batch["closing"] for batch in crashed.bring_to_its_end())


@pytest.mark.parametrize("damage", ["missing", "garbage", "empty", "cut short"])
def test_without_a_readable_page_the_batches_still_go_out(host: Host, later: Path, damage: str) -> None:
    host.record(times=3)
    host.cut_and_keep()
    crashed = host.crash(later)
    page = crashed.folder / "page"
    if damage == "missing":
        page.unlink()
    else:
        page.write_bytes({"garbage": os.urandom(90_000), "empty": b"", "cut short": page.read_bytes()[:5_000]}[damage])
    life = crashed.adopt()
    assert life.partition == 2
    while crashed.step(life):
        pass
    batches = crashed.broker.of(host.life.emitter_id)
    assert held(batches) == {"route_attempt": 3}
    assert not any(batch["closing"] for batch in batches)


@pytest.mark.parametrize("damage", ["missing", "garbage", "empty", "header"])
def test_without_a_readable_database_everything_in_it_is_counted(host: Host, later: Path, damage: str) -> None:
    host.deliver()
    host.record(times=3)
    host.record(MASKED)
    host.cut_and_keep()
    host.record(times=2)
    crashed = host.crash(later)
    for path in crashed.folder.glob("batches.db*"):
        if damage == "missing":
            path.unlink()
        elif damage == "header" and path.name == "batches.db":
            path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])
        elif damage != "header":
            path.write_bytes(os.urandom(20_000) if damage == "garbage" else b"")
    if damage == "header":
        (crashed.folder / "batches.db-wal").unlink(missing_ok=True)
    batches = crashed.bring_to_its_end()
    assert lost_by_cause(batches[-1]) == {
        "route_attempt": {"disk_failed": 3, "host_died": 2},
        "masked_error": {"disk_failed": 1},
    }
    assert batches[-1]["closing"]
    assert not list(later.iterdir())


def test_what_can_be_read_of_a_damaged_database_is_sent_and_the_rest_counted(host: Host, later: Path) -> None:
    for _ in range(200):
        host.record(times=50)
        host.cut_and_keep()
    # A clean end of the file first, so that all of it is in one place.
    host.life._store._file.close()  # type: ignore[attr-defined]
    crashed = host.crash(later)
    database = crashed.folder / "batches.db"
    data = bytearray(database.read_bytes())
    damaged = 4_096 * (len(data) // 4_096 // 2)
    data[damaged : damaged + 8_192] = os.urandom(8_192)
    database.write_bytes(data)
    batches = crashed.bring_to_its_end()
    arrived = held(batches)["route_attempt"]
    lost = lost_by_cause(batches[-1])["route_attempt"]
    assert 5_000 < arrived < 10_000
    assert lost == {"disk_failed": 10_000 - arrived}
    assert [fault for fault in account_faults(batches) if "follows" not in fault] == []


def test_an_adopter_that_died_while_it_rescued_loses_nothing_more(host: Host, later: Path, tmp_path: Path) -> None:
    for _ in range(20):
        host.record(times=5)
        host.cut_and_keep()
    host.life._store._file.close()  # type: ignore[attr-defined]
    crashed = host.crash(later)
    # It had put the file aside and come no further.
    for path in crashed.folder.glob("batches.db*"):
        path.rename(path.with_name(path.name.replace("batches", "broken-0")))
    again = crashed.copy(tmp_path / "again")
    assert_accounted_for(crashed.bring_to_its_end(), host.recorded)
    # Or it had read it, and come no further.
    life = again.adopt()
    shutil.copytree(host.folder, tmp_path / "aside")
    for path in (tmp_path / "aside").glob("batches.db*"):
        shutil.copy(path, again.folder / path.name.replace("batches", "broken-0"))
    once_more = again.copy(tmp_path / "once-more")
    assert_accounted_for(once_more.bring_to_its_end(), host.recorded)
    life.abandon()


def test_a_folder_that_holds_another_emitters_page_claims_nothing(host: Host, later: Path, tmp_path: Path) -> None:
    other = Host(tmp_path / "other")
    other.record(times=99)
    host.record(times=3)
    host.cut_and_keep()
    crashed = host.crash(later)
    shutil.copy(other.folder / "page", crashed.folder / "page")
    batches = crashed.bring_to_its_end()
    assert held(batches) == {"route_attempt": 3}
    assert not any(batch["closing"] for batch in batches)


def test_a_last_account_that_no_broker_takes_does_not_keep_the_adopter_busy_for_ever(host: Host, later: Path) -> None:
    crashed = host.crash(later)
    life = crashed.adopt()
    refused = 0
    for _ in range(5):
        life.keep()
        if not life.unacknowledged():
            if life.over:
                break
            life.cut_final()
            life.keep(at_once=True)
        while (batch := life.next_to_send()) is not None:
            life.refused_as_too_large(batch.batch_seq)
            refused += 1
    assert life.over
    assert refused == 2
    life.release()
    assert not crashed.folder.exists()


def test_a_disk_that_cannot_even_be_read_leaves_everything_for_a_later_try(
    host: Host, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.record(times=3)
    host.cut_and_keep()
    crashed = host.crash(later)

    def refused(*_: object, **__: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorname = "SQLITE_IOERR_READ"
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("unmask.producers.outbox.batches.sqlite3.connect", refused)
        with pytest.raises(sqlite3.OperationalError):
            crashed.adopt()
    assert_accounted_for(crashed.bring_to_its_end(), host.recorded)
