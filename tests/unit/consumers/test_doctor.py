"""What the doctor makes of what it finds, without a cluster."""

import http.server
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from unmask.consumers.doctor import Status, examine
from unmask.consumers.doctor.api_versions import ApiVersionsUnknown, ask_api_versions, parse_answer
from unmask.consumers.doctor.clock import judge_clock
from unmask.consumers.doctor.ledger_group import lag_by_partition
from unmask.consumers.doctor.worker import check_worker


@contextmanager
def worker_that_answers(status: int, body: bytes) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name is http.server's
            found = self.path == "/readyz"
            self.send_response(status if found else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests keep their own output."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def listener_that_says(answer: bytes) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def test_without_a_broker_the_doctor_fails_once_and_names_the_fix() -> None:
    findings = list(examine("127.0.0.1:1", "x", timeout=1.0))
    (failure,) = [finding for finding in findings if finding.status is Status.FAILED]
    assert failure.check == "broker"
    assert "127.0.0.1:1" in failure.detail
    assert failure.fix is not None
    assert "unmask broker start" in failure.fix
    assert findings[-1] is failure


def test_whatever_is_not_ok_has_a_fix() -> None:
    findings = list(examine("127.0.0.1:1", "x", timeout=0.5, worker="127.0.0.1:1"))
    assert any(finding.check == "worker" for finding in findings)
    assert all(finding.fix for finding in findings if finding.status is not Status.OK)


def test_a_worker_that_is_ready_is_found_with_and_without_the_path() -> None:
    with worker_that_answers(200, b'{"ready": true}') as address:
        for url in (address, f"http://{address}", f"http://{address}/readyz"):
            (finding,) = check_worker(url, 5)
            assert (finding.status, '"ready": true' in finding.detail) == (Status.OK, True)


def test_a_worker_that_is_not_ready_says_why() -> None:
    with worker_that_answers(503, b"replaying") as address:
        (finding,) = check_worker(address, 5)
    assert finding.status is Status.FAILED
    assert "503: replaying" in finding.detail


@pytest.mark.parametrize("ahead", [0, 5_000, -5_000])
def test_a_small_clock_difference_is_fine(ahead: int) -> None:
    assert judge_clock(ahead).status is Status.OK


@pytest.mark.parametrize(("ahead", "status"), [(-6_000, Status.WARNING), (300_001, Status.FAILED)])
def test_a_large_clock_difference_is_not(ahead: int, status: Status) -> None:
    finding = judge_clock(ahead)
    assert finding.status is status
    assert ("behind" if ahead < 0 else "ahead") in finding.detail


def test_lag_counts_what_still_stands_on_the_topic() -> None:
    starts, ends = {0: 100, 1: 0, 2: 0}, {0: 150, 1: 10, 2: 5}
    # Partition 0 has lost its head, partition 1 was never committed, partition 2 is read.
    assert lag_by_partition(starts, ends, {0: 40, 1: -1001, 2: 5}) == {0: 50, 1: 10, 2: 0}


def test_an_answer_of_a_broker_is_understood() -> None:
    answer = struct.pack(">ihi", 1, 0, 2) + struct.pack(">hhh", 0, 0, 9) + struct.pack(">hhh", 28, 0, 3)
    assert parse_answer(answer) == {0: 9, 28: 3}
    with listener_that_says(struct.pack(">i", len(answer)) + answer) as port:
        assert ask_api_versions("127.0.0.1", port, 5) == {0: 9, 28: 3}


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0", struct.pack(">iih", 6, 1, 35), struct.pack(">iihi", 10, 1, 0, 9)],
)
def test_a_listener_that_is_not_kafkas_is_named(answer: bytes) -> None:
    with listener_that_says(answer) as port, pytest.raises(ApiVersionsUnknown):
        ask_api_versions("127.0.0.1", port, 5)
