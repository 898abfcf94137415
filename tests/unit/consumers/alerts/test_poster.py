"""The HTTP client against real sockets: everything a receiver can do to it ends, in time, in an answer."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from unmask.consumers.alerts.answer import Accepted, Answer, Failed, Refused
from unmask.consumers.alerts.outbox import Content
from unmask.consumers.alerts.poster import Poster
from unmask.consumers.alerts.receiver import BadAddress, Receiver, ReceiverKind

CONTENT = Content(b'{"schema":"unmask.alert"}', {"Idempotency-Key": "k-1"})
Conversation = Callable[[socket.socket], None]


@contextmanager
def serving(talk: Conversation) -> Iterator[str]:
    """A server that does what `talk` says on each connection; the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=converse, args=(connection,), daemon=True).start()

    def converse(connection: socket.socket) -> None:
        try:
            talk(connection)
        except OSError:
            return  # the client had enough

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
    finally:
        listener.shutdown(socket.SHUT_RDWR)  # closing alone would leave the accept of the other thread
        listener.close()
        for connection in connections:
            connection.close()


def request(connection: socket.socket) -> bytes:
    received = b""
    while CONTENT.body not in received:
        piece = connection.recv(4096)
        if not piece:
            return received
        received += piece
    return received


def answering(answer: bytes) -> Conversation:
    def talk(connection: socket.socket) -> None:
        while request(connection):
            connection.sendall(answer)

    return talk


def posted(url: str, *, timeout: float = 5.0, authorization: str | None = None) -> Answer:
    with Poster(Receiver(ReceiverKind.WEBHOOK, url, authorization), timeout=timeout) as poster:
        return poster.post(CONTENT).result(20)


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", Accepted(204)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Accepted(200)),
        (b"HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", Failed("HTTP 503", 7.0)),
        (b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n", Failed("HTTP 429")),
        (b"HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nwhy", Refused(400)),
        (b"HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", Refused(302)),
        (b"not http at all\r\n\r\n", Failed("RemoteProtocolError")),
    ],
)
def test_a_status_decides(answer: bytes, meaning: Answer) -> None:
    with serving(answering(answer)) as url:
        assert posted(url) == meaning


def test_the_request_holds_body_key_and_authorization() -> None:
    seen: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        seen.append(request(connection))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with serving(talk) as url:
        posted(url, authorization="Bearer t0ken")
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert body == CONTENT.body
    lines = {line.split(b":")[0].lower(): line.split(b":", 1)[1].strip() for line in head.split(b"\r\n")[1:]}
    assert head.startswith(b"POST /hook HTTP/1.1")
    assert lines[b"content-type"] == b"application/json"
    assert lines[b"idempotency-key"] == b"k-1"
    assert lines[b"authorization"] == b"Bearer t0ken"
    assert lines[b"user-agent"].startswith(b"unmask/")


def test_nobody_listening_is_a_failure() -> None:
    with serving(lambda _: None) as url:
        pass
    assert posted(url) == Failed("ConnectError")


def test_a_connection_that_is_cut_in_the_middle_is_a_failure() -> None:
    def talk(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(b"HTTP/1.1 200")
        connection.shutdown(socket.SHUT_RDWR)

    with serving(talk) as url:
        assert posted(url) == Failed("RemoteProtocolError")


def test_silence_ends_in_time() -> None:
    with serving(lambda connection: time.sleep(30)) as url:
        began = time.monotonic()
        assert posted(url, timeout=0.5) == Failed("no answer within 0.5 s")
        assert time.monotonic() - began < 3


def test_a_receiver_that_sends_a_byte_now_and_then_cannot_hold_a_request_for_ever() -> None:
    def talk(connection: socket.socket) -> None:
        request(connection)
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1_000:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    with serving(talk) as url:
        began = time.monotonic()
        assert posted(url, timeout=0.5) == Failed("no answer within 0.5 s")
        assert time.monotonic() - began < 3


def test_a_body_without_end_does_not_make_an_accepted_request_a_failed_one() -> None:
    def talk(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 10_000)

    with serving(talk) as url:
        began = time.monotonic()
        assert posted(url) == Accepted(200)
        assert time.monotonic() - began < 4


def test_a_connection_is_used_again_and_its_loss_between_requests_is_only_a_failure() -> None:
    connections = []

    def talk(connection: socket.socket) -> None:
        connections.append(connection)
        for _ in range(3):
            request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with serving(talk) as url, Poster(Receiver(ReceiverKind.WEBHOOK, url), timeout=5.0) as poster:
        assert [poster.post(CONTENT).result(10) for _ in range(3)] == [Accepted(200)] * 3
    assert len(connections) == 1


def test_closing_does_not_wait_for_what_is_under_way() -> None:
    with serving(lambda connection: time.sleep(30)) as url:
        poster = Poster(Receiver(ReceiverKind.WEBHOOK, url), timeout=30.0)
        future: Future[Answer] = poster.post(CONTENT)
        time.sleep(0.2)
        began = time.monotonic()
        poster.close()
        assert time.monotonic() - began < 3
        assert future.cancelled()
        poster.close()


def test_an_address_that_only_the_client_finds_wrong_is_named_too() -> None:
    with pytest.raises(BadAddress):
        Poster(Receiver(ReceiverKind.WEBHOOK, "http://☃_..org/"), timeout=1.0)
