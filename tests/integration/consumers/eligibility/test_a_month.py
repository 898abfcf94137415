"""A month of real batches through a real worker: eligible, and then one fallback, one lost batch, one red run."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.integration.consumers.eligibility.past import HOUR, PastHost, now
from tests.tables_on_kafka import eventually
from typer.testing import CliRunner, Result

from unmask.consumers.cli import _eligibility
from unmask.consumers.cli._commands import app
from unmask.schemas.kafka import producer_config
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

DAY = 24 * HOUR
CHANGED_DAYS_AGO = 20
WORKER = str(Path(__file__).with_name("history_worker.py"))


Rows = dict[tuple[str, str], dict[str, Any]]


@dataclass
class Pipeline:
    """A namespace with a worker, and hosts that have lived there for a month."""

    bootstrap: str
    topics: Topics
    producer: Producer
    steady: PastHost
    other: PastHost
    folder: Path
    worker: "subprocess.Popen[bytes]"

    def send(self, *hosts: PastHost, lose: bool = False) -> None:
        for host in hosts:
            host.deliver(self.producer, self.topics.events.name, lose=lose)
        assert self.producer.flush(30) == 0

    def run(self, *words: str) -> Result:
        """A command of `unmask`."""
        where = {"KAFKA_BOOTSTRAP_SERVERS": self.bootstrap, "UNMASK_NAMESPACE": self.topics.namespace}
        return CliRunner(env=where).invoke(app, words)

    def expect(self, code: int, *options: str) -> Rows:
        """The rows by capability and release line, once the report's exit code is this; hosts go on to live."""

        def report() -> Rows | None:
            for host in (self.steady, self.other):
                host.at = now()
                host.life.cut()
            self.send(self.steady, self.other)
            done = self.run("report", "eligibility", "--json", *options)
            assert done.stdout, done.output
            found = {(row["capability"], row["release_line"] or ""): row for row in json.loads(done.stdout)["rows"]}
            return found if done.exit_code == code else None

        rows: Rows = eventually(report, 90)
        return rows

    def publish(self, *options: str, tests: str = '<testcase name="t"/>') -> None:
        """Publishes a run of now."""
        file = self.folder / "run.xml"
        file.write_text(f'<testsuites><testsuite name="s">{tests}</testsuite></testsuites>')
        done = self.run("evidence", "publish", "--suite", "golden", "--junit", str(file), "--run-at", "now", *options)
        assert done.exit_code == 0, done.output


@pytest.fixture
def pipeline(kafka: str, namespace: str, tmp_path: Path) -> Iterator[Pipeline]:
    topics = Topics(namespace, events_partitions=3, table_partitions=3)
    create_topics(kafka, topics)
    present = now() - 1_000_000
    began = present - 30 * DAY
    steady = PastHost(began)
    steady.live_until(present, "search", "summarize")
    before = PastHost(began, "2025.9")
    before.live_until(present - CHANGED_DAYS_AGO * DAY, "translate")
    before.life.cut(closing=True)
    after = PastHost(before.at + 1, "2026.0", switchboard="blue")
    after.live_until(present, "translate")
    settings = {
        "bootstrap": kafka, "namespace": namespace, "instance": "a", "port": 0, "window_seconds": [3600],
        "grace_ms": 500, "snapshot_ms": 300,
        # The topics were made a moment ago, so that they keep all of what was sent; the tables must as well.
        "window_horizon_s": 40 * 86_400,
    }  # fmt: skip
    log = (tmp_path / "worker.log").open("w")
    worker = subprocess.Popen([sys.executable, WORKER, json.dumps(settings)], stderr=log)
    made = Pipeline(kafka, topics, Producer(producer_config(kafka)), steady, after, tmp_path, worker)
    try:
        made.send(steady, before, after)
        yield made
    finally:
        worker.terminate()
        worker.wait(40)
        log.close()


def codes(row: dict[str, Any]) -> set[str]:
    return {reason["code"] for reason in row["reasons"]}


def detail(row: dict[str, Any], code: str) -> str:
    return next(str(reason["detail"]) for reason in row["reasons"] if reason["code"] == code)


def test_a_month_is_eligible_until_one_fallback_one_red_run_or_one_lost_batch(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("--release-line", "2026.1")
    search, summarize = ("search", "2026.1"), ("summarize", "2026.1")
    # Green parity evidence of the line; what else is needed are a month's hours, as they come through.
    pipeline.publish(*line, tests='<testcase name="a"/><testcase name="b"><skipped/></testcase>')
    rows = pipeline.expect(0, *line, "--capability", "search", "--capability", "summarize", "--set-by", "ana")
    assert {row["answer"] for row in rows.values()} == {"ELIGIBLE"}
    assert codes(rows[search]) == {"HEALTHY_SPAN", "ENOUGH_ATTEMPTS", "PARITY_GREEN"}
    span = rows[search]["span"]
    # All but the hour in which it was first seen, since it may have been there in part of it only.
    assert 718 <= span["hours"] <= 720
    # The hour in which the month ended may be in it, if it is over now.
    assert 0 <= 20 * span["hours"] - span["attempts"] <= 20
    assert detail(rows[search], "PARITY_GREEN").endswith("2 tests, 0 failed, 0 in error, 1 skipped")

    # A composition that came 20 days ago has a clock of its own, and what it replaced is told; so is what never was.
    rows = pipeline.expect(31, "--capability", "translate", "--capability", "unheard-of")
    changed = rows["translate", "2026.0"]
    assert changed["span"]["hours"] == pytest.approx(CHANGED_DAYS_AGO * 24, abs=2)
    assert {"SPAN_TOO_SHORT", "COMBINATION_CHANGED", "PARITY_ELSEWHERE"} <= codes(changed)
    assert set(changed["restarted_by"]["changed"]) == {"release_line", "switchboard"}
    assert "NOT_WITNESSED_NOW" in codes(rows["translate", "2025.9"])
    assert codes(rows["unheard-of", ""]) == {"NOTHING_COUNTED"}

    # One fallback: the capability that fell back is refused at once, the one beside it is not.
    pipeline.steady.at = now()
    pipeline.steady.fallback("search")
    rows = pipeline.expect(30, *line)
    assert rows[search]["answer"] == "NOT_ELIGIBLE"
    assert "FALLBACKS_COUNTED" in codes(rows[search])
    assert rows[search]["span"] is None
    assert rows[summarize]["answer"] == "ELIGIBLE"

    # A red run refuses whatever was counted, and nothing that its tests said is told.
    only = (*line, "--capability", "summarize")
    pipeline.publish(*line, tests='<testcase name="a"><failure message="secret words"/></testcase>')
    pipeline.expect(30, *only)
    listed = pipeline.run("evidence", "list", "--json").stdout
    assert json.loads(listed)[0]["failures"] == 1
    assert "secret" not in listed
    pipeline.publish(*line)
    pipeline.expect(0, *only)

    # Whoever asks with a clock that is behind would leave out what was counted since: there is no answer.
    with monkeypatch.context() as behind:
        clock = SimpleNamespace(time_ns=lambda: (now() - 2 * DAY) * 1_000, monotonic=monotonic)
        behind.setattr(_eligibility, "time", clock)
        done = pipeline.run("report", "eligibility", *only)
    assert (done.exit_code, done.stdout, "Correct the clock" in done.stderr) == (1, "", True)

    # One lost batch: nobody can say any more that there was no fallback.
    pipeline.steady.at = now()
    pipeline.steady.attempt("summarize", 3)
    pipeline.steady.life.cut()
    pipeline.send(pipeline.steady, lose=True)
    rows = pipeline.expect(31, *only)
    assert "TELEMETRY_LOSSY" in codes(rows[summarize])
    assert "FALLBACKS_COUNTED" not in codes(rows[summarize])

    # And while no worker runs, what waits is told.
    pipeline.worker.terminate()
    pipeline.worker.wait(40)
    rows = pipeline.expect(31, *only)
    assert detail(rows[summarize], "PIPELINE_UNWELL").startswith("STOPPED: No worker runs.")
