"""Outboxes of earlier SDKs are taken to their end, and earlier SDKs find nothing in ours that they could spoil."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.outbox_rig import START, Broker, Crashed, Host, assert_accounted_for, held
from tests.unit.producers.outbox import earlier_sdk

from unmask.producers.outbox.page import read_page
from unmask.producers.outbox.standing import FIRST_STANDING_BYTES, Standing
from unmask.producers.outbox.store import Limits
from unmask.producers.testing import account_faults, events_in, lost_by_cause
from unmask.schemas.codec import MAGIC, encode
from unmask.schemas.codes import Family
from unmask.schemas.history import published

ATTEMPT, FALLBACK, SELECTION = Family.ROUTE_ATTEMPT, Family.KERNEL_FALLBACK, Family.ROUTE_SELECTION
EFFECT, PROGRESS = Family.DELEGATION_EFFECT, Family.DELEGATION_PROGRESS
START_US = START // 1_000
FIRST_VERSION = MAGIC + published("event_batch")[0].fingerprint


def _batch(seq: int, accounts: dict[str, int], attempts: int, fallbacks: int) -> dict[str, Any]:
    at = START_US + seq * 1_000
    fallback = {
        "event_type": "kernel_fallback.v1", "occurred_at": at, "capability": "answer", "reason_code": "timeout",
        "route_expected": "kernel", "runtime_route": "legacy", "entry_point": None, "run_id": None, "tenant_id": None,
        "conversation_id": None, "session_id": None, "operation_id": None,
    }  # fmt: skip
    scope = dict.fromkeys(
        ("release_line", "event_contract", "telemetry_backend", "redaction_policy", "switchboard"), "x"
    )
    group = {"capability": "answer", "entry_point": "api", "occurred_at": [at] * attempts, "run_id": []}
    return {
        "emitter": {
            "emitter_id": "e" * 32, "started_at": START_US, "scope": scope, "heartbeat_ms": 10_000, "sdk": "earlier",
        },
        "batch_seq": seq, "sent_at": at, "closing": False,
        "accounts": [{"family": family, "recorded": count, "dropped": []} for family, count in accounts.items()],
        "route_attempts": [group] if attempts else [], "kernel_fallbacks": [fallback] * fallbacks, "masked_errors": [],
        "session_openings": [], "session_teardowns": [],
    }  # fmt: skip


@pytest.fixture
def left(tmp_path: Path) -> Crashed:
    """Batch 1 was delivered; 2 and 3 were not. Two attempts and one teardown came after the last cut."""
    batches = [
        _batch(2, {"route_attempt": 3}, 3, 0),
        _batch(3, {"route_attempt": 5, "kernel_fallback": 1}, 2, 1),
    ]
    standing = earlier_sdk.pack_standing(
        9, 3, batches[-1]["sent_at"], batches[-1]["sent_at"] + 500, partition=4, cut=(5, 1, 0, 0), in_file=(5, 1, 0, 0)
    )
    above = tmp_path / "box"
    earlier_sdk.leave_a_life(
        above / ("e" * 32), [(batch, encode("event_batch", batch)) for batch in batches], standing, (7, 1, 0, 1)
    )
    broker = Broker()
    broker.batches["e" * 32] = {1: encode("event_batch", _batch(1, {}, 0, 0))}
    seconds = iter(range(10**6))
    return Crashed(
        above, "e" * 32, broker, lambda: START + 3_600 * 10**9, Limits(10**9, 10**12), lambda: float(next(seconds))
    )


def test_an_outbox_of_an_earlier_sdk_is_sent_and_accounted_for_to_its_end(left: Crashed) -> None:
    life = left.adopt()
    assert life.partition == 4
    while left.step(life):
        pass
    assert not left.folder.exists()
    batches = left.broker.of("e" * 32)
    assert [batch["batch_seq"] for batch in batches] == [1, 2, 3, 4]
    assert batches[-1]["closing"]
    assert lost_by_cause(batches[-1]) == {"route_attempt": {"host_died": 2}, "session_teardown": {"host_died": 1}}
    assert account_faults(batches) == []
    # Nothing new is said, and so everything is in the first version.
    assert {data[: len(FIRST_VERSION)] for data in left.broker.batches["e" * 32].values()} == {FIRST_VERSION}


def test_an_adoption_of_it_that_is_broken_off_is_gone_on_with(left: Crashed, tmp_path: Path) -> None:
    life = left.adopt()
    left.step(life, at_most=1)
    life.keep(at_once=True)
    again = left.copy(tmp_path / "again")
    # An earlier SDK would find what it knows there, too.
    assert list(earlier_sdk.batches_of(again.folder)) == [3]
    stands = earlier_sdk.standing_of(again.folder)
    assert stands is not None
    assert stands[1:2] == (3,)
    batches = again.bring_to_its_end()
    assert account_faults(batches) == []
    assert lost_by_cause(batches[-1]) == {"route_attempt": {"host_died": 2}, "session_teardown": {"host_died": 1}}


def test_a_damaged_file_of_an_earlier_sdk_is_read_as_far_as_it_can_be(left: Crashed) -> None:
    file = left.folder / "batches.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    # Put aside, as a damaged one is; what can be read of it is taken over by the next opener.
    file.rename(left.folder / "broken-0.db")
    batches = left.bring_to_its_end()
    assert [batch["batch_seq"] for batch in batches] == [1, 2, 3, 4]
    assert account_faults(batches) == []


def _host_with_everything(tmp_path: Path, **settings: Any) -> Host:
    host = Host(tmp_path / "box", **settings)
    host.cut_and_keep()
    host.record(times=3)
    host.record(SELECTION, times=2)
    host.cut_and_keep()
    host.record(FALLBACK)
    host.record(PROGRESS, times=4)
    host.cut_and_keep()
    return host


def test_what_died_with_the_host_is_told_of_the_further_families_too(tmp_path: Path) -> None:
    host = _host_with_everything(tmp_path)
    host.record(EFFECT, times=3)
    host.record(SELECTION)
    batches = host.crash(tmp_path / "later").bring_to_its_end()
    assert lost_by_cause(batches[-1]) == {"route_selection": {"host_died": 1}, "delegation_effect": {"host_died": 3}}
    assert_accounted_for(batches, host.recorded)
    assert held(batches)["delegation_progress"] == 4
    assert batches[-1]["witnesses"] == ["route_selection", "delegation_progress", "delegation_effect"]


def test_a_family_that_was_declared_is_witnessed_to_the_end_although_nothing_of_it_happened(tmp_path: Path) -> None:
    host = Host(tmp_path / "box", witnesses=("delegation_effect",))
    host.cut_and_keep()
    batches = host.crash(tmp_path / "later").bring_to_its_end()
    assert [batch["witnesses"] for batch in batches] == [["delegation_effect"]] * 2
    assert batches[-1]["closing"]


def test_an_earlier_sdk_finds_every_batch_undamaged_and_no_page_that_it_could_close_the_emitter_with(
    tmp_path: Path,
) -> None:
    host = _host_with_everything(tmp_path)
    host.life.keep(at_once=True)
    crashed = host.crash(tmp_path / "later")
    page = (crashed.folder / "page").read_bytes()
    assert not page.startswith(b"UNMASKP1")
    found = earlier_sdk.batches_of(crashed.folder)
    assert sorted(found) == [1, 2, 3]
    stands = earlier_sdk.standing_of(crashed.folder)
    assert stands is not None
    assert stands[1] == 3
    assert stands[4] == 2
    # Cut, in the file: 3 attempts and 1 fallback, as far as they know.
    assert stands[7:15] == (3, 1, 0, 0, 3, 1, 0, 0)


def test_where_an_earlier_sdk_has_been_in_the_meantime_the_rest_is_sent_and_nothing_is_claimed(tmp_path: Path) -> None:
    host = _host_with_everything(tmp_path)
    host.record(SELECTION, times=9)
    crashed = host.crash(tmp_path / "later")
    earlier_sdk.delete_batch(crashed.folder, 1)
    earlier_sdk.write_standing(
        crashed.folder,
        earlier_sdk.pack_standing(10**6, 3, START_US, START_US, partition=2, cut=(3, 1, 0, 0), in_file=(3, 1, 0, 0)),
    )
    batches = crashed.bring_to_its_end()
    assert [batch["batch_seq"] for batch in batches] == [2, 3]
    assert not any(batch["closing"] for batch in batches)


def test_events_of_further_families_come_back_from_the_file_with_their_counts(tmp_path: Path) -> None:
    host = _host_with_everything(tmp_path)
    crashed = host.crash(tmp_path / "later")
    life = crashed.adopt()
    pending = life._store.pending()
    assert pending == host.recorded
    life.abandon()


def test_a_count_of_further_families_that_is_damaged_gives_the_batch_up(tmp_path: Path) -> None:
    host = _host_with_everything(tmp_path)
    crashed = host.crash(tmp_path / "later")
    with closing(sqlite3.connect(crashed.folder / "batches.db", isolation_level=None)) as database:
        database.execute("UPDATE further SET route_selection = route_selection + 1 WHERE seq = 2")
    batches = crashed.bring_to_its_end()
    assert [batch["batch_seq"] for batch in batches] == [1, 3, 4]
    assert lost_by_cause(batches[-1])["route_attempt"] == {"disk_failed": 3}
    assert sum(events_in(batch)["delegation_progress"] for batch in batches) == 4


def test_a_page_of_neither_layout_and_a_standing_that_is_cut_off_are_none(tmp_path: Path) -> None:
    host = _host_with_everything(tmp_path)
    page = tmp_path / "page"
    shutil.copy(host.folder / "page", page)
    assert read_page(page) is not None
    data = page.read_bytes()
    page.write_bytes(b"UNMASKP3" + data[8:])
    assert read_page(page) is None
    page.write_bytes(data[:-1])
    assert read_page(page) is None
    packed = Standing(3, last_seq=2).pack()
    assert Standing.unpack(packed[:-1]) is None
    first = Standing.unpack(packed[:FIRST_STANDING_BYTES])
    assert first == Standing(3, last_seq=2, first_only=True)
