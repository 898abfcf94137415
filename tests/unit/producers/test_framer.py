"""Batches with a schema registry: nobody waits for it but the background thread, and nothing is lost by its absence."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.outbox_rig import end_of_the_dead, held

from unmask.producers import Emitter, EmitterSettings
from unmask.producers.account import Account
from unmask.producers.batcher import Batcher
from unmask.producers.framer import REGISTRY_UNAVAILABLE, Framer
from unmask.producers.store import MemoryStore, StoredBatch
from unmask.producers.wire import Identity
from unmask.schemas.codec import MAGIC
from unmask.schemas.codes import DropCause, Family
from unmask.schemas.framing import RegistryClientMissing
from unmask.schemas.history import published
from unmask.schemas.registry import RegistryFraming, registry_client
from unmask.schemas.scope import Scope

NOBODY = "127.0.0.1:1"


class Registry(ThreadingHTTPServer):
    """Gives every schema the id 7, once it is opened."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked = 0
        self.opened = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    server: Registry

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        self._answer({"id": 7} if self.server.opened.is_set() else None)

    def do_GET(self) -> None:
        self._answer(None)

    def _answer(self, body: dict[str, Any] | None) -> None:
        data = json.dumps(body or {"error_code": 50001, "message": "not now"}).encode()
        self.send_response(503 if body is None else 200)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    server = Registry()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", server.url)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


class Kept(MemoryStore):
    """What was cut."""

    def __init__(self, _owner: object = None) -> None:
        super().__init__()
        self.cut: list[StoredBatch] = []

    def put(self, batch: StoredBatch) -> None:
        self.cut.append(batch)
        super().put(batch)


def test_events_wait_in_their_lanes_until_the_registry_has_answered(registry: Registry) -> None:
    store = Kept()
    before = time.perf_counter()
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY, flush_interval_ms=10), stores=lambda _: store)
    for _ in range(500):
        emitter.record_route_attempt("answer")
    emitter.record_fallback("answer", 503)
    assert time.perf_counter() - before < 2
    _until(lambda: emitter.health().problem == REGISTRY_UNAVAILABLE)
    assert registry.asked >= 1
    assert (emitter.health().batches_cut, store.cut) == (0, [])
    assert emitter.counts()[Family.ROUTE_ATTEMPT].pending == 500
    registry.opened.set()
    _until(lambda: sum(batch.events.get(Family.ROUTE_ATTEMPT, 0) for batch in store.cut) == 500)
    assert emitter.counts()[Family.ROUTE_ATTEMPT].pending == 500
    emitter.close(1)
    assert all(batch.data[:5] == b"\0\0\0\0\x07" for batch in store.cut)
    framing = RegistryFraming(registry_client(registry.url))
    prefix = framing.encode("event_batch", _opening())[:5]
    assert prefix == store.cut[0].data[:5]
    assert sum(batch.events.get(Family.ROUTE_ATTEMPT, 0) for batch in store.cut) == 500
    assert emitter.health().internal_errors == 0


def test_after_its_first_answer_the_registry_is_not_asked_again(registry: Registry) -> None:
    registry.opened.set()
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY, flush_interval_ms=5))

    def cut_some() -> bool:
        emitter.record_fallback("answer", 503)
        return emitter.health().batches_cut > 5

    _until(cut_some)
    emitter.close(0.3)
    # Once for each version that a batch may be written in.
    assert registry.asked == len(published("event_batch"))


def test_a_registry_that_stays_away_holds_neither_the_host_nor_its_end_up(registry: Registry) -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY, buffer_limit=10, flush_interval_ms=5))
    for _ in range(25):
        emitter.record_route_attempt("answer")
    count = emitter.counts()[Family.ROUTE_ATTEMPT]
    assert (count.pending, dict(count.dropped)) == (10, {DropCause.BUFFER_FULL: 15})
    before = time.monotonic()
    report = emitter.close(0.3)
    assert time.monotonic() - before < 2
    assert report.dropped[Family.ROUTE_ATTEMPT] == {DropCause.BUFFER_FULL: 15, DropCause.CLOSE_DEADLINE: 10}


def test_with_an_outbox_what_waited_in_vain_is_told_by_the_next_start(registry: Registry, tmp_path: Path) -> None:
    emitter = Emitter(EmitterSettings(bootstrap_servers=NOBODY, outbox_dir=tmp_path, flush_interval_ms=5))
    for _ in range(10):
        emitter.record_route_attempt("answer")
    emitter.close(0.3)
    _until(lambda: not emitter.health().running)
    (only,) = end_of_the_dead(tmp_path / "unmask.events")
    assert (only["batch_seq"], only["closing"], held([only])) == (1, True, {})
    assert only["accounts"] == [
        {"family": "route_attempt", "recorded": 10, "dropped": [{"cause": "close_deadline", "count": 10}]}
    ]


def test_a_forked_child_asks_with_a_client_of_its_own(registry: Registry) -> None:
    registry.opened.set()
    framer = Framer.from_environment()
    child = framer.anew()
    assert child is not framer
    assert not child.ready
    assert child.prepare(_opening)
    assert child.encode("event_batch", _opening())[:5] == b"\0\0\0\0\x07"


def test_without_a_registry_encoding_is_ready_at_once_and_single_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCHEMA_REGISTRY_URL", raising=False)
    framer = Framer.from_environment()
    assert framer.ready
    assert framer.anew() is framer
    assert framer.encode("event_batch", _opening())[:2] == MAGIC


def test_a_registry_without_its_client_installed_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RegistryClientMissing("httpx")

    monkeypatch.setattr("unmask.producers.framer.framing_from_environment", missing)
    with pytest.raises(RegistryClientMissing, match=r"unmask\[registry\]"):
        Emitter(EmitterSettings(bootstrap_servers=NOBODY))


def _opening() -> dict[str, Any]:
    identity = Identity("e", 1_767_225_600_000_000, Scope("r", "c", "t", "p", "s"), 10_000, "test")
    return Batcher(identity, Account(), max_bytes=10_000, max_events=10).opening()
