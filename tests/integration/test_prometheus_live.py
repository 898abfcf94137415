"""A real Prometheus scrapes a real worker that counts what a real host records; numbers and alerts agree."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.debian_commands import debian_command
from tests.integration.consumers.alerts.receiving import free_port
from tests.integration.grafana_board import queries, variable_queries
from tests.tables_on_kafka import Stream, WorkerProcess, eventually
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.producers import Emitter, EmitterSettings

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

FOLDER = Path(__file__).resolve().parents[2] / "deploy/prometheus"


class Prometheus:
    """Debian's Prometheus with the shipped configuration and rules, only faster, and pointed at one worker."""

    def __init__(self, folder: Path, worker_port: int) -> None:
        self.port = free_port()
        configuration = (FOLDER / "prometheus.yml").read_text()
        for shipped, here in (("15s", "1s"), ("localhost:8080", f"127.0.0.1:{worker_port}")):
            assert shipped in configuration
            configuration = configuration.replace(shipped, here)
        (folder / "prometheus.yml").write_text(configuration)
        rules = (FOLDER / "unmask.rules.yml").read_text()
        assert "for: 2m" in rules
        (folder / "unmask.rules.yml").write_text(rules.replace("for: 2m", "for: 2s"))
        with (folder / "prometheus.log").open("w") as log:
            self.process = subprocess.Popen(
                [
                    debian_command("prometheus"), f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stderr=log,
            )  # fmt: skip
        eventually(self._ready)

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return json.load(answer)["data"]

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def value(self, query: str) -> float | None:
        """The value of a query with one series as its answer."""
        found = self._get(f"/api/v1/query?{urllib.parse.urlencode({'query': query})}")["result"]
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else None

    def series(self, query: str) -> int:
        """How many series a query answers with. Raises HTTPError where it is none."""
        found = self._get(f"/api/v1/query?{urllib.parse.urlencode({'query': query})}")["result"]
        return len(found)

    def label_values(self, series: str, label: str) -> list[str]:
        """The values of a label."""
        return list(self._get(f"/api/v1/label/{label}/values?{urllib.parse.urlencode({'match[]': series})}"))

    def alerts(self) -> dict[str, str]:
        """Name to state, of everything that is pending or fires."""
        return {one["labels"]["alertname"]: one["state"] for one in self._get("/api/v1/alerts")["alerts"]}

    def unhealthy_rules(self) -> list[str]:
        """Rules whose last evaluation failed, or has not happened."""
        groups = self._get("/api/v1/rules")["groups"]
        return [rule["name"] for group in groups for rule in group["rules"] if rule["health"] != "ok"]

    def end(self) -> None:
        """Ends the process."""
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture
def worker(kafka: str, namespace: str) -> Iterator[WorkerProcess]:
    """A worker with short windows, whose first capability is named to it."""
    Stream(kafka, namespace)
    process = WorkerProcess(
        kafka, namespace, "--window-seconds", "2", "--grace-seconds", "1", "--capabilities", "search"
    )
    yield process.wait_ready()
    if not process.ended():
        process.process.kill()
        process.process.wait(10)


@pytest.fixture
def prometheus(worker: WorkerProcess, tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes it."""
    running = Prometheus(tmp_path, worker.port)
    yield running
    running.end()


@pytest.fixture
def emitter(kafka: str, namespace: str) -> Iterator[Emitter]:
    """A host's emitter."""
    host = Emitter(
        EmitterSettings(
            bootstrap_servers=kafka, namespace=namespace, release_line="r1", heartbeat_ms=1_000, flush_interval_ms=100
        )
    )
    yield host
    host.close()


@pytest.fixture
def report(kafka: str, namespace: str) -> Callable[[], dict[str, tuple[int, int]]]:
    """Attempts and fallbacks of each capability since the beginning, as `unmask report windows` has them."""
    run = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace})

    def read() -> dict[str, tuple[int, int]]:
        result = run.invoke(app, ["report", "windows", "--window", "0", "--json"])
        assert result.exit_code == 0, result.output
        rows = json.loads(result.stdout)["rows"]
        return {row["capability"]: (row["attempts"], row["fallbacks_total"]) for row in rows if row["capability"]}

    return read


def passes_promtool(text: str) -> None:
    """What a worker answers to a scrape, by Debian's promtool."""
    checked = subprocess.run(
        [debian_command("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, timeout=30,
        check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stderr == ""
    broken = subprocess.run(
        [debian_command("promtool"), "check", "metrics"], input="# TYPE unmask_x counter\nunmask_x 1\n",
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert broken.returncode != 0, "promtool takes anything"


def test_prometheus_sees_the_report_s_numbers_the_first_fallback_and_that_everybody_went_away(
    worker: WorkerProcess, prometheus: Prometheus, emitter: Emitter, report: Callable[[], dict[str, tuple[int, int]]]
) -> None:
    """Z01 and Z04 of the cases, from the host's call to Prometheus's alert."""
    eventually(lambda: prometheus.value("sum(unmask:fallbacks:total)") == 0.0)
    eventually(lambda: prometheus.unhealthy_rules() == [])
    assert "UnmaskFallbackSeen" not in prometheus.alerts()

    emitter.record_route_attempt("search", "api")
    emitter.record_fallback("search", "timeout")
    # Z01: the series was there at 0, so that one fallback is an increase of one.
    eventually(lambda: prometheus.value("sum(unmask:fallbacks:total)") == 1.0)
    eventually(lambda: prometheus.alerts().get("UnmaskFallbackSeen") == "firing")

    for number in range(40):
        emitter.record_route_attempt("search" if number % 2 else "translate", "api")
        if number % 10 == 0:
            emitter.record_fallback("translate", "quota exceeded")
    eventually(lambda: prometheus.value("sum(unmask:attempts:total)") == 41.0)
    eventually(lambda: prometheus.value("sum(unmask:fallbacks:total)") == 5.0)
    assert report() == {"search": (21, 1), "translate": (20, 4)}
    for capability, (attempts, fallbacks) in report().items():
        chosen = f'{{capability="{capability}"}}'
        assert prometheus.value(f"sum(unmask_route_attempts_total{chosen})") == attempts
        assert prometheus.value(f"sum(unmask_fallbacks_total{chosen})") == fallbacks
        assert prometheus.value(f"sum(unmask:fallbacks:total{chosen})") == fallbacks

    passes_promtool(worker.get("/metrics")[1])
    # Every query of the board is answered, and with something where there is something to show.
    values = {
        "job": "unmask", "window_seconds": "2", "family": "route_attempt", "capability": ".*",
        "__rate_interval": "30s",
    }  # fmt: skip
    answers = {title: prometheus.series(query) for title, query in queries(values).items()}
    empty = {title for title, number in answers.items() if not number}
    assert empty <= {"Masked errors by class A", "Sessions that ended, by outcome A"}
    for variable, (series, label) in variable_queries(values).items():
        assert prometheus.label_values(series, label), variable

    # Z04, the hosts: they go, in good order, and windows close that nobody witnesses.
    assert "UnmaskTelemetryAbsentAnywhere" not in prometheus.alerts()
    emitter.close()
    eventually(lambda: prometheus.alerts().get("UnmaskTelemetryAbsentAnywhere") == "firing", 60)
    # And the workers: no series is left to fire, so that only their absence can.
    assert "UnmaskWorkersAbsent" not in prometheus.alerts()
    worker.end()
    eventually(lambda: prometheus.alerts().get("UnmaskWorkersAbsent") == "pending")
    eventually(lambda: prometheus.alerts().get("UnmaskWorkersAbsent") == "firing")
