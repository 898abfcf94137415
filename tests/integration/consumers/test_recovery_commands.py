"""`unmask timeline`, `delegations`, `enforcement` and the gate's appeals against a real broker."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from tests.json_schema_check import violations
from tests.session_parts import delegation, refusal, selection
from tests.table_records import BLUE, at, session_tally, teardown
from tests.tables_on_kafka import eventually
from typer.testing import CliRunner, Result

from unmask.consumers import enforcement
from unmask.consumers.cli._commands import app
from unmask.consumers.delegations import json_schema as delegations_schema
from unmask.consumers.gate import EXIT_CODES, AdmissionAnswer
from unmask.consumers.testing import clean_verdict, failed_verdict, window_record
from unmask.consumers.timeline import json_schema as timeline_schema
from unmask.schemas import keys
from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration

Unmask = Callable[..., Result]
Put = Callable[..., None]
USER: dict[str, Any] = {"source": "user", "scope": "session"}
ABSENT, UNREADABLE, NOT_READY = (
    EXIT_CODES[answer]
    for answer in (AdmissionAnswer.NO_VERDICT, AdmissionAnswer.UNVERIFIABLE, AdmissionAnswer.NOT_READY)
)


@pytest.fixture
def unmask(kafka: str, namespace: str) -> Unmask:
    """Run a command on the broker and in the namespace of this test."""
    run = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace, "COLUMNS": "200"})
    return lambda *words: run.invoke(app, list(words))


@pytest.fixture
def put(kafka: str, topics: Topics) -> Iterator[Put]:
    """Put a record where its route hashes to, and wait for it."""
    producer = Producer(producer_config(kafka))

    def send(topic: str, key: str, value: bytes | None, route: str) -> None:
        producer.produce(topic, value, key, partition_for(route, topics.table_partitions))
        assert producer.flush(30) == 0

    yield send
    producer.flush(5)


def put_session(put: Put, topics: Topics, tally: dict[str, Any], value: bytes | None = None) -> None:
    key = keys.session_key(tally["session_id"], tally["partition"])
    put(topics.sessions.name, key, value or encode("session_tally", tally), tally["session_id"])


def put_verdict(put: Put, topics: Topics, verdict: dict[str, Any]) -> None:
    put(topics.verdicts.name, verdict["session_id"], encode("verdict", verdict), verdict["session_id"])


def put_window(put: Put, topics: Topics, record: dict[str, Any]) -> None:
    start, seconds = record["window_start"], record["window_seconds"]
    key = keys.window_key(start, seconds, BLUE, record["capability"])
    put(topics.windows.name, key, encode("window", record), keys.window_route(start, seconds))


def answer(result: Result, schema: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(result.stdout)
    assert violations(document, schema) == []
    return document


def test_a_timeline_is_what_stands_on_all_partitions_and_each_thing_that_can_be_missing_has_its_answer(
    unmask: Unmask, topics: Topics, put: Put
) -> None:
    chosen = [
        selection("large", 1, **USER),
        selection("mini", 2, reason_code="rate_limited"),
        selection("mini", 3, emitter="e2"),
    ]
    first = session_tally(selections=chosen[:2], selections_total=2, teardowns=[teardown(9)])
    stale = {**first, "selections": chosen[:1], "selections_total": 1, "offset": 3}
    second = session_tally(partition=4, emitters=["e2"], selections=chosen[2:], selections_total=1)
    for tally in (stale, first, second):
        put_session(put, topics, tally)
    verdict = clean_verdict("s1", ended_at=at(5), findings=["PREFERENCE_DRIFT"], user_profile="large")
    put_verdict(put, topics, verdict)

    result = unmask("timeline", "s1", "--json")
    assert result.exit_code == 0, result.output
    found = answer(result, timeline_schema())
    assert [moment["profile"] for moment in found["selections"]["moments"]] == ["large", "mini", "mini"]
    assert (found["selections"]["total"], found["user_profile"]) == (3, "large")
    assert found["verdict"]["findings"] == found["findings"][:1] == ["PREFERENCE_DRIFT"]
    assert (found["session"]["state"], found["session"]["sources"]) == ("ENDED", {"0": 10, "4": 10})
    some = answer(unmask("timeline", "s1", "--json", "--turns", "3"), timeline_schema())
    assert [moment["turn"] for moment in some["selections"]["moments"]] == [3]
    text = unmask("timeline", "s1").stdout
    for part in ("● mini", "rate_limited", "PREFERENCE_DRIFT", "The user chose last: large"):
        assert part in text
    # Nobody tells of delegations here; nothing is called none.
    assert found["delegations"]["evidence"] == "ABSENT"
    assert "nobody tells of delegations here" in text

    absent = unmask("timeline", "never-seen", "--json")
    assert (absent.exit_code, answer(absent, timeline_schema())["answer"]) == (ABSENT, "ABSENT")
    put_session(put, topics, session_tally("broken"), b"nonsense")
    broken = unmask("timeline", "broken", "--json")
    assert (broken.exit_code, answer(broken, timeline_schema())["answer"]) == (UNREADABLE, "UNREADABLE")
    assert "BAD_MAGIC" in unmask("timeline", "broken").stdout


def test_without_topics_or_a_broker_a_timeline_is_not_ready_and_says_what_to_do(unmask: Unmask) -> None:
    result = unmask("timeline", "s1", "--timeout", "5")
    assert result.exit_code == NOT_READY
    assert result.stdout.startswith("NOT_READY: The topic")
    assert "unmask topics create" in result.stdout
    nowhere = unmask("timeline", "s1", "--timeout", "0.5", "--bootstrap", "127.0.0.1:1", "--json")
    assert nowhere.exit_code == NOT_READY
    assert "127.0.0.1:1" in answer(nowhere, timeline_schema())["reason"]


def test_a_none_is_proven_by_a_window_in_which_somebody_would_have_told(
    unmask: Unmask, topics: Topics, put: Put
) -> None:
    put_session(put, topics, session_tally())
    start = at(0) - at(0) % 3_600_000_000
    window = window_record(start, 3_600, scope=BLUE)
    window["evidence"].append(
        {"family": "route_selection", "state": "COMPLETE", "causes": [], "missing": 0, "dropped": []}
    )
    put_window(put, topics, window)
    found = answer(unmask("timeline", "s1", "--json"), timeline_schema())
    assert found["selections"]["evidence"] == "PENDING"
    assert "hosts of its release line and composition told of selections" in found["selections"]["evidence_words"]
    assert found["delegations"]["evidence"] == "ABSENT"


def test_delegations_are_told_over_all_sessions_and_by_name_and_by_session(
    unmask: Unmask, topics: Topics, put: Put
) -> None:
    stuck = delegation(tripped=True, trips=1, unchanged=9)
    for name, work in (("s1", delegation(budget_calls=15)), ("s2", stuck)):
        put_session(put, topics, session_tally(name, delegations=[work]))
    put_session(put, topics, session_tally("s3", delegations=[delegation("other")]))
    put_session(put, topics, session_tally("s4"), b"nonsense")
    findings = [{"delegation_id": "d1", "findings": ["STALLED_DELEGATION"]}]
    put_verdict(put, topics, clean_verdict("s2", ended_at=at(5), delegations=findings))
    # Its session is forgotten; the verdict still tells.
    forgotten = [{"delegation_id": "gone", "findings": ["DUPLICATE_EFFECT"]}]
    put_verdict(put, topics, clean_verdict("s9", ended_at=at(5), delegations=forgotten))

    everything = unmask("delegations", "--json")
    assert everything.exit_code == 0, everything.output
    found = answer(everything, delegations_schema())
    lines = {line["delegation_id"]: line for line in found["delegations"]}
    assert set(lines) == {"d1", "other", "gone"}
    assert (lines["d1"]["calls"], lines["d1"]["budgets"]["over"]) == (20, ["calls"])
    assert (lines["d1"]["findings"], lines["d1"]["sessions_judged"]) == (["STALLED_DELEGATION"], 1)
    assert (lines["gone"]["findings"], lines["gone"]["last_step_at"]) == (["DUPLICATE_EFFECT"], None)
    assert "1 sessions cannot be read" in found["remarks"][0]

    one = answer(unmask("delegations", "d1", "--json"), delegations_schema())
    assert [line["calls"] for line in one["delegations"]] == [20]
    session = answer(unmask("delegations", "--session", "s1", "--json"), delegations_schema())
    assert [(line["delegation_id"], line["calls"]) for line in session["delegations"]] == [("d1", 10)]
    table = unmask("delegations")
    assert "20 of 15 calls" in table.stdout
    assert "cannot be read here" in table.stderr

    for words, code in ((["never"], ABSENT), (["--session", "never"], ABSENT), (["--session", "s4"], UNREADABLE)):
        missing = unmask("delegations", *words, "--json")
        assert missing.exit_code == code, missing.output
        assert answer(missing, delegations_schema())["delegations"] == []


def test_no_delegation_at_all_is_not_called_none_where_nobody_tells(unmask: Unmask, topics: Topics, put: Put) -> None:
    put_session(put, topics, session_tally())
    result = unmask("delegations")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("ABSENT: nobody tells of delegations here")


def batch(seq: int, *effects: dict[str, Any]) -> dict[str, Any]:
    whole = {
        "delegation_id": "d1", "session_id": "s1", "invocation_id": "i1", "occurred_at": at(1), "turn": 1,
        "enforcer": None, "answer": None, "effect_key": None, "fingerprint": None, "fencing_token": None,
        "receipt": None, "by": None, "reason_code": None,
    }  # fmt: skip
    return {
        "emitter": {
            "emitter_id": "e1", "started_at": at(0), "scope": BLUE._asdict(), "heartbeat_ms": 1000, "sdk": "test-1",
        },
        "batch_seq": seq, "sent_at": at(1), "closing": False, "accounts": [], "route_attempts": [],
        "kernel_fallbacks": [], "masked_errors": [], "session_openings": [], "session_teardowns": [],
        "route_selections": [], "delegation_progress": [], "delegation_effects": [whole | one for one in effects],
        "witnesses": ["delegation_effect"],
    }  # fmt: skip


def decision(offset: int, answer: str, reason: str | None = None) -> dict[str, Any]:
    return {
        "request_id": f"r{offset}", "kind": "claim", "answer": answer, "reason": reason, "tenant": "acme",
        "failure": "quota", "strategy": "refund", "strategy_version": "v1", "budget_key": "b1", "holder": "h1",
        "partition": 0, "offset": offset, "decided_at": at(1), "attempts": 1, "unsettled": 0, "fencing_token": None,
        "lease_until": None, "receipt": None, "committed_at": None, "late_receipt": None, "fingerprint": None,
        "budget_used": None, "budget_limit": None,
    }  # fmt: skip


def test_a_refusal_is_appealed_and_vindicated_and_lifts_nothing_and_all_of_it_is_counted(
    unmask: Unmask, topics: Topics, put: Put
) -> None:
    put_verdict(put, topics, failed_verdict("s1"))
    # A wrong namespace, topic or session is found before anything is written.
    none = unmask("gate", "appeal", "s1", "--by", "ana", "--reason-code", "false_alarm")
    assert none.exit_code == 1
    assert "no refusal of session s1 is on record" in none.stderr
    refused = json.loads(unmask("gate", "s1", "--json").stdout)
    assert refused["answer"] == "HALTED"
    for command, by, step in (("appeal", "ana", "APPEALED"), ("vindicate", "bo", "VINDICATED")):
        done = unmask("gate", command, "s1", "--by", by, "--reason-code", "false_alarm")
        assert done.exit_code == 0, done.output
        assert step in done.stdout
        assert refused["admission_id"] in done.stdout
    assert unmask("gate", "appeal", "s1", "--by", "a b", "--reason-code", "x").exit_code == 2
    # The gate answers as before.
    assert json.loads(unmask("gate", "s1", "--json").stdout)["answer"] == "HALTED"
    stats = json.loads(unmask("gate", "stats", "--json").stdout)
    assert (stats["appealed"], stats["vindicated"], stats["outcomes"]["refused_later_clear"]) == (1, 1, 1)

    for value in (
        encode("event_batch", batch(1, {"step": "refused", "enforcer": "breaker", "answer": "TRIPPED"})),
    ) * 2:
        put(topics.events.name, "e1", value, "e1")
    put(topics.events.name, "e1", encode("event_batch", {**batch(2), "witnesses": []}), "e1")
    appealed = {"step": "appealed", "enforcer": "effects", "answer": "BUDGET_SPENT", "by": "cy", "reason_code": "paid"}
    put(topics.events.name, "e1", encode("event_batch", batch(3, appealed)), "e1")
    for number, (said, why) in enumerate((("GRANTED", None), ("HELD_BY_ANOTHER", None), ("ABSTAIN", "tenant_full"))):
        put(topics.effects_decisions.name, "acme|b1", encode("effect_decision", decision(number, said, why)), "acme|b1")
    work = delegation(trips=2, false_trips=1, refusals=[refusal("gate", 3)], blocked_turns=4, longest_blocked=9)
    put_session(put, topics, session_tally(delegations=[work]))

    result = unmask("enforcement", "--json")
    assert result.exit_code == 0, result.output
    found = answer(result, enforcement.json_schema())
    gate = found["gate"]
    assert (gate["questions"], gate["recorded"]["by_answer"]["HALTED"]) == (
        2, {"refused": 2, "appealed": 1, "vindicated": 1},
    )  # fmt: skip
    assert gate["recorded"]["appeals"] == [{"by": "ana", "reason_code": "false_alarm", "count": 1}]
    assert found["breaker"]["told"]["by_answer"]["TRIPPED"]["refused"] == 1
    assert (found["breaker"]["trips"], found["breaker"]["false_trips"]) == (2, 1)
    assert found["effects"]["decided"]["by_answer"] == {"ABSTAIN": 1, "HELD_BY_ANOTHER": 1}
    assert found["effects"]["told"]["appeals"] == [{"by": "cy", "reason_code": "paid", "count": 1}]
    turns = found["turns_without_accepted_write"]
    assert (turns["current"], turns["longest"], turns["delegations"][0]["delegation_id"]) == (4, 9, "d1")
    assert (found["hosts"]["topic"], found["hosts"]["kept_days"], found["hosts"]["records"]) == (
        topics.events.name,
        7,
        4,
    )
    assert found["hosts"]["proves"].startswith("at least so many")
    text = unmask("enforcement").stdout
    for part in ("HALTED", "TRIPPED", "HELD_BY_ANOTHER", "2 trips, 1 of them false", "keeps 90 days"):
        assert part in text


def test_without_the_effects_ledger_s_topics_enforcement_says_that_they_are_missing(
    unmask: Unmask, topics: Topics, kafka: str
) -> None:
    name, admin = topics.effects_decisions.name, AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([name])[name].result()
    # The answer comes before every broker has done it.
    eventually(lambda: name not in admin.list_topics(timeout=10).topics)
    result = unmask("enforcement", "--json")
    assert result.exit_code == 0, result.output
    found = answer(result, enforcement.json_schema())
    assert found["effects"]["decided"] is None
    assert name in found["remarks"][0]
    assert found["hosts"]["proves"].startswith("nothing: nobody tells of effects here")
