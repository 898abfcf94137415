"""Attempts to get a degraded session admitted. None succeeds, and each is refused for what it is."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from unmask.consumers.gate import AdmissionAnswer, Gate
from unmask.consumers.testing import ENDED_AT, clean_verdict, degraded_verdict
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.schemas.codec import encode
from unmask.schemas.keys import session_key
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import KeyUse, sign_admission, sign_verdict
from unmask.schemas.signing_keys import PrivateKey, generate_key
from unmask.schemas.testing import sample
from unmask.schemas.topics import Topics
from unmask.schemas.verdict_digest import seal

pytestmark = pytest.mark.integration

SESSION = "s-1"
Put = Callable[[str, Iterable[tuple[str, bytes | None]]], None]
Ask = Callable[..., AdmissionAnswer]
Write = Callable[..., None]


@pytest.fixture(params=[True, False], ids=["live", "one-shot"])
def live(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ask(kafka: str, topics: Topics, live: bool) -> Iterator[Ask]:
    """The answer of a gate that trusts no keys by name, to writers and readers alike."""
    with Gate(kafka, topics.namespace, live=live) as gate:

        def answer(session_id: str = SESSION, timeout: float = 10.0) -> AdmissionAnswer:
            answers = {gate.admit(session_id, mutating=wants, timeout=timeout).answer for wants in (True, False)}
            assert len(answers) == 1
            return answers.pop()

        yield answer


@pytest.fixture
def write(topics: Topics, publish: Put) -> Write:
    """Put records of one session, or bytes, onto the verdict topic."""

    def put(*records: dict[str, Any] | bytes | None, key: str = SESSION) -> None:
        values = [encode("verdict", record) if isinstance(record, dict) else record for record in records]
        publish(topics.verdicts.name, [(key, value) for value in values])

    return put


def numbered(verdict: dict[str, Any], sequence: int) -> dict[str, Any]:
    return {**verdict, "writer": "worker-1", "sequence": sequence}


DEGRADED = numbered(degraded_verdict(SESSION, operations=20, degraded=5), 2)
CLEAN_BEFORE = numbered(clean_verdict(SESSION), 1)
CLEAN_AFTER = numbered(clean_verdict(SESSION), 3)


def test_the_session_is_refused_to_begin_with(ask: Ask, write: Write) -> None:
    write(CLEAN_BEFORE, DEGRADED)
    assert ask() is AdmissionAnswer.RECONCILE_FIRST


@pytest.mark.parametrize(
    "changes",
    [
        {"degraded_operation_ratio": 0.05, "above_threshold": False},
        {"degraded_operations": 0, "degraded_operation_ratio": 0.0},
        {"directive": "NONE"},
        {"evidence": "COMPLETE", "equivalent": True},
        {"verdict": "CLEAN_SUCCESS", "directive": "NONE"},
        {"masked": []},
    ],
)
@pytest.mark.parametrize("sealed", [False, True], ids=["altered", "sealed anew"])
def test_a_tampered_ratio_directive_or_count(ask: Ask, write: Write, changes: dict[str, Any], sealed: bool) -> None:
    tampered = {**DEGRADED, **changes, "sequence": 3}
    if not sealed:
        write(DEGRADED, tampered)
        assert ask() is AdmissionAnswer.UNVERIFIABLE
        return
    # Whoever can write may also seal: what then contradicts itself is refused, and the rest is still degraded.
    write(DEGRADED, seal(tampered))
    assert ask() in (AdmissionAnswer.UNVERIFIABLE, AdmissionAnswer.RECONCILE_FIRST)


def test_a_clean_record_of_another_session_under_this_one_s_key(ask: Ask, write: Write) -> None:
    write(DEGRADED, numbered(clean_verdict("s-2"), 3))
    assert ask() is AdmissionAnswer.UNVERIFIABLE


def test_a_replayed_record_for_a_session_that_has_none(ask: Ask, write: Write) -> None:
    write(numbered(clean_verdict("s-2"), 3))
    assert ask() is AdmissionAnswer.UNVERIFIABLE


def test_the_clean_record_from_before_once_more(ask: Ask, write: Write) -> None:
    """Case V10."""
    write(CLEAN_BEFORE, DEGRADED, CLEAN_BEFORE)
    assert ask() is AdmissionAnswer.UNVERIFIABLE


def test_the_clean_record_from_before_while_the_gate_has_the_newer_one_in_memory(ask: Ask, write: Write) -> None:
    write(CLEAN_BEFORE, DEGRADED)
    assert ask() is AdmissionAnswer.RECONCILE_FIRST
    write(CLEAN_BEFORE)
    assert ask() is AdmissionAnswer.UNVERIFIABLE


def test_a_tombstone_and_what_was_written_before_it_once_more(ask: Ask, write: Write) -> None:
    write(CLEAN_BEFORE, DEGRADED, None)
    assert ask() is AdmissionAnswer.WITHDRAWN
    write(CLEAN_BEFORE)
    assert ask() is AdmissionAnswer.UNVERIFIABLE


@pytest.mark.parametrize("value", [b"", b"\x00", b"{}", b"\xc3\x01" + bytes(8) + b"rest"])
def test_an_empty_value_and_bytes_of_no_known_schema(ask: Ask, write: Write, value: bytes) -> None:
    write(DEGRADED, value)
    assert ask() is AdmissionAnswer.UNVERIFIABLE


@pytest.mark.parametrize("contract", [0, 2, 99])
def test_a_contract_version_that_this_gate_does_not_know(ask: Ask, write: Write, contract: int) -> None:
    write(DEGRADED, seal({**CLEAN_AFTER, "contract": contract}))
    assert ask() is AdmissionAnswer.UNVERIFIABLE


def snapshot(ended_at: int, **changes: Any) -> bytes:
    teardown = {
        **sample("session_tally")["teardowns"][0], "occurred_at": ended_at, "outcome": "success",
        "degraded_operations": 0,
    }  # fmt: skip
    fields = {
        "session_id": SESSION, "partition": 0, "last_seen_at": ended_at, "fallbacks": 0, "masked_errors": 0,
        "teardowns": [teardown], "abandoned_at": None, "emitters": ["emitter-1"], "degraded_operations": [],
        "degraded_operations_total": 0,
    }  # fmt: skip
    return encode("session_tally", sample("session_tally", **{**fields, **changes}))


def test_a_verdict_from_before_the_last_teardown(
    ask: Ask, write: Write, publish: Put, topics: Topics, kafka: str
) -> None:
    """The stream has seen the session end again, degraded; whoever judges is slow, paused or gone."""
    write(CLEAN_BEFORE)
    tell = Producer({"bootstrap.servers": kafka})
    place = partition_for(SESSION, 3)
    for value in (snapshot(ENDED_AT), snapshot(ENDED_AT + 1, masked_errors=5)):
        tell.produce(topics.sessions.name, value, session_key(SESSION, 0), place)
    assert tell.flush(10) == 0
    assert ask(timeout=1.5) is AdmissionAnswer.NOT_READY
    write(numbered(degraded_verdict(SESSION, ended_at=ENDED_AT + 1), 4))
    assert ask() is AdmissionAnswer.RECONCILE_FIRST


def test_a_clean_session_that_continues_a_degraded_one_which_nobody_has_judged_yet(
    ask: Ask, write: Write, topics: Topics, kafka: str
) -> None:
    write(numbered(clean_verdict(SESSION, predecessor_session_id="s-0"), 1))
    assert ask() is AdmissionAnswer.ADMITTED
    tell = Producer({"bootstrap.servers": kafka})
    value = snapshot(ENDED_AT, session_id="s-0", masked_errors=1, teardowns=[])
    tell.produce(topics.sessions.name, value, session_key("s-0", 0), partition_for("s-0", 3))
    assert tell.flush(10) == 0
    assert ask(timeout=1.5) is AdmissionAnswer.NOT_READY
    # Its verdict comes, and whoever judges has not yet taken it into the successor's.
    write(numbered(degraded_verdict("s-0"), 1), key="s-0")
    assert ask(timeout=1.5) is AdmissionAnswer.NOT_READY


def test_a_directive_of_a_verdict_that_is_no_longer_the_last_word(
    write: Write, topics: Topics, kafka: str, live: bool
) -> None:
    write(DEGRADED)
    with Gate(kafka, topics.namespace, live=live) as gate:
        asked = gate.admit(SESSION)
        assert asked.answer is AdmissionAnswer.RECONCILE_FIRST
        tell = Producer({"bootstrap.servers": kafka})
        value = snapshot(ENDED_AT + 1, masked_errors=9)
        tell.produce(topics.sessions.name, value, session_key(SESSION, 0), partition_for(SESSION, 3))
        assert tell.flush(10) == 0
        assert asked.reconcile(lambda _: True).answer is AdmissionAnswer.NOT_READY


def test_a_stale_read(kafka: str, topics: Topics, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate has the clean verdict in memory, and what came since does not reach it."""
    write(CLEAN_BEFORE)
    with Gate(kafka, topics.namespace) as gate:
        assert gate.admit(SESSION, timeout=10).answer is AdmissionAnswer.ADMITTED
        read = TopicReader.read

        def nothing(self: TopicReader, timeout: float) -> list[Row]:
            time.sleep(0.05)
            return []

        monkeypatch.setattr(TopicReader, "read", nothing)
        time.sleep(0.3)  # whatever was under way before has arrived
        write(DEGRADED)
        assert gate.admit(SESSION, timeout=1).answer is AdmissionAnswer.NOT_READY
        monkeypatch.setattr(TopicReader, "read", read)
        assert gate.admit(SESSION, timeout=10).answer is AdmissionAnswer.RECONCILE_FIRST


def test_a_gate_that_is_asked_before_it_is_ready(ask: Ask, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand records only the first, clean ones have been read when the question is due."""
    write(CLEAN_BEFORE, *[DEGRADED] * 5)
    read = TopicReader.read

    def first_only(self: TopicReader, timeout: float) -> list[Row]:
        if getattr(self, "seen", False):
            time.sleep(0.05)
            return []
        rows = read(self, timeout)
        self.seen = bool(rows)  # type: ignore[attr-defined]
        for row in rows[1:]:
            self.positions[row.partition] = min(self.positions[row.partition], row.offset)
        return rows[:1]

    with monkeypatch.context() as slow:
        slow.setattr(TopicReader, "read", first_only)
        assert ask(timeout=1) is AdmissionAnswer.NOT_READY


def test_a_topic_whose_policy_lets_the_newest_record_be_deleted(
    kafka: str, namespace: str, live: bool, publish: Put
) -> None:
    name = Topics(namespace).verdicts.name
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(name, 3, 1, config={"cleanup.policy": "delete"})])[name].result()
    publish(name, [(SESSION, encode("verdict", CLEAN_BEFORE))])
    with Gate(kafka, namespace, live=live) as gate:
        admission = gate.admit(SESSION, timeout=10)
    assert admission.answer is AdmissionAnswer.NOT_READY
    assert "cleanup.policy=delete" in admission.reason


def test_a_broker_that_is_down(namespace: str, live: bool) -> None:
    with Gate("127.0.0.1:1", namespace, live=live) as gate:
        assert gate.admit(SESSION, timeout=1).answer is AdmissionAnswer.NOT_READY
        gate.close(timeout=0.5)


@pytest.mark.parametrize("days", [-400, 400])
def test_a_gate_whose_clock_is_wrong(ask: Ask, write: Write, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    write(CLEAN_BEFORE, DEGRADED)
    now, shift = time.time_ns(), days * 86_400
    monkeypatch.setattr(time, "time_ns", lambda: now + shift * 10**9)
    monkeypatch.setattr(time, "time", lambda: now / 1e9 + shift)
    assert ask() is AdmissionAnswer.RECONCILE_FIRST


@pytest.mark.parametrize("ended_at", [1, ENDED_AT + 400 * 86_400_000_000])
def test_a_session_whose_host_s_clock_is_wrong(ask: Ask, write: Write, ended_at: int) -> None:
    """The clean record claims to be from long after the degraded one; its number says otherwise."""
    write(DEGRADED, numbered(clean_verdict(SESSION, ended_at=ended_at), 1))
    assert ask() is AdmissionAnswer.UNVERIFIABLE


def test_a_clean_record_on_a_partition_that_the_session_does_not_hash_to(
    ask: Ask, write: Write, topics: Topics, kafka: str
) -> None:
    write(DEGRADED)
    stray = Producer({"bootstrap.servers": kafka})
    elsewhere = (partition_for(SESSION, 3) + 1) % 3
    stray.produce(topics.verdicts.name, encode("verdict", CLEAN_AFTER), SESSION, elsewhere)
    assert stray.flush(10) == 0
    assert ask() is AdmissionAnswer.RECONCILE_FIRST


def outcome(verdict: dict[str, Any], **changes: Any) -> dict[str, Any]:
    fields = {
        "session_id": SESSION, "step": "RECONCILED", "answer": "ADMITTED", "verdict_digest": verdict["digest"],
        "signature": None,
    }  # fmt: skip
    return sample("admission", **{**fields, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict_digest": CLEAN_BEFORE["digest"]},
        {"verdict_digest": None},
        {"session_id": "s-2"},
        {"step": "ASKED"},
        {"step": "RECONCILE_FAILED"},
        {"step": "UNKNOWN_STEP"},
        {"step": "WITHDRAWN"},
    ],
)
def test_an_outcome_that_is_not_of_this_very_verdict(
    ask: Ask, write: Write, topics: Topics, publish: Put, changes: dict[str, Any]
) -> None:
    write(DEGRADED)
    publish(topics.admissions.name, [(SESSION, encode("admission", outcome(DEGRADED, **changes)))])
    assert ask() is AdmissionAnswer.RECONCILE_FIRST


# From here on the gate trusts two keys by name: of a stream worker, and of gates.


@pytest.fixture
def worker_key(tmp_path: Path) -> PrivateKey:
    return generate_key(tmp_path / "worker.pem", [KeyUse.VERDICTS])


@pytest.fixture
def gate_key(tmp_path: Path) -> PrivateKey:
    return generate_key(tmp_path / "gate.pem", [KeyUse.ADMISSIONS])


@pytest.fixture
def trusting(
    kafka: str, topics: Topics, live: bool, tmp_path: Path, worker_key: PrivateKey, gate_key: PrivateKey
) -> Iterator[Gate]:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    for name in ("worker.pem.pub", "gate.pem.pub"):
        shutil.copy(tmp_path / name, trusted / name)
    with Gate(kafka, topics.namespace, live=live, signing_key=tmp_path / "gate.pem", trusted_keys=trusted) as gate:
        yield gate


def test_signed_verdicts_are_answered_as_ever(
    trusting: Gate, write: Write, topics: Topics, worker_key: PrivateKey
) -> None:
    write(sign_verdict(CLEAN_BEFORE, topics.verdicts.name, worker_key))
    assert trusting.admit(SESSION, timeout=10).answer is AdmissionAnswer.ADMITTED
    write(sign_verdict(DEGRADED, topics.verdicts.name, worker_key))
    assert trusting.admit(SESSION, timeout=10).answer is AdmissionAnswer.RECONCILE_FIRST


def test_another_principal_writes_a_clean_verdict(
    trusting: Gate, write: Write, topics: Topics, worker_key: PrivateKey, gate_key: PrivateKey, tmp_path: Path
) -> None:
    """Case V10: unsigned, by an unknown key, by a key for something else, from elsewhere, sealed anew, renumbered."""
    good = sign_verdict(DEGRADED, topics.verdicts.name, worker_key)
    signature = good["signature"]
    stranger = generate_key(tmp_path / "stranger.pem")
    before = sign_verdict(CLEAN_BEFORE, topics.verdicts.name, worker_key)
    other = sign_verdict(numbered(clean_verdict("s-2"), 3), topics.verdicts.name, worker_key)
    attempts = [
        CLEAN_AFTER,
        sign_verdict(CLEAN_AFTER, topics.verdicts.name, stranger),
        sign_verdict(CLEAN_AFTER, topics.verdicts.name, gate_key),
        sign_verdict(CLEAN_AFTER, f"staging-{topics.verdicts.name}", worker_key),
        {**CLEAN_AFTER, "signature": signature},
        {**before, "sequence": 3},
        {**before, "writer": "worker-2", "sequence": 3},
        before,
        other,
        {**seal({**other, "session_id": SESSION}), "signature": other["signature"]},
    ]
    for attempt in attempts:
        write(good, attempt)
        admission = trusting.admit(SESSION, mutating=False, timeout=10)
        assert admission.answer is AdmissionAnswer.UNVERIFIABLE
        assert admission.earlier is not None
        assert admission.earlier.digest == DEGRADED["digest"]
    # An operator may still let somebody pass, and then that is on record.
    assert admission.override(by="ana", reason_code="looked-at-it").admitted


def test_an_outcome_that_no_trusted_gate_signed_admits_nobody(
    trusting: Gate, write: Write, publish: Put, topics: Topics, worker_key: PrivateKey, gate_key: PrivateKey
) -> None:
    write(sign_verdict(DEGRADED, topics.verdicts.name, worker_key))
    topic = topics.admissions.name
    forged = [
        outcome(DEGRADED),
        outcome(DEGRADED, step="OVERRIDDEN"),
        sign_admission(outcome(DEGRADED), topic, worker_key),
        sign_admission(outcome(DEGRADED), f"staging-{topic}", gate_key),
        {**sign_admission(outcome(CLEAN_BEFORE), topic, gate_key), "verdict_digest": DEGRADED["digest"]},
    ]
    publish(topic, [(SESSION, encode("admission", record)) for record in forged])
    asked = trusting.admit(SESSION, timeout=10)
    assert asked.answer is AdmissionAnswer.RECONCILE_FIRST
    assert asked.reconcile(lambda _: True).admitted
    # The gate's own record is signed, and counts for every gate that trusts it.
    assert trusting.admit(SESSION, timeout=10).answer is AdmissionAnswer.ADMITTED
