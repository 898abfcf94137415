"""The upstream: a small HTTP server that answers, stalls, refuses, rate-limits, fails and recovers as the plan says.

Refusing is real: the listening socket is closed, while the port stays reserved by a socket that does not listen.
"""

import argparse
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from demo.plan import PLANS, Behaviour, Plan

__all__ = ["Upstream", "main"]

_HOST = "127.0.0.1"
_LOOK_S = 0.02
_STALL_S = 3.0  # longer than any client of the demo waits


class Upstream:
    """Serves by the plan, whose start is `start` in seconds since the epoch."""

    def __init__(self, port: int, plan: Plan, start: float) -> None:
        self._address = (_HOST, port)
        self._plan = plan
        self._start = start
        self._reserved: socket.socket | None = _bound(self._address)
        self._server: ThreadingHTTPServer | None = None

    def behaviour(self) -> Behaviour:
        """What it does now."""
        return self._plan.behaviour_at(time.time() - self._start)

    def run(self, stop: threading.Event) -> None:
        """Serves until it is told to stop."""
        while not stop.wait(_LOOK_S):
            if self.behaviour() is Behaviour.REFUSES:
                self._close()
            else:
                self._open()
        self._close()
        if self._reserved is not None:
            self._reserved.close()

    def _open(self) -> None:
        if self._server is not None or self._reserved is None:
            return
        server = ThreadingHTTPServer(self._address, self._handler(), bind_and_activate=False)
        server.daemon_threads = True
        server.socket.close()
        server.socket, self._reserved = self._reserved, None
        server.server_activate()
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._server = server

    def _close(self) -> None:
        if self._server is None:
            return
        server, self._server = self._server, None
        server.shutdown()
        server.server_close()
        self._reserved = _bound(self._address)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _respond(self, upstream.behaviour())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name for it
                """Requests are not logged; the hosts' journals are the record."""

        return Handler


def _respond(request: BaseHTTPRequestHandler, behaviour: Behaviour) -> None:
    match behaviour:
        case Behaviour.TIMES_OUT:
            time.sleep(_STALL_S)
            request.close_connection = True
            return
        case Behaviour.RATE_LIMITS:
            status, body = 429, {"error": "slow down"}
        case Behaviour.FAILS:
            status, body = 503, {"error": "out of order"}
        case _:
            status, body = 200, {"answer": request.path.strip("/").partition("?")[0]}
    payload = json.dumps(body).encode()
    try:
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(payload)))
        request.end_headers()
        request.wfile.write(payload)
    except (BrokenPipeError, ConnectionResetError):
        # The client has given up.
        request.close_connection = True


def _bound(address: tuple[str, int]) -> socket.socket:
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(address)
    return reserved


def main(arguments: list[str] | None = None) -> None:
    """Serve until the demo ends."""
    parser = argparse.ArgumentParser(prog="demo.upstream")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--plan", choices=sorted(PLANS), required=True)
    parser.add_argument("--start", type=float, required=True, help="start of the plan, seconds since the epoch")
    given = parser.parse_args(arguments)
    upstream = Upstream(given.port, PLANS[given.plan], given.start)
    sys.stdout.write("serving\n")
    sys.stdout.flush()
    upstream.run(threading.Event())


if __name__ == "__main__":
    main()
