"""One live run, from hosts through a worker to every report; and what reports say before, between and after."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.json_schema_check import violations
from typer.testing import Result

from unmask.consumers.report.document import json_schema
from unmask.producers import Emitter, EmitterSettings
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration
Unmask = Callable[..., Result]


def run_host(kafka: str, namespace: str, attempts: int) -> None:
    """A host that attempts, falls back for tenants and without one, and closes."""
    emitter = Emitter(EmitterSettings(bootstrap_servers=kafka, namespace=namespace, release_line="line-7"))
    for number in range(attempts):
        emitter.record_route_attempt("search", "chat")
        if number % 10 == 0:
            tenant = ("acme", "globex", None)[number // 10 % 3]
            emitter.record_fallback("search", "timeout", entry_point="chat", tenant_id=tenant)
    with emitter.session("s-1") as session:
        session.call("prices", lambda: 1, capability="retrieval")
    assert emitter.close(20).complete


def report(unmask: Unmask, *words: str) -> dict[str, Any]:
    result = unmask("report", "windows", *words, "--json")
    document: dict[str, Any] = json.loads(result.stdout)
    assert violations(document, json_schema()) == []
    return document


def eventually(unmask: Unmask, words: tuple[str, ...], wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + 45
    while True:
        document = report(unmask, *words)
        if wanted(document):
            return document
        assert time.monotonic() < deadline, document
        time.sleep(0.3)


def total(document: dict[str, Any], name: str) -> int:
    return sum(row[name] or 0 for row in document["rows"])


def test_every_state_of_the_pipeline_is_told_in_words_and_all_numbers_agree(
    unmask: Unmask, kafka: str, namespace: str, start_worker: Callable[[], Callable[[], None]], tmp_path: Path
) -> None:
    nothing = unmask("report", "windows", "--json")
    assert nothing.exit_code == 1
    assert json.loads(nothing.stdout)["pipeline"]["stage"] == "NOT_SET_UP"
    assert "unmask topics create" in nothing.stderr
    create_topics(kafka, Topics(namespace, events_partitions=2, table_partitions=2))

    assert report(unmask)["pipeline"]["stage"] == "NOT_STARTED"
    run_host(kafka, namespace, 100)
    unread = report(unmask, "--by", "window", "--granularity", "1h")
    assert unread["pipeline"]["waiting"] > 0
    assert unread["rows"][-1]["state"] == "PENDING", "nobody has read it: nobody can say that nobody was there"
    waiting = unmask("report", "host", "--json", "--settle", "0")
    assert waiting.exit_code == 0
    (scope,) = json.loads(waiting.stdout)["scopes"]
    assert {difference["kind"] for difference in scope["differences"]} == {"pending"}

    stop = start_worker()
    run_host(kafka, namespace, 50)
    hour = ("--granularity", "1h", "--since", "1h")
    everything = eventually(
        unmask, (*hour, "--by", "window"), lambda found: total(found, "attempts") == 152 and not found["remarks"]
    )
    assert total(everything, "fallbacks_total") == 15
    assert everything["pipeline"]["stage"] == "CAUGHT_UP"
    small = ("--window", "2", "--since", "1h")
    closed = eventually(
        unmask, (*small, "--by", "capability"),
        lambda found: sum(row["rate"] is not None for row in found["rows"] if row["capability"] == "search") >= 2,
    )  # fmt: skip
    assert total(closed, "attempts") == 152
    assert total(report(unmask, *hour, "--by", "reason"), "fallbacks_total") == 15

    tenants = report(unmask, *hour, "--by", "tenant")
    named = {name: 0 for row in tenants["rows"] if (name := row["tenant"])}
    for row in tenants["rows"]:
        named[row["tenant"]] += row["fallbacks_total"] or 0
    assert named == {"acme": 6, "globex": 5, "(unknown)": 4}
    refused = unmask("report", "windows", *hour, "--tenant", "acme", "--unknown-tenant", "refuse")
    assert refused.exit_code == 1
    assert "4 fallback(s) in this range have no tenant" in refused.stderr

    host = unmask("report", "host", "--json", "--settle", "20")
    assert host.exit_code == 0, host.output
    found = json.loads(host.stdout)
    assert [emitter["state"] for emitter in found["emitters"]] == ["closed", "closed"]
    families = found["scopes"][0]["families"]["route_attempt"]
    assert families == {"in_log": 152, "waiting": 0, "counted": 152, "published": 152}
    assert "Every difference is explained." in unmask("report", "host").stdout

    page = tmp_path / "report.html"
    assert unmask("report", "windows", *hour, "--html", str(page)).exit_code == 0
    assert ">152</td>" in page.read_text()
    table = unmask("report", "windows", *hour, "--by", "capability")
    assert "Pipeline CAUGHT_UP" in table.stdout

    stop()
    run_host(kafka, namespace, 10)
    stopped = report(unmask, *hour, "--by", "window")
    assert stopped["pipeline"]["stage"] == "STOPPED"
    assert stopped["pipeline"]["waiting"] > 0
    left = unmask("report", "host", "--json", "--settle", "0")
    assert left.exit_code == 0
    kinds = {difference["kind"] for scope in json.loads(left.stdout)["scopes"] for difference in scope["differences"]}
    assert kinds == {"pending"}


def test_counts_that_nothing_explains_are_an_error(unmask: Unmask, kafka: str, topics: Topics) -> None:
    from confluent_kafka import Producer

    from unmask.schemas.codec import encode
    from unmask.schemas.kafka import producer_config

    run_host(kafka, topics.namespace, 20)
    scope = Emitter(EmitterSettings(bootstrap_servers=kafka, release_line="line-7")).settings.scope
    record = {
        "partition": 0, "offset": 10**6, "window_start": 0, "window_seconds": 0, "scope": scope._asdict(),
        "measure": "route_attempt", "capability": "search", "code": "chat", "count": 999, "sessions": [],
        "correction": None,
    }  # fmt: skip
    producer = Producer(producer_config(kafka))
    producer.produce(topics.tallies.name, key="c|0|0|0|x", value=encode("tally", record), partition=0)
    assert producer.flush(10) == 0
    result = unmask("report", "host", "--settle", "0")
    assert result.exit_code == 1
    assert "that nothing explains" in result.stdout
    assert "counted more than the log has" in result.stdout


def test_without_topics_hosts_cannot_be_compared(unmask: Unmask) -> None:
    result = unmask("report", "host")
    assert result.exit_code == 2
    assert "unmask topics create" in result.stderr
