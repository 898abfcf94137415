"""The commands against a real broker: reports, alerts, topics, doctor and the gate's exit codes."""

import csv
import io
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from typer.testing import CliRunner, Result

from unmask.consumers.alerts_feed import AlertsFeed, UnreadableAlert, alerts_source
from unmask.consumers.cli._commands import app
from unmask.consumers.testing import SCOPE, clean_verdict, degraded_verdict, failed_verdict, window_record
from unmask.consumers.topic_reader import TopicReader
from unmask.consumers.windows_view import NotReadInTime, read_windows, windows_source
from unmask.schemas.codec import encode
from unmask.schemas.codes import Evidence
from unmask.schemas.instants import iso
from unmask.schemas.keys import window_key
from unmask.schemas.models import Alert
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS

pytestmark = pytest.mark.integration

Put = Callable[..., None]
MINUTE = 60 * MICROS
START = 1_767_268_800 * MICROS
"""2026-01-01T12:00:00Z."""


@pytest.fixture
def unmask(kafka: str, namespace: str) -> Callable[..., Result]:
    """Run a command on the broker and in the namespace of this test."""
    run = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace, "COLUMNS": "200"})
    return lambda *words: run.invoke(app, list(words))


def keyed(record: dict[str, Any], value: bytes | None = None) -> tuple[str, bytes]:
    scope = None if record["scope"] is None else SCOPE
    key = window_key(record["window_start"], record["window_seconds"], scope, record["capability"])
    return key, encode("window", record) if value is None else value


def alert(alert_id: str, state: str, revision: int, since: int = START) -> tuple[str, bytes]:
    record = {
        "alert_id": alert_id, "kind": "UPSTREAM_OUTAGE", "state": state, "since": since,
        "until": START + MINUTE if state == "RESOLVED" else None, "scope": SCOPE._asdict(), "session_id": None,
        "emitter_id": None, "upstream": "prices", "capability": None, "window_start": START, "window_seconds": 60,
        "directive": "PROBE_UPSTREAM_BEFORE_ACTION", "causes": ["timeout"], "facts": {"sessions": 3},
        "revision": revision,
    }  # fmt: skip
    return alert_id, encode("alert", record)


def test_a_report_shows_what_stands_and_calls_the_rest_absent(
    unmask: Callable[..., Result], topics: Topics, publish: Put
) -> None:
    stale = window_record(START, capability="search", attempts=1)
    newest = window_record(START, capability="search", attempts=40, fallbacks_total=10, revision=2)
    lossy = window_record(
        START + MINUTE, capability="search", states=Evidence.LOSSY, causes=["silent"], attempts=5, revision=3
    )
    hour = window_record(START, seconds=3600, capability="search", attempts=45)
    broken = window_record(START + 3 * MINUTE)
    removed = window_record(START + 4 * MINUTE)
    publish(topics.windows.name, [keyed(stale), keyed(newest), keyed(lossy), keyed(hour), keyed(broken, b"nonsense")])
    publish(topics.windows.name, [keyed(removed), (keyed(removed)[0], None)])
    span = ["report", "windows", "--since", iso(START), "--until", iso(START + 5 * MINUTE)]

    rows = json.loads(unmask(*span, "--json").stdout)["rows"]
    assert [(row["state"], row["attempts"], row["rate"]) for row in rows] == [
        ("COMPLETE", 40, 0.25),
        ("LOSSY", 5, None),
        ("ABSENT", None, None),
        ("LOSSY", None, None),
        ("ABSENT", None, None),
    ]
    assert rows[1]["causes"] == ["silent"]
    assert rows[0]["release_line"] == "line-1"

    lines = list(csv.DictReader(io.StringIO(unmask(*span, "--csv").stdout)))
    assert [line["attempts"] for line in lines] == ["40", "5", "", "", ""]

    table = unmask(*span)
    assert table.exit_code == 0
    assert "25.00%" in table.stdout
    assert "not a zero" in table.stdout
    assert "cannot be read" in table.stderr

    hours = json.loads(unmask(*span, "--json", "--window", "3600").stdout)["rows"]
    assert [row["attempts"] for row in hours] == [45]
    assert "60, 3600" in unmask(*span, "--window", "10").stderr


def test_a_report_is_about_everything_that_stood_when_it_began_or_about_nothing(
    kafka: str, topics: Topics, publish: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [window_record(START + number * MINUTE, attempts=number) for number in range(3_000)]
    publish(topics.windows.name, (keyed(record) for record in records))
    source = windows_source(kafka, topics.namespace)
    found = read_windows(source, 60, START, START + 3_000 * MINUTE, timeout=20)
    assert [window.attempts for window in found.windows] == list(range(3_000))
    part = read_windows(source, 60, START + 10 * MINUTE, START + 20 * MINUTE, timeout=20)
    assert [window.attempts for window in part.windows] == list(range(10, 20))

    def nothing_yet(reader: TopicReader, timeout: float) -> list[Any]:
        time.sleep(0.05)
        return []

    monkeypatch.setattr(TopicReader, "read", nothing_yet)
    with pytest.raises(NotReadInTime, match="3000 offsets left"):
        read_windows(source, 60, START, START + MINUTE, timeout=0.3)


def test_a_record_under_another_windows_key_is_not_taken_for_it(kafka: str, topics: Topics, publish: Put) -> None:
    key, _ = keyed(window_record(START))
    publish(topics.windows.name, [(key, encode("window", window_record(START + MINUTE, attempts=9)))])
    found = read_windows(windows_source(kafka, topics.namespace), 60, START, START + 9 * MINUTE, timeout=10)
    assert (found.windows, found.unreadable) == ((), (START,))


def test_a_report_without_topics_says_how_to_make_them(unmask: Callable[..., Result]) -> None:
    result = unmask("report", "windows")
    assert result.exit_code == 1
    assert "unmask topics create" in result.stderr


def test_watch_begins_with_what_fires_and_goes_on_with_every_change(
    unmask: Callable[..., Result], topics: Topics, publish: Put
) -> None:
    publish(topics.alerts.name, [alert("a-old", "FIRING", 1), alert("a-old", "RESOLVED", 2)])
    publish(topics.alerts.name, [alert("a-2", "FIRING", 1, START + 5), alert("a-1", "FIRING", 1, START)])
    publish(topics.alerts.name, [("a-bad", b"nonsense")])

    def later() -> None:
        time.sleep(1.0)
        publish(topics.alerts.name, [alert("a-1", "FIRING", 1), alert("a-1", "RESOLVED", 2)])

    thread = threading.Thread(target=later)
    thread.start()
    result = unmask("watch", "--json", "--count", "3", "--for", "20")
    thread.join()
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["alert_id"], line["state"]) for line in lines] == [
        ("a-1", "FIRING"),
        ("a-2", "FIRING"),
        ("a-1", "RESOLVED"),
    ]
    assert lines[0]["facts"] == {"sessions": 3}
    assert "is no alert (BAD_MAGIC)" in result.stderr
    text = unmask("watch", "--count", "1", "--for", "20").stdout
    for part in ("FIRING", "UPSTREAM_OUTAGE", "upstream prices", "sessions 3", "PROBE_UPSTREAM_BEFORE_ACTION"):
        assert part in text


def test_a_watch_from_now_shows_only_what_is_new_and_misses_nothing_while_its_connection_is_lost(
    kafka: str, topics: Topics, publish: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unmask.consumers.unreadable import BrokerSilent

    publish(topics.alerts.name, [alert("a-1", "FIRING", 1)])
    feed = AlertsFeed(alerts_source(kafka, topics.namespace), standing=False)
    assert feed.next(1.0) == []
    with monkeypatch.context() as lost:
        lost.setattr(TopicReader, "read", lambda *_: (_ for _ in ()).throw(BrokerSilent(kafka, "lost")))
        with pytest.raises(BrokerSilent):
            feed.next(0.1)
        publish(topics.alerts.name, [alert("a-2", "FIRING", 1)])
    seen: list[Alert | UnreadableAlert] = []
    deadline = time.monotonic() + 10
    while not seen and time.monotonic() < deadline:
        seen += feed.next(0.5)
    feed.close()
    assert [found.alert_id for found in seen if isinstance(found, Alert)] == ["a-2"]


def test_topics_are_created_checked_and_created_again_without_harm(unmask: Callable[..., Result]) -> None:
    before = unmask("topics", "check", "--json")
    assert before.exit_code == 1
    assert {problem["kind"] for problem in json.loads(before.stdout)["problems"]} == {"missing"}
    made = unmask("topics", "create", "--events-partitions", "2", "--table-partitions", "3", "--json")
    assert made.exit_code == 0
    assert len(json.loads(made.stdout)["created"]) == 14
    # Partition counts other than the default ones are the cluster's own choice.
    assert unmask("topics", "check").exit_code == 0
    again = unmask("topics", "create", "--events-partitions", "2", "--table-partitions", "3", "--json")
    assert json.loads(again.stdout)["created"] == []


def test_a_verdict_topic_with_the_delete_policy_fails_the_check_and_the_doctor_and_the_fix_is_named(
    unmask: Callable[..., Result], kafka: str, namespace: str
) -> None:
    name = Topics(namespace).verdicts.name
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(name, 6, 1, config={"cleanup.policy": "delete"})])[name].result()
    refused = unmask("topics", "create")
    assert refused.exit_code == 1
    assert "cleanup.policy" in refused.stderr
    for command in (["topics", "check"], ["doctor", "--no-clock"]):
        result = unmask(*command)
        assert result.exit_code == 1
        assert f"--entity-name {name}" in result.output
        assert "cleanup.policy=[compact,delete]" in result.output.replace("\n", "")


def test_the_doctor_finds_a_fresh_cluster_well_and_says_that_nobody_counts(
    unmask: Callable[..., Result], topics: Topics, kafka: str
) -> None:
    result = unmask("doctor", "--json")
    assert result.exit_code == 0, result.output
    found = {finding["check"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert found["broker"]["status"] == found["broker api"]["status"] == found["topics"]["status"] == "ok"
    assert found["ledger"]["status"] == "warning"
    assert "unmask stream" in found["ledger"]["fix"]
    # Broker and test run on one clock.
    assert found["clock"]["status"] == "ok"
    names = AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics
    assert not [name for name in names if name.startswith(f"{topics.namespace}.doctor")]


def test_the_doctor_fails_when_the_ledger_is_too_far_behind(
    unmask: Callable[..., Result], topics: Topics, publish: Put
) -> None:
    publish(topics.events.name, [(f"emitter-{number}", b"event") for number in range(20)])
    assert unmask("doctor", "--no-clock").exit_code == 0
    result = unmask("doctor", "--no-clock", "--max-lag", "19")
    assert result.exit_code == 1
    assert "20 record(s) behind" in result.output


def test_the_gates_exit_code_is_its_answer(
    unmask: Callable[..., Result], topics: Topics, publish: Put, publish_verdicts: Put
) -> None:
    publish_verdicts(
        clean_verdict("s-clean"),
        degraded_verdict("s-degraded"),
        degraded_verdict("s-equal", operations=100, degraded=5, equivalent=True),
        failed_verdict("s-failed"),
        clean_verdict("s-lossy", evidence="LOSSY"),
    )
    publish(topics.verdicts.name, [("s-gone", None), ("s-empty", b"")])
    expected = {
        "s-clean": 0, "s-degraded": 20, "s-equal": 20, "s-failed": 21, "s-nobody": 22, "s-gone": 23, "s-lossy": 24,
        "s-empty": 25,
    }  # fmt: skip
    assert {session: unmask("gate", session).exit_code for session in expected} == expected
    assert unmask("gate", "s-equal", "--read-only").exit_code == 10
    degraded = unmask("gate", "s-degraded")
    assert "RECONCILE_FIRST" in degraded.stdout
    assert "prices" in degraded.stderr
    passed = unmask("gate", "s-failed", "--override-by", "ana", "--reason-code", "drill")
    assert passed.exit_code == 0
    assert "ana let the successor pass" in passed.stdout
