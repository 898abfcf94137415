"""`unmask quarantine` against a real worker: records of a later version are put aside, then replayed and counted."""

import copy
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from fastavro import schemaless_writer
from tests.tables_on_kafka import WorkerProcess, eventually
from tests.unit.consumers.verify.hosts import Host
from typer.testing import CliRunner, Result

from unmask.consumers.cli._commands import app
from unmask.schemas import codec
from unmask.schemas.history import latest, readable
from unmask.schemas.kafka import producer_config
from unmask.schemas.topics import Topics
from unmask.schemas.windowing import MICROS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

SIZES = ("--window-seconds", "2,60", "--grace-seconds", "1")
LATER = latest("event_batch").version + 1
SECRET = b"\xc3\x01 an api key that nobody may see"
Unmask = Callable[..., Result]


@pytest.fixture
def unmask(kafka: str, topics: Topics) -> Unmask:
    run = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": topics.namespace, "COLUMNS": "200"})
    return lambda *words: run.invoke(app, list(words))


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """A folder with a later version of the event contract, as an upgrade would bring it."""
    schema = copy.deepcopy(latest("event_batch").source)
    schema["fields"].append({"name": "mood", "type": ["null", "string"], "default": None})
    folder = tmp_path / "event_batch"
    folder.mkdir()
    (folder / f"v{LATER}.avsc").write_text(json.dumps(schema), "utf-8")
    return tmp_path


@pytest.fixture
def upgraded(later: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Lets this process, and those that it starts, read the later version."""

    def forget() -> None:
        readable.cache_clear()
        codec._by_fingerprint.cache_clear()

    def upgrade() -> None:
        monkeypatch.setenv("UNMASK_EXTRA_SCHEMAS", str(later))
        forget()

    yield upgrade
    monkeypatch.undo()
    forget()


def written_later(batch: dict[str, Any], folder: Path) -> bytes:
    """The batch as a host with the later version writes it."""
    from unmask.schemas.history import _load

    schema = _load("event_batch", LATER, json.loads((folder / "event_batch" / f"v{LATER}.avsc").read_text("utf-8")))
    out = io.BytesIO()
    schemaless_writer(out, schema.plain, {**batch, "mood": "good"})
    return codec.MAGIC + schema.fingerprint + out.getvalue()


def send(bootstrap: str, topics: Topics, *values: tuple[str, bytes]) -> None:
    producer = Producer(producer_config(bootstrap))
    for key, value in values:
        producer.produce(topics.events.name, value, key, 1)
    assert producer.flush(20) == 0


def attempts(unmask: Unmask) -> int:
    """Attempts that were counted since ever."""
    rows = json.loads(unmask("report", "windows", "--window", "0", "--by", "window", "--json").stdout)["rows"]
    return sum(row["attempts"] or 0 for row in rows)


def test_what_a_later_version_wrote_is_put_aside_refused_and_after_the_upgrade_replayed_once(
    kafka: str, topics: Topics, unmask: Unmask, later: Path, upgraded: Callable[[], None]
) -> None:
    host = Host("e-1", heartbeat_ms=60_000, base=time.time_ns() // 1_000 - 10 * MICROS)
    host.attempt(1.0)
    first = host.cut(2.0)
    host.attempt(3.0, 4.0)
    second = host.cut(5.0)
    host.attempt(6.0)
    third = host.cut(7.0, closing=True)
    worker = WorkerProcess(kafka, topics.namespace, *SIZES).wait_ready()
    try:
        send(
            kafka, topics, ("e-1", codec.encode("event_batch", first)), ("e-1", written_later(second, later)),
            ("e-1", codec.encode("event_batch", third)), ("nobody", SECRET),
        )  # fmt: skip
        found = eventually(lambda: (f := json.loads(unmask("quarantine", "list", "--json").stdout))[1:] and f)
        assert [(entry["place"], entry["reason"]) for entry in found] == [
            (f"{topics.events.name}/1/1", "UNKNOWN_FINGERPRINT"),
            (f"{topics.events.name}/1/3", "UNKNOWN_FINGERPRINT"),
        ]
        assert eventually(lambda: attempts(unmask) == 2)
        refused = unmask("quarantine", "replay", "1/1", "1/3", "1/0", "--yes")
        assert refused.exit_code == 1
        for words in ("UNREADABLE", "NOT_QUARANTINED", "UNKNOWN_FINGERPRINT", "0 of 3 replayed"):
            assert words in refused.stdout
    finally:
        worker.end()

    upgraded()
    shown = json.loads(unmask("quarantine", "show", "1/1", "--json").stdout)
    assert (shown["state"], shown["stands"], shown["detail"]) == ("READABLE", True, "batch 2 of e-1")
    would = unmask("quarantine", "replay", "--all")
    assert would.exit_code == 0
    assert "1 of 2 can be replayed. Nothing was done" in would.stdout

    worker = WorkerProcess(kafka, topics.namespace, *SIZES).wait_ready()
    try:
        did = json.loads(unmask("quarantine", "replay", "--all", "--yes", "--json").stdout)
        assert [(entry["done"], entry["appended_at"]) for entry in did] == [
            ("replayed as offset 4", 4),
            ("refused", None),
        ]
        assert eventually(lambda: attempts(unmask) == 4)
        again = unmask("quarantine", "replay", "1/1", "--yes")
        assert again.exit_code == 0
        assert "the same bytes stand again at offset 4" in again.stdout
        assert "0 of 1 replayed" in again.stdout
        # The stream had put it aside, so that it stays unreadable for the counts, and its copy is what counts.
        told = unmask("verify", "--window-seconds", "2", "--settle", "20", "--json")
        assert told.exit_code == 0, told.stdout
        verified = json.loads(told.stdout)
        assert (verified["read"]["unreadable"], verified["read"]["readable_now"]) == (2, 1)
        assert (verified["read"]["events"], verified["read"]["duplicates"]) == (4, 0)
    finally:
        worker.end()


def test_no_command_shows_any_of_a_records_bytes_and_deleted_ones_are_told(
    kafka: str, topics: Topics, unmask: Unmask
) -> None:
    worker = WorkerProcess(kafka, topics.namespace).wait_ready()
    try:
        send(kafka, topics, ("an api key as a key", SECRET))
        eventually(lambda: json.loads(unmask("quarantine", "list", "--json").stdout))
    finally:
        worker.end()
    for words in (["list"], ["list", "--json"], ["show", "1/0"], ["show", "1/0", "--json"], ["replay", "--all"]):
        result = unmask("quarantine", *words)
        assert result.exit_code == 0, result.output
        assert "api key" not in result.output
    assert "stands" in unmask("quarantine", "show", "1/0").stdout
    place, admin = TopicPartition(topics.events.name, 1, 1), AdminClient({"bootstrap.servers": kafka})
    admin.delete_records([place])[place].result(timeout=20)
    gone = json.loads(unmask("quarantine", "show", "1/0", "--json").stdout)
    assert (gone["state"], gone["stands"]) == ("GONE", False)
    assert unmask("quarantine", "replay", "1/0", "--yes").exit_code == 1
    assert unmask("quarantine", "show", "1/7").exit_code == 1


def test_an_empty_quarantine_says_so(topics: Topics, unmask: Unmask) -> None:
    # A topic that was made a moment ago may have no leader yet.
    eventually(lambda: unmask("quarantine", "list").stdout == "0 in quarantine\n")
    assert unmask("quarantine", "replay", "--all", "--yes").stdout == "0 of 0 replayed.\n"
