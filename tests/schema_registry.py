"""A server that speaks the schema registry's REST interface, and fails on request."""

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Registry(ThreadingHTTPServer):
    """Registers schemas, gives them by id, and fails on request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.schemas: list[str] = []
        self.subjects: list[str] = []
        self.requests: list[str] = []
        self.failures: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, schema: str) -> int:
        if schema not in self.schemas:
            self.schemas.append(schema)
        return self.schemas.index(schema) + 1


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def _failed(self) -> bool:
        self.server.requests.append(f"{self.command} {self.path}")
        failure = self.server.failures.pop(0) if self.server.failures else None
        if failure == "reset":
            # A reset instead of an orderly end, as when a proxy loses its peer.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            self.wfile = open("/dev/null", "wb")  # noqa: SIM115
        elif failure == "garbage":
            self._answer(200, raw=b"<html>")
        elif failure is not None:
            self._answer(int(failure), {"error_code": int(failure), "message": "no"})
        return failure is not None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self._failed():
            return
        subject = self.path.removeprefix("/subjects/").split("/versions")[0]
        self.server.subjects.append(subject)
        self._answer(200, {"id": self.server.add(body["schema"])})

    def do_GET(self) -> None:
        if self._failed():
            return
        schema_id = int(self.path.removeprefix("/schemas/ids/").split("?")[0])
        if not 1 <= schema_id <= len(self.server.schemas):
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})
            return
        self._answer(200, {"schema": self.server.schemas[schema_id - 1]})

    def _answer(self, status: int, body: object = None, raw: bytes | None = None) -> None:
        data = json.dumps(body).encode() if raw is None else raw
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def running_registry() -> Iterator[Registry]:
    """A registry that serves until the block ends."""
    server = Registry()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
