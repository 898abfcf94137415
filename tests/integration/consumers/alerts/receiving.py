"""Receivers of alerts that tests can break: a real HTTP server, and a watcher in a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["Hook", "Request", "Watcher", "eventually", "free_port"]

HANG = -1
"""In place of a status: no answer at all."""


def eventually(check: Callable[[], Any], timeout: float = 40.0) -> Any:
    """The first true answer of a check that is asked again and again."""
    deadline = time.monotonic() + timeout
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {timeout:.0f} s"
        time.sleep(0.05)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Request:
    """What a receiver was sent, and how it answered."""

    key: str
    body: Any
    status: int

    @property
    def change(self) -> tuple[str, str]:
        """Identity and state."""
        return self.body["alert"]["alert_id"], self.body["alert"]["state"]


class Hook:
    """An HTTP server on a port that it keeps, also while it is down. `answer` decides the status of each request."""

    HANG = HANG

    def __init__(self) -> None:
        self.port = free_port()
        self.requests: list[Request] = []
        self.answer: Callable[[Any], int] = lambda _: 200
        self._server: ThreadingHTTPServer | None = None
        self._released = threading.Event()

    @property
    def url(self) -> str:
        """The address; its query is a secret that nobody should see."""
        return f"http://127.0.0.1:{self.port}/hook?token=s3cret"

    @property
    def accepted(self) -> list[Request]:
        """The requests that were answered with a success, in their order."""
        return [request for request in list(self.requests) if 200 <= request.status < 300]

    def changes(self) -> list[tuple[str, str]]:
        """What the accepted requests told."""
        return [request.change for request in self.accepted]

    def start(self) -> "Hook":
        """Listens."""
        self._released.clear()
        self._server = _Server(("127.0.0.1", self.port), self)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self) -> None:
        """Refuses connections."""
        server, self._server = self._server, None
        self._released.set()
        if server is not None:
            server.shutdown()
            server.server_close()

    def take(self, key: str, body: Any) -> int:
        """Records a request; its status."""
        status = self.answer(body)
        self.requests.append(Request(key, body, status))
        if status == HANG:
            self._released.wait(60)
        return status


class _Server(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], hook: Hook) -> None:
        self.hook = hook
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.hook.take(self.headers.get("Idempotency-Key", ""), body)
        if status == HANG:
            return
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing."""


class Watcher:
    """`unmask watch` in a process of its own."""

    def __init__(self, bootstrap: str, namespace: str, *arguments: str, **environment: str) -> None:
        command = [str(Path(sys.executable).with_name("unmask")), "watch", "--json", *arguments]
        surroundings = {
            **os.environ, "KAFKA_BOOTSTRAP_SERVERS": bootstrap, "UNMASK_NAMESPACE": namespace, **environment,
        }  # fmt: skip
        self.process = subprocess.Popen(
            command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.told: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_out, daemon=True), threading.Thread(target=self._read_err, daemon=True),
        ]  # fmt: skip
        for reader in self._readers:
            reader.start()

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        self.complaints.extend(self.process.stderr)

    @property
    def log(self) -> str:
        """Standard error so far."""
        return "".join(self.complaints)

    def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        self.process.kill()
        self._wait()

    def end(self) -> int:
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._wait()

    def _wait(self) -> int:
        code = self.process.wait(30)
        for reader in self._readers:
            reader.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code
