"""The live page in a real Chromium: clicked through while a real host records, and while things break."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.debian_commands import debian_command
from tests.integration.consumers.alerts.receiving import free_port
from tests.integration.page_checks import accessibility_faults, sideways_scroll
from tests.session_parts import delegation, refusal, selection
from tests.table_records import session_tally
from tests.tables_on_kafka import PARTITIONS, Stream, WorkerProcess, eventually
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.consumers.devbroker import JvmBroker
from unmask.producers import Emitter, EmitterSettings, Substitute
from unmask.schemas.codec import encode
from unmask.schemas.kafka import producer_config
from unmask.schemas.partitioner import partition_for
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PICTURES = Path(__file__).resolve().parents[2] / "build/artefacts/page"
HOSTILE = "<img src=x onerror=\"window.hacked='yes'\">"
PATIENCE_MS = 40_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    command = debian_command("chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        yield (chromium := playwright.chromium.launch(executable_path=command, args=["--no-sandbox"]))
        chromium.close()


@pytest.fixture
def show(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens addresses in windows of their own; whatever a page complains of fails the test."""
    contexts, complaints = [], list[str]()

    def open_(address: str, *, width: int = 1280, height: int = 900, scheme: Any = "light", **more: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
        page.on("request", lambda asked: complaints.append(asked.url) if "//127.0.0.1:" not in asked.url else None)
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def run(kafka: str) -> Iterator["Run"]:
    """A worker of a namespace, and what a host does in it."""
    made = Run(kafka, f"t{uuid4().hex[:10]}")
    yield made
    if made.emitter is not None:
        made.emitter.close()
    made.worker.end(signal.SIGKILL)


class Run:
    """One live run that the tests of this file share."""

    def __init__(self, kafka: str, namespace: str) -> None:
        self.kafka, self.namespace = kafka, namespace
        self.stream = Stream(kafka, namespace)
        self._old_session()
        arguments = ("--window-seconds", "5,60", "--grace-seconds", "1", "--capabilities", "search")
        self.worker = WorkerProcess(kafka, namespace, *arguments).wait_ready()
        self.address = f"http://127.0.0.1:{self.worker.port}"
        self.emitter: Emitter | None = None

    def _old_session(self) -> None:
        """A session of three days ago, which stands on its topic and is too old to be remembered."""
        at = time.time_ns() // 1000 - 3 * 86_400_000_000
        chosen = [
            selection("large", 1, source="user", scope="session"),
            selection("mini", 2, reason_code="rate_limited"),
        ]
        tally = session_tally(
            "old-one", opened_at=at, last_seen_at=at, selections=[one | {"occurred_at": at} for one in chosen],
            selections_total=2, delegations=[delegation(budget_calls=40, refusals=[refusal("gate", 3, 1)])],
        )  # fmt: skip
        producer, topic = Producer(producer_config(self.kafka)), self.stream.topics.sessions.name
        value, partition = encode("session_tally", tally), partition_for("old-one", PARTITIONS)
        producer.produce(topic, value, b"old-one|0", partition, timestamp=at // 1000)
        assert producer.flush(30) == 0

    def begin(self) -> None:
        """A host starts: attempts, a fallback, a clean session and a degraded one."""
        if self.emitter is not None:
            return
        self.emitter = emitter = Emitter(
            EmitterSettings(
                bootstrap_servers=self.kafka, namespace=self.namespace, release_line="r1", heartbeat_ms=1_000,
                flush_interval_ms=100,
            )
        )  # fmt: skip
        for _ in range(40):
            emitter.record_route_attempt("search", "api")
        emitter.record_fallback("search", "timeout")
        with emitter.session("calm") as session:
            session.call("prices", lambda: 1, capability="search", entry_point="agent", operation_id="calm-1")
        with emitter.session("masked") as session:
            for number in range(4):
                session.call(
                    "prices", (lambda: 1) if number else _times_out, Substitute("cache", lambda: 0, receipt="cache-1"),
                    capability="search", entry_point="agent", operation_id=f"masked-{number}",
                )  # fmt: skip

    def api(self, path: str) -> Any:
        """A JSON answer."""
        with urllib.request.urlopen(f"{self.address}/api/{path}", timeout=30) as answer:
            return json.load(answer)

    def unmask(self, *arguments: str) -> Any:
        """What a command says as JSON."""
        environment = {"KAFKA_BOOTSTRAP_SERVERS": self.kafka, "UNMASK_NAMESPACE": self.namespace}
        result = CliRunner(env=environment).invoke(app, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


def _times_out() -> int:
    raise TimeoutError("timed out after 5000 ms")


def picture(page: Page, name: str) -> None:
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def row(page: Page, section: str, text: str) -> Any:
    return page.locator(f"#{section} tbody tr", has_text=text).first


def test_a_live_run_is_seen_as_it_happens_without_reloading(run: Run, show: Callable[..., Page]) -> None:
    page = show(f"{run.address}/")
    expect(page.locator("#status")).to_contain_text("no host has sent anything")
    expect(page.locator("#windows")).to_contain_text("No window is known yet")
    expect(page.locator("#live")).to_contain_text("Live,")
    picture(page, "empty")
    page.evaluate("window.notReloaded = true")

    run.begin()
    expect(row(page, "windows", "PENDING")).to_be_visible()
    expect(page.locator("#windows progress").first).to_be_visible()
    degraded = row(page, "sessions", "masked")
    expect(degraded).to_contain_text("DEGRADED SUCCESS")
    expect(degraded).to_contain_text("PROBE UPSTREAM BEFORE ACTION")
    expect(row(page, "alerts", "DEGRADED SESSION")).to_contain_text("FIRING")
    expect(row(page, "emitters", "r1")).to_contain_text("LIVE")
    expect(row(page, "workers", "CURRENT")).to_be_visible()
    expect(row(page, "windows", "COMPLETE")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("Counting: 1 emitter is live")
    assert page.evaluate("window.notReloaded") is True
    picture(page, "overview")

    degraded.get_by_role("link", name="masked").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Session masked")
    expect(page.locator("#verdict")).to_contain_text("Ask the failed upstream whether it answers again")
    expect(page.locator("#masked")).to_contain_text("TIMEOUT_5000ms")
    expect(page.locator("#gate")).to_contain_text("No gate was asked")
    expect(page.locator("#live")).to_contain_text("Live,")
    picture(page, "session")
    page.get_by_role("link", name="Overview", exact=True).click()
    page.locator("#windows tbody a").last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Window of")
    expect(page.locator("#window")).to_contain_text("all capabilities")
    picture(page, "window")


def test_the_same_numbers_stand_on_the_page_in_the_report_in_the_metrics_and_in_the_recount(run: Run) -> None:
    run.begin()
    size = eventually(lambda: _all_complete(run))
    shown = {window["window_start"]: window for window in size["windows"]}
    rows = run.unmask("report", "windows", "--window", "5", "--since", "10m", "--by", "window")["rows"]
    reported = {row["window_start"]: row for row in rows}
    same = (
        "attempts", "fallbacks_total", "rate", "rate_state", "masked_errors", "emitters", "state", "states", "losses",
        "fallbacks_by_reason",
    )  # fmt: skip
    counted = [start for start, window in shown.items() if window["attempts"]]
    assert counted
    for start in counted:
        assert {name: shown[start][name] for name in same} == {name: reported[start][name] for name in same}
    attempts, fallbacks = sum(shown[s]["attempts"] for s in counted), sum(shown[s]["fallbacks_total"] for s in counted)
    (total,) = run.api("overview")["totals"]
    assert (total["attempts"], total["fallbacks"]) == (attempts, fallbacks) == (45, 2)
    metrics = run.worker.metrics()
    assert metrics['unmask_capability_attempts_total{capability="search"}'] == attempts
    assert sum(n for s, n in metrics.items() if s.startswith("unmask_capability_fallbacks_total{")) == fallbacks
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": run.kafka, "UNMASK_NAMESPACE": run.namespace}
    command = [str(Path(sys.executable).with_name("unmask")), "verify", "--since", "10m", "--window-seconds", "5"]
    verified = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def _all_complete(run: Run) -> Any:
    size = next(iter(run.api("overview")["sizes"]), None)
    counted = [window for window in size["windows"] if window["attempts"]] if size else []
    return size if counted and all(window["state"] == "COMPLETE" for window in counted) else None


def test_it_is_read_at_every_width_in_light_and_dark_and_by_everybody(run: Run, show: Callable[..., Page]) -> None:
    run.begin()
    eventually(lambda: _all_complete(run))
    eventually(lambda: any(line["verdict"] for line in run.api("overview")["sessions"]))
    for path in ("/", "/sessions/masked", "/sessions/old-one"):
        for scheme in ("light", "dark"):
            page = show(f"{run.address}{path}", scheme=scheme)
            expect(page.locator("#live")).to_contain_text("Live,")
            assert accessibility_faults(page) == [], (path, scheme)
            for width in (360, 961, 1920):
                page.set_viewport_size({"width": width, "height": 800})
                assert sideways_scroll(page) <= 0, (path, width)
                if width == 360:
                    assert accessibility_faults(page) == [], (path, scheme, width)
                    picture(page, f"phone-{scheme}-{path.strip('/').replace('/', '-') or 'overview'}")
            page.set_viewport_size({"width": 1280, "height": 900})
            if scheme == "dark" and path == "/":
                picture(page, "dark")
    still = show(f"{run.address}/", reduced_motion="reduce")
    moving = show(f"{run.address}/", reduced_motion="no-preference")
    how = "getComputedStyle(document.body).transitionProperty === 'none'"
    assert still.evaluate(how)
    assert not moving.evaluate(how)


def test_it_is_worked_by_keyboard_alone_and_updates_take_nothing_from_it(run: Run, show: Callable[..., Page]) -> None:
    run.begin()
    eventually(lambda: any(line["session_id"] == "masked" for line in run.api("overview")["sessions"]))
    page = show(f"{run.address}/")
    expect(row(page, "sessions", "masked")).to_be_visible()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    focused = "document.activeElement.textContent"
    for _ in range(200):
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if page.evaluate(focused) == "masked" and page.evaluate("!!document.activeElement.closest('#sessions')"):
            break
    seen = page.locator("#live").inner_text()
    expect(page.locator("#live")).not_to_have_text(seen)
    assert page.evaluate(focused) == "masked"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Session masked")


def test_what_a_host_calls_a_session_is_text_and_nothing_else(run: Run, show: Callable[..., Page]) -> None:
    """The SDK would publish a digest of such an id; whoever writes to the topic by himself may not."""
    now = time.time_ns() // 1000
    run.stream.session(session_tally(HOSTILE, opened_at=now, last_seen_at=now))
    page = show(f"{run.address}/")
    link = page.get_by_role("link", name=HOSTILE)
    expect(link).to_be_visible()
    assert page.locator("img").count() == 0
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Session {HOSTILE}")
    expect(page.locator("#verdict")).to_contain_text("It runs")
    expect(page.locator("#live")).to_contain_text("Live,")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_every_answer_is_guarded_and_what_is_not_there_is_said(run: Run) -> None:
    for path, status in (
        ("/", 200), ("/api/overview", 200), ("/api/workers", 200), ("/assets/page.css", 200), ("/sessions/nobody", 404),
        ("/windows/5/300", 404), ("/windows/x/y", 404), ("/assets/secret", 404), ("/api/sessions/nobody", 404),
        ("/api/windows/5/300", 404), ("/events?page=/nothing", 200),
    ):  # fmt: skip
        request = urllib.request.Request(run.address + path)
        try:
            answer: Any = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        assert answer.status == status, path
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        answer.close()


def test_an_older_session_is_looked_up_where_it_stands(run: Run, show: Callable[..., Page]) -> None:
    assert run.api("sessions/old-one")["session"]["session_id"] == "old-one"
    assert "old-one" not in [line["session_id"] for line in run.api("overview")["sessions"]]
    page = show(f"{run.address}/sessions/old-one")
    expect(page.locator("#verdict")).to_contain_text("It runs")


def test_selections_recoveries_and_delegations_are_read_without_javascript_too(
    run: Run, show: Callable[..., Page]
) -> None:
    detail = run.api("sessions/old-one")["detail"]
    assert [line["profile"] for line in detail["selections"]] == ["large", "mini"]
    for more in ({}, {"java_script_enabled": False}):
        page = show(f"{run.address}/sessions/old-one", **more)
        lane = row(page, "timelines", "rate limited")
        expect(lane).to_contain_text("now: mini")
        expect(page.locator("#timelines")).to_contain_text("user chose last: large.")
        expect(page.locator("#timelines tbody").last).to_contain_text("mini")
        delegated = row(page, "delegations", "10 of 40 calls")
        expect(delegated).to_contain_text("gate: 3 (1 appealed, 0 wrong)")
        expect(delegated).to_contain_text("NOT TRIPPED")
        picture(page, f"session-recoveries{'-without-javascript' if more else ''}")
    run.begin()
    eventually(lambda: any(line["session_id"] == "masked" for line in run.api("overview")["sessions"]))
    # Of a session without any, it is not said that there were none.
    expect(show(f"{run.address}/sessions/masked").locator("#timelines")).to_contain_text("That is not a 'none'.")


def test_a_broken_broker_and_a_worker_that_is_gone_are_told(
    jvm_broker: Callable[[], JvmBroker], show: Callable[..., Page]
) -> None:
    broker, port = jvm_broker(), free_port()
    create_topics(broker.bootstrap, Topics("shop", events_partitions=1, table_partitions=1), 1)
    worker = WorkerProcess(broker.bootstrap, "shop", "--port", str(port)).wait_ready()
    try:
        page = show(f"http://127.0.0.1:{port}/")
        expect(page.locator("#status")).to_contain_text("EMPTY")
        broker.kill()
        expect(page.locator("#status")).to_contain_text("The broker has not answered since")
        expect(page.locator("#status")).to_contain_text("BROKEN")
        picture(page, "broker-gone")

        # A process that hangs keeps its connections.
        worker.send(signal.SIGSTOP)
        expect(page.locator("#lost")).to_contain_text("the worker that serves this page does not answer")
        expect(page.locator("#live")).to_contain_text("Not live since")
        picture(page, "worker-gone")
        worker.send(signal.SIGCONT)
        expect(page.locator("#lost")).to_be_hidden()
        expect(page.locator("#live")).to_contain_text("Live,")
        worker.end(signal.SIGKILL)
        expect(page.locator("#lost")).to_contain_text("Not live since")
    finally:
        worker.end(signal.SIGKILL)
