"""The gate and its view against a real broker: fresh, bounded, and refusing where it cannot know."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from unmask.consumers.gate import (
    AdmissionAnswer,
    Gate,
    NoRecord,
    Recorded,
    Unread,
    VerdictNotReady,
    VerdictView,
    read_enforcement,
    verdict_source,
)
from unmask.consumers.testing import clean_verdict, degraded_verdict, failed_verdict
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import decode, encode
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration

Put = Callable[..., None]


@pytest.fixture(params=[True, False], ids=["live", "one-shot"])
def gate(request: pytest.FixtureRequest, kafka: str, namespace: str) -> Iterator[Gate]:
    with Gate(kafka, namespace, live=request.param) as opened:
        yield opened


def session_on(partition: int, partitions: int = 3) -> str:
    """A session id that hashes to a partition."""
    return next(f"s{n}" for n in range(10_000) if partition_for(f"s{n}", partitions) == partition)


def nothing_yet(reader: TopicReader, timeout: float) -> list[Row]:
    """A read of a broker that takes its time."""
    time.sleep(0.05)
    return []


def admissions(kafka: str, topics: Topics) -> list[dict[str, Any]]:
    """All admission records that stand on the broker, by time."""
    source = TopicSource(topics.admissions.name, kafka, compacted=False)
    rows: list[Row] = []
    with TopicReader(source, timeout=10) as reader:
        deadline = time.monotonic() + 10
        while not reader.caught_up and time.monotonic() < deadline:
            rows.extend(reader.read(0.1))
    assert all(row.key for row in rows)
    return sorted((decode("admission", row.value) for row in rows), key=lambda record: record["occurred_at"])


def test_a_verdict_is_answered_and_the_newest_decides(gate: Gate, publish_verdicts: Put) -> None:
    publish_verdicts(clean_verdict("s-1"), degraded_verdict("s-2"), failed_verdict("s-3"))
    assert gate.admit("s-1").answer is AdmissionAnswer.ADMITTED
    assert gate.admit("s-2").answer is AdmissionAnswer.RECONCILE_FIRST
    assert gate.admit("s-3").answer is AdmissionAnswer.HALTED
    assert gate.admit("s-4").answer is AdmissionAnswer.NO_VERDICT
    # No waiting in between: the end offset is taken at the question.
    publish_verdicts(failed_verdict("s-1"))
    assert gate.admit("s-1").answer is AdmissionAnswer.HALTED
    publish_verdicts(clean_verdict("s-1"))
    assert gate.admit("s-1").answer is AdmissionAnswer.ADMITTED


def test_the_gate_finds_a_session_under_the_identifier_that_was_published_for_it(
    gate: Gate, publish_verdicts: Put
) -> None:
    raw = "session of ana@example.org"
    admission = gate.admit(raw)
    assert admission.answer is AdmissionAnswer.NO_VERDICT
    assert admission.session_id.startswith("sha256-")
    publish_verdicts(clean_verdict(admission.session_id))
    assert gate.admit(raw).answer is AdmissionAnswer.ADMITTED


def test_withdrawn_and_empty_are_not_the_same(gate: Gate, topics: Topics, publish: Put, publish_verdicts: Put) -> None:
    """V06: a null value is a withdrawal, an empty one is no verdict."""
    publish_verdicts(clean_verdict("s-null"), clean_verdict("s-empty"))
    publish(topics.verdicts.name, [("s-null", None), ("s-empty", b"")])
    assert gate.admit("s-null").answer is AdmissionAnswer.WITHDRAWN
    empty = gate.admit("s-empty")
    assert empty.answer is AdmissionAnswer.UNVERIFIABLE
    assert "EMPTY_VALUE" in empty.reason


@pytest.mark.parametrize(
    "value", [b"nonsense", b"\xc3\x01" + bytes(8) + b"body", encode("verdict", clean_verdict("s-1")) + b"tail"]
)
def test_bytes_that_are_no_verdict_never_admit(gate: Gate, topics: Topics, publish: Put, value: bytes) -> None:
    publish(topics.verdicts.name, [("s-1", encode("verdict", clean_verdict("s-1"))), ("s-1", value)])
    assert gate.admit("s-1").answer is AdmissionAnswer.UNVERIFIABLE


def test_a_verdict_replayed_under_another_sessions_key_never_admits(gate: Gate, topics: Topics, publish: Put) -> None:
    publish(topics.verdicts.name, [("s-2", encode("verdict", clean_verdict("s-1")))])
    assert gate.admit("s-2").answer is AdmissionAnswer.UNVERIFIABLE


def test_a_view_is_ready_only_at_the_end_offset_taken_at_its_start(
    kafka: str, topics: Topics, publish_verdicts: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V03: 10 000 verdicts, a deleted head, a broker that gives little at a time, and polls that come back empty."""
    monkeypatch.setenv("UNMASK_KAFKA_MAX_PARTITION_FETCH_BYTES", "20000")
    sessions = [f"s-{number}" for number in range(10_000)]
    publish_verdicts(*(clean_verdict(session) for session in sessions))
    admin = AdminClient({"bootstrap.servers": kafka})
    cut = 1_000
    for answer in admin.delete_records([TopicPartition(topics.verdicts.name, p, cut) for p in range(3)]).values():
        assert answer.result().low_watermark == cut

    polls = 0
    read = TopicReader.read

    def slowly(self: TopicReader, timeout: float) -> list[Row]:
        nonlocal polls
        polls += 1
        time.sleep(0.005)
        return [] if polls <= 20 else read(self, timeout)

    monkeypatch.setattr(TopicReader, "read", slowly)
    source = verdict_source(kafka, topics.namespace)
    ends = source.end_offsets(range(3), 5)
    assert sum(ends.values()) == 10_000
    with VerdictView(source) as view:
        assert isinstance(view.entry("s-1"), Unread)
        with pytest.raises(VerdictNotReady, match="offsets left"):
            view.wait_ready(0.06)
        early = 0
        while not view.ready:
            # As long as it is not ready, it says so, and does not call a session that it has not read unknown.
            early += isinstance(view.entry("s-9999"), Unread)
            time.sleep(0.01)
        assert early > 0
        assert polls > 20
        assert all(view.position(partition) >= end for partition, end in ends.items())
        assert view.size == 10_000 - 3 * cut
        found = sum(isinstance(view.entry(session), Recorded) for session in sessions)
        gone = sum(isinstance(view.entry(session), NoRecord) for session in sessions)
        assert (found, gone) == (7_000, 3_000)
        assert isinstance(view.entry("s-9999"), Recorded)


def test_a_view_gets_ready_where_the_last_offsets_hold_no_record(
    kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    """A transaction's marker and what was aborted stand at the end: nothing will ever be delivered from there."""
    publish_verdicts(clean_verdict("s-1"))
    writer = Producer(
        {"bootstrap.servers": kafka, "transactional.id": topics.namespace, "partitioner": "murmur2_random"}
    )
    writer.init_transactions(10)
    writer.begin_transaction()
    writer.produce(topics.verdicts.name, key="s-1", value=encode("verdict", failed_verdict("s-1")))
    writer.flush(10)
    writer.abort_transaction(10)
    source = verdict_source(kafka, topics.namespace)
    with VerdictView(source) as view:
        view.wait_ready(10)
        entry = view.entry("s-1")
        assert isinstance(entry, Recorded)
        assert entry.verdict["verdict"] == "CLEAN_SUCCESS"


def test_a_gate_before_its_topic_exists_waits_names_the_cause_and_opens_when_it_appears(
    gate: Gate, kafka: str, namespace: str
) -> None:
    """V05: the wait is bounded, and the cause is named."""
    began = time.monotonic()
    admission = gate.admit("s-1", timeout=1.0)
    assert time.monotonic() - began < 2.5
    assert admission.answer is AdmissionAnswer.NOT_READY
    assert f"{namespace}.verdicts does not exist" in admission.reason
    assert "unmask topics create" in admission.reason
    create_topics(kafka, Topics(namespace, events_partitions=1, table_partitions=3))
    assert gate.admit("s-1", timeout=10).answer is AdmissionAnswer.NO_VERDICT


def test_a_view_before_its_topic_exists_gets_ready_when_it_appears(kafka: str, namespace: str) -> None:
    with VerdictView(verdict_source(kafka, namespace)) as view:
        with pytest.raises(VerdictNotReady, match="does not exist"):
            view.wait_ready(1.0)
        assert isinstance(view.entry("s-1"), Unread)
        create_topics(kafka, Topics(namespace, events_partitions=1, table_partitions=3))
        view.wait_ready(10)
        assert isinstance(view.entry("s-1"), NoRecord)


def test_a_verdict_topic_that_is_not_compacted_is_never_trusted(
    gate: Gate, kafka: str, namespace: str, publish: Put
) -> None:
    name = Topics(namespace).verdicts.name
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(name, 3, 1, config={"cleanup.policy": "delete"})])[name].result()
    publish(name, [("s-1", encode("verdict", clean_verdict("s-1")))])
    admission = gate.admit("s-1")
    assert admission.answer is AdmissionAnswer.NOT_READY
    assert "cleanup.policy=delete" in admission.reason


def test_a_gate_whose_broker_is_down_is_not_ready_and_says_so_in_time(namespace: str) -> None:
    with Gate("127.0.0.1:1", namespace) as gate:
        began = time.monotonic()
        admission = gate.admit("s-1", timeout=1.0)
        assert time.monotonic() - began < 2.0
        assert admission.answer is AdmissionAnswer.NOT_READY
        assert "127.0.0.1:1" in admission.reason
        assert asyncio.run(gate.aadmit("s-1", timeout=0.5)).answer is AdmissionAnswer.NOT_READY
        gate.close(timeout=0.5)


def test_a_gate_that_is_asked_before_it_has_read_is_not_ready_and_does_not_say_no_verdict(
    gate: Gate, publish_verdicts: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V09: not ready is not the same as no verdict."""
    publish_verdicts(clean_verdict("s-1"))
    with monkeypatch.context() as slow:
        slow.setattr(TopicReader, "read", nothing_yet)
        admission = gate.admit("s-1", timeout=1.0)
        assert admission.answer is AdmissionAnswer.NOT_READY
        assert "offsets left" in admission.reason
    assert gate.admit("s-1", timeout=10).answer is AdmissionAnswer.ADMITTED


def test_a_loaded_gate_does_not_answer_from_memory_once_its_broker_is_gone(
    jvm_broker: Callable[..., Any], namespace: str
) -> None:
    broker = jvm_broker()
    made = Topics(namespace, events_partitions=1, table_partitions=1)
    create_topics(broker.bootstrap, made)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(made.verdicts.name, key="s-1", value=encode("verdict", clean_verdict("s-1")))
    assert producer.flush(10) == 0
    with Gate(broker.bootstrap, namespace) as gate:
        assert gate.admit("s-1", timeout=10).admitted
        broker.kill()
        began = time.monotonic()
        assert gate.admit("s-1", timeout=1.5).answer is AdmissionAnswer.NOT_READY
        assert time.monotonic() - began < 3
        gate.close(timeout=0.2)


def test_a_topic_that_was_made_anew_is_read_anew(kafka: str, namespace: str, publish: Put) -> None:
    made = Topics(namespace, events_partitions=1, table_partitions=1)
    create_topics(kafka, made)
    verdict = encode("verdict", clean_verdict("s-1"))
    publish(made.verdicts.name, [("s-1", verdict)] * 5)
    admin = AdminClient({"bootstrap.servers": kafka})
    with Gate(kafka, namespace) as gate:
        assert gate.admit("s-1", timeout=10).admitted
        admin.delete_topics([made.verdicts.name], operation_timeout=10)[made.verdicts.name].result()
        # The broker serves a deleted topic for a moment still.
        deadline = time.monotonic() + 10
        while (answer := gate.admit("s-1", timeout=1).answer) is AdmissionAnswer.ADMITTED:
            assert time.monotonic() < deadline
        assert answer is AdmissionAnswer.NOT_READY
        create_topics(kafka, made)
        assert gate.admit("s-1", timeout=10).answer is AdmissionAnswer.NO_VERDICT


def test_another_client_family_puts_a_session_where_the_gate_looks(
    gate: Gate, kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    sessions = [f"s-{number}" for number in range(30)]
    publish_verdicts(*(clean_verdict(session) for session in sessions))

    async def publish_failures() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka)
        await producer.start()
        try:
            for session in sessions[::2]:
                value = encode("verdict", failed_verdict(session))
                sent = await producer.send_and_wait(topics.verdicts.name, value, key=session.encode())
                assert sent.partition == partition_for(session, 3)
        finally:
            await producer.stop()

    asyncio.run(publish_failures())
    assert all(gate.admit(session).answer is AdmissionAnswer.HALTED for session in sessions[::2])
    assert all(gate.admit(session).answer is AdmissionAnswer.ADMITTED for session in sessions[1::2])


def test_a_verdict_on_a_partition_that_its_session_does_not_hash_to_counts_for_nothing(
    kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    session = session_on(0)
    publish_verdicts(failed_verdict(session))
    stray = Producer({"bootstrap.servers": kafka})
    stray.produce(topics.verdicts.name, partition=1, key=session, value=encode("verdict", clean_verdict(session)))
    assert stray.flush(10) == 0
    with Gate(kafka, topics.namespace) as gate:
        assert gate.admit(session).answer is AdmissionAnswer.HALTED
    with VerdictView(verdict_source(kafka, topics.namespace)) as view:
        view.wait_ready(10)
        entry = view.entry(session)
        assert isinstance(entry, Recorded)
        assert entry.verdict["verdict"] == "HARD_FAILURE"


def test_only_the_partition_of_the_session_is_read(kafka: str, topics: Topics, publish_verdicts: Put) -> None:
    here, there = session_on(0), session_on(1)
    publish_verdicts(clean_verdict(here), clean_verdict(there))
    with VerdictView(verdict_source(kafka, topics.namespace), partitions=[0]) as view:
        view.wait_ready(10)
        assert isinstance(view.entry(here), Recorded)
        # Not having looked is not the same as having found nothing.
        assert isinstance(view.entry(there), Unread)
        assert view.position(1) == -1


def test_nothing_is_committed_and_no_group_is_left(
    gate: Gate, kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    publish_verdicts(clean_verdict("s-1"))
    assert gate.admit("s-1").admitted
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "unmask.reader"})
    committed = consumer.committed([TopicPartition(topics.verdicts.name, p) for p in range(3)], timeout=10)
    consumer.close()
    assert all(place.offset < 0 for place in committed)


def test_questions_reconciliations_and_overrides_are_on_the_admissions_topic(
    kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    degraded = degraded_verdict("s-1")
    publish_verdicts(degraded, failed_verdict("s-2"))
    with Gate(kafka, topics.namespace) as gate:
        asked = gate.admit("s-1", successor="s-9")
        assert asked.reconcile(lambda _: False).answer is AdmissionAnswer.RECONCILE_FIRST
        assert asked.reconcile(lambda _: True).answer is AdmissionAnswer.ADMITTED
        assert gate.admit("s-2", mutating=False).override(by="ana", reason_code="drill").admitted
        publish_verdicts(degraded_verdict("s-1", operations=21))
        with gate.guard("s-1", probe=lambda obligation: obligation.upstreams == ("prices",)) as admission:
            assert admission.admitted
    records = admissions(kafka, topics)
    assert [(r["session_id"], r["step"], r["answer"]) for r in records] == [
        ("s-1", "ASKED", "RECONCILE_FIRST"),
        ("s-1", "RECONCILE_FAILED", "RECONCILE_FIRST"),
        ("s-1", "RECONCILED", "ADMITTED"),
        ("s-2", "ASKED", "HALTED"),
        ("s-2", "OVERRIDDEN", "ADMITTED"),
        ("s-1", "ASKED", "RECONCILE_FIRST"),
        ("s-1", "RECONCILED", "ADMITTED"),
    ]
    assert len({r["admission_id"] for r in records[:3]}) == 1
    assert len({r["admission_id"] for r in records}) == 3
    assert records[0]["successor_session_id"] == "s-9"
    assert records[0]["verdict_digest"] == degraded["digest"]
    assert records[4]["by"] == "ana"
    assert [r["mutating"] for r in records[3:5]] == [False, False]


def test_who_asks_after_a_directive_was_carried_out_is_admitted_for_that_very_verdict(
    gate: Gate, kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    publish_verdicts(degraded_verdict("s-1"), degraded_verdict("s-2"))
    assert gate.admit("s-1").reconcile(lambda _: True).admitted
    second = gate.admit("s-1")
    assert second.answer is AdmissionAnswer.ADMITTED
    assert "was carried out" in second.reason
    assert gate.admit("s-2").answer is AdmissionAnswer.RECONCILE_FIRST
    # So it is for a gate that was not there, in a shell or in another process.
    with Gate(kafka, topics.namespace, live=False) as other:
        assert other.admit("s-1").answer is AdmissionAnswer.ADMITTED
        publish_verdicts(degraded_verdict("s-1", operations=21))
        assert other.admit("s-1").answer is AdmissionAnswer.RECONCILE_FIRST
    assert gate.admit("s-1").answer is AdmissionAnswer.RECONCILE_FIRST


def open_transaction(kafka: str, topics: Topics, topic: str) -> Producer:
    """Something that was written and is neither committed nor aborted yet."""
    writer = Producer({"bootstrap.servers": kafka, "transactional.id": topics.namespace})
    writer.init_transactions(10)
    writer.begin_transaction()
    writer.produce(topic, b"under way", "s-1|0", partition_for("s-1", 3))
    assert writer.flush(10) == 0
    return writer


def test_a_ledger_that_has_a_transaction_open_holds_nobody_back(
    gate: Gate, kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    publish_verdicts(clean_verdict("s-1"))
    assert gate.admit("s-1").admitted
    writer = open_transaction(kafka, topics, topics.sessions.name)
    try:
        assert gate.admit("s-1", timeout=2).admitted
    finally:
        writer.abort_transaction(10)
    assert gate.admit("s-1").admitted


def test_an_open_transaction_on_the_verdicts_themselves_refuses(
    gate: Gate, kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    """Whatever is written after it, a worse verdict too, cannot be read before it ends."""
    publish_verdicts(clean_verdict("s-1"))
    assert gate.admit("s-1").admitted
    writer = open_transaction(kafka, topics, topics.verdicts.name)
    try:
        publish_verdicts(failed_verdict("s-1"))
        assert gate.admit("s-1", timeout=1).answer is AdmissionAnswer.NOT_READY
    finally:
        writer.abort_transaction(10)
    assert gate.admit("s-1").answer is AdmissionAnswer.HALTED


def test_a_directive_that_failed_leaves_the_refusal_as_it_is(gate: Gate, publish_verdicts: Put) -> None:
    publish_verdicts(degraded_verdict("s-1"))
    assert not gate.admit("s-1").reconcile(lambda _: False).admitted
    assert gate.admit("s-1").answer is AdmissionAnswer.RECONCILE_FIRST


def test_an_override_holds_for_the_verdict_that_it_was_given_for(gate: Gate, publish_verdicts: Put) -> None:
    publish_verdicts(failed_verdict("s-1"))
    assert gate.admit("s-1").override(by="ana", reason_code="looked-at-it").admitted
    again = gate.admit("s-1")
    assert again.answer is AdmissionAnswer.ADMITTED
    assert "ana" in again.reason
    publish_verdicts(failed_verdict("s-1", ended_at=1))
    assert gate.admit("s-1").answer is AdmissionAnswer.HALTED


def test_a_refusal_stays_one_where_the_admissions_cannot_be_read(
    gate: Gate, kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    publish_verdicts(degraded_verdict("s-1"))
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([topics.admissions.name], operation_timeout=10)[topics.admissions.name].result()
    admission = gate.admit("s-1", timeout=2)
    assert admission.answer is AdmissionAnswer.RECONCILE_FIRST
    assert "is not known" in admission.reason


def test_what_became_of_the_answers_is_counted(kafka: str, topics: Topics, publish_verdicts: Put) -> None:
    publish_verdicts(degraded_verdict("s-1"), degraded_verdict("s-2"), failed_verdict("s-3"), clean_verdict("s-4"))
    with Gate(kafka, topics.namespace) as gate:
        assert gate.admit("s-1").reconcile(lambda _: True).admitted
        assert not gate.admit("s-2").reconcile(lambda _: False).admitted
        assert gate.admit("s-3").override(by="ana", reason_code="drill").admitted
        assert gate.admit("s-4").admitted
        assert gate.admit("s-1").admitted
    source = TopicSource(topics.admissions.name, kafka, compacted=False)
    told = read_enforcement(source, timeout=10).as_dict()
    outcomes = {name: count for name, count in told["outcomes"].items() if count}
    assert outcomes == {"refused_later_clear": 1, "upheld": 1, "overridden": 1, "admitted": 2}
    assert (told["questions"], told["overrides"], told["refusals_upheld"]) == (5, {"ana": 1}, 0.5)


def test_a_verdict_that_arrives_while_its_directive_is_carried_out_decides(gate: Gate, publish_verdicts: Put) -> None:
    publish_verdicts(degraded_verdict("s-1"))

    def probe(_: object) -> bool:
        publish_verdicts(failed_verdict("s-1"))
        return True

    assert gate.admit("s-1").reconcile(probe).answer is AdmissionAnswer.HALTED


def test_what_the_admissions_topic_did_not_take_does_not_admit(
    kafka: str, topics: Topics, publish_verdicts: Put
) -> None:
    publish_verdicts(degraded_verdict("s-1"))
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([topics.admissions.name], operation_timeout=10)[topics.admissions.name].result()
    with Gate(kafka, topics.namespace, record_timeout=1.0) as gate:
        began = time.monotonic()
        admission = gate.admit("s-1").reconcile(lambda _: True)
        assert time.monotonic() - began < 5
        assert admission.answer is AdmissionAnswer.NOT_READY
        assert topics.admissions.name in admission.reason


def test_many_threads_may_ask_one_gate(gate: Gate, publish_verdicts: Put) -> None:
    publish_verdicts(*(clean_verdict(f"s-{number}") for number in range(20)))

    async def ask_all() -> list[bool]:
        answers = await asyncio.gather(*(gate.aadmit(f"s-{number}", timeout=20) for number in range(40)))
        return [answer.admitted for answer in answers]

    assert asyncio.run(ask_all()) == [True] * 20 + [False] * 20


def test_a_closed_gate_refuses(kafka: str, topics: Topics, publish_verdicts: Put) -> None:
    publish_verdicts(clean_verdict("s-1"))
    gate = Gate(kafka, topics.namespace)
    assert gate.admit("s-1").admitted
    gate.close()
    admission = gate.admit("s-1")
    assert admission.answer is AdmissionAnswer.NOT_READY
    assert "closed" in admission.reason
