"""What may happen to the log itself: its head trimmed, its topic made anew, records in it that nobody can read."""

import hashlib
import os
import signal
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic  # type: ignore[attr-defined]  # re-exported without saying so
from tests.integration.streams.ledger.rig import Hosts, Rig, now, wait_until
from tests.unit.streams.ledger.emitting import Life

from unmask.schemas.codec import MAGIC, encode
from unmask.schemas.errors import RegistryUnavailable
from unmask.schemas.framing import SingleObjectFraming
from unmask.streams.ledger.errors import PartitionsAdded
from unmask.streams.ledger.service import LedgerService, LogRewound, QuarantineFlood

pytestmark = pytest.mark.integration

CANARIES = (b"sk-live-4f9a8b7c6d5e4f3a2b1c", b"canary.person@example.org", b"https://canary.example.org/x?token=abc")


def _served(rig: Rig, **settings: Any) -> LedgerService:
    service = LedgerService(rig.settings(**settings), rig.topics)
    service.start()
    return service


def _ends_with(service: LedgerService, kind: type[BaseException]) -> BaseException:
    wait_until(lambda: service.status().error is not None, f"the ledger ends with {kind.__name__}")
    error = service.status().error
    assert isinstance(error, kind), error
    assert not service.status().ready
    assert service.status().reason == str(error)
    return error


def test_records_that_were_deleted_unread_are_skipped_flaws_and_the_rest_counts(rig: Rig) -> None:
    life = Life("emitter-x", now(), heartbeat_ms=60_000)
    worker = rig.worker("a")
    for _ in range(10):
        life.attempt(now(), 2)
        rig.send(life.cut(now()), partition=1)
    rig.settle()
    worker.end(signal.SIGTERM)
    for _ in range(10):
        life.attempt(now(), 2)
        rig.send(life.cut(now()), partition=1)
    rig.flush()
    events = rig.topics.events.name
    [answer] = rig.admin.delete_records([TopicPartition(events, 1, 15)]).values()
    assert answer.result().low_watermark == 15
    rig.worker("a")
    published = rig.settle()
    assert published.total("route_attempt") == 10 * 2 + 5 * 2
    skipped = published.flaws("skipped")
    assert {(flaw["partition"], flaw["from_seq"], flaw["to_seq"]) for flaw in skipped} == {(1, 10, 15)}
    assert all(flaw["scope"] is None and flaw["losses"] == [] for flaw in skipped)
    assert {loss["missing"] for flaw in published.flaws("gap") for loss in flaw["losses"]} == {10}


def test_a_log_that_was_deleted_to_its_end_is_skipped_while_nothing_new_comes(rig: Rig) -> None:
    life = Life("emitter-x", now())
    for _ in range(4):
        rig.send(life.cut(now()), partition=0)
    rig.flush()
    [answer] = rig.admin.delete_records([TopicPartition(rig.topics.events.name, 0, 4)]).values()
    assert answer.result().low_watermark == 4
    rig.worker("a", window_seconds=(60,))
    published = rig.settle()
    skipped = published.flaws("skipped")
    assert {(flaw["partition"], flaw["from_seq"], flaw["to_seq"]) for flaw in skipped} == {(0, 0, 4)}
    minute = 60_000_000
    assert (now() - 3 * minute) // minute * minute in {flaw["window_start"] for flaw in skipped}


def _make_anew(rig: Rig) -> None:
    spec = rig.topics.events
    rig.admin.delete_topics([spec.name])[spec.name].result()
    new = NewTopic(spec.name, spec.partitions, 1, config=spec.config)

    def made() -> bool:
        return rig.admin.create_topics([new])[spec.name].exception() is None

    wait_until(made, "the topic made anew")


@pytest.mark.parametrize("running", [True, False])
def test_a_topic_that_was_made_anew_ends_the_ledger_by_name(rig: Rig, running: bool) -> None:
    hosts = Hosts(rig, 2)
    service = _served(rig)
    hosts.stream(0.5)
    rig.settle()
    if not running:
        service.stop()
    _make_anew(rig)
    try:
        if not running:
            # So many that the new log is longer than what was counted: offsets alone would tell nothing.
            others = Hosts(rig, 6, "other")
            others.stream(1.5)
            service = _served(rig)
        error = _ends_with(service, LogRewound)
        assert "made anew" in str(error)
    finally:
        service.stop()


def _bad() -> list[tuple[bytes | None, bytes | None]]:
    """Fifty records that cannot be read, of every kind."""
    good = encode("event_batch", Life("emitter-a", now()).cut(now()))
    kinds: list[tuple[bytes | None, bytes | None]] = [
        (b"emitter-a", None), (b"emitter-a", b""), (b"emitter-a", os.urandom(40)), (b"emitter-a", MAGIC),
        (b"emitter-a", MAGIC + b"12345678"), (b"emitter-a", good[:-3]), (b"emitter-a", good + b"12345"),
        (None, good), (b"somebody-else", good), (CANARIES[1], CANARIES[0]),
    ]  # fmt: skip
    return kinds * 5


def test_fifty_bad_records_in_a_row_are_quarantined_once_each_and_the_partition_goes_on(rig: Rig) -> None:
    """Case C01."""
    hosts = Hosts(rig, 1)
    bad = _bad()
    hosts.send(hosts.lives[0], 3)
    for key, value in bad:
        rig.send_raw(key, value, partition=2)
    hosts.send(hosts.lives[0], 3)
    rig.flush()
    worker = rig.worker("a")
    worker.wait_ready(partitions=3)
    worker.end(signal.SIGKILL)
    rig.worker("a")
    hosts.close()
    published = rig.settle()
    assert published.total("route_attempt") == 6
    offsets = [(entry["partition"], entry["offset"]) for entry in published.quarantined]
    assert len(offsets) == len(set(offsets)) == 50
    assert {entry["reason"] for entry in published.quarantined} >= {
        "EMPTY_VALUE", "BAD_MAGIC", "UNKNOWN_FINGERPRINT", "TRUNCATED", "TRAILING_BYTES", "EMPTY_KEY",
    }  # fmt: skip
    digests = {entry["digest"] for entry in published.quarantined}
    assert digests == {hashlib.sha256(value or b"").hexdigest() for _, value in bad}
    flawed = {(flaw["partition"], flaw["from_seq"]) for flaw in published.flaws("quarantined")}
    assert flawed == set(offsets)


def test_a_flood_of_bad_records_stops_the_ledger_instead_of_diverting_everything(rig: Rig) -> None:
    hosts = Hosts(rig, 1)
    hosts.send(hosts.lives[0], 3)
    for number in range(1000):
        rig.send_raw(b"emitter-a", b"bad-%d" % number, partition=0)
    rig.flush()
    for _ in range(2):
        service = _served(rig)
        error = _ends_with(service, QuarantineFlood)
        service.stop()
        assert "1000 records in a row" in str(error)
        assert "BAD_MAGIC" in str(error)
        assert "--quarantine-limit" in str(error)
    rig.worker("a", quarantine_limit=2000)
    hosts.close()
    published = rig.settle()
    offsets = [entry["offset"] for entry in published.quarantined]
    assert len(offsets) == len(set(offsets)) == 1000
    assert published.total("route_attempt") == 3


def test_no_text_of_a_refused_record_is_in_any_topic_but_the_events(rig: Rig) -> None:
    """Case L01."""
    texts = [canary.decode() for canary in CANARIES]
    for number, canary in enumerate(CANARIES):
        rig.send_raw(canary, canary, partition=0)
        rig.send_raw(b"emitter-a", b"\xc3\x01" + canary, partition=1)
        life = Life(f"emitter-{number}", now())
        life.attempt(now(), capability=texts[number])
        life.masked(now(), session_id=texts[number], operation_id=texts[number])
        rig.send(life.cut(now()), partition=2)
        life.fallback(now(), tenant_id=texts[number], run_id=texts[number], conversation_id=texts[number])
        rig.send(life.cut(now()), partition=2)
    worker = rig.worker("a")
    published = rig.settle()
    assert len(published.quarantined) == 4 * len(CANARIES)
    for spec in rig.topics.all():
        records = [(key, value or b"") for _, key, value in rig.read(spec, "read_uncommitted")]
        found = {canary for canary in CANARIES for key, value in records if canary in key or canary in value}
        assert found == (set(CANARIES) if spec == rig.topics.events else set()), spec.name
    worker.end(signal.SIGTERM)
    assert not [line for line in worker.log if any(text in line for text in texts)]


def test_a_registry_that_fails_once_skips_and_quarantines_nothing(rig: Rig) -> None:
    """Case C02."""

    class Flaky(SingleObjectFraming):
        failures = 0

        def decode_any(self, records: tuple[str, ...], data: bytes | None) -> tuple[str, dict[str, Any]]:
            if Flaky.failures < 2:
                Flaky.failures += 1
                raise RegistryUnavailable("give the schema 7", "ConnectionResetError")
            return super().decode_any(records, data)

    hosts = Hosts(rig, 2)
    hosts.stream(0.3)
    hosts.close()
    service = LedgerService(rig.settings(), rig.topics, Flaky())
    service.start()
    try:
        rig.settle().exact(hosts)
        assert Flaky.failures == 2
    finally:
        service.stop()


@pytest.mark.chaos
def test_partitions_that_were_added_end_the_ledger_by_name(rig: Rig) -> None:
    service = _served(rig)
    try:
        wait_until(lambda: len(service.status().partitions) == 3, "three partitions read")
        name = rig.topics.events.name
        rig.admin.create_partitions([NewPartitions(name, 4)])[name].result()
        assert "start all workers" in str(_ends_with(service, PartitionsAdded))
    finally:
        service.stop()
