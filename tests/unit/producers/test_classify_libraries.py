"""Real errors of the clients that hosts use, against real sockets of this machine."""

import asyncio
import contextlib
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import httpx
import pytest
import requests

from unmask.producers import classify_upstream
from unmask.schemas.codes import UpstreamClass
from unmask.schemas.signatures import classify_signature


def _aiohttp(url: str, timeout: float) -> None:
    async def get() -> None:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout), raise_for_status=True) as session,
            session.get(url) as response,
        ):
            await response.read()

    asyncio.run(get())


def _httpx(url: str, timeout: float) -> None:
    httpx.get(url, timeout=timeout).raise_for_status()


def _requests(url: str, timeout: float) -> None:
    requests.get(url, timeout=timeout).raise_for_status()


def _urllib(url: str, timeout: float) -> None:
    with urllib.request.urlopen(url, timeout=timeout) as response:
        response.read()


CLIENTS = [_httpx, _requests, _urllib, _aiohttp]
each_client = pytest.mark.parametrize("get", CLIENTS, ids=lambda client: client.__name__.strip("_"))
Get = Callable[[str, float], None]


def _error(get: Get, url: str) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011
        get(url, 0.3)
    return raised.value


@contextlib.contextmanager
def _server(answer: bytes | None) -> Iterator[str]:
    """Answers every request with the same bytes and hangs up; never, where `answer` is None."""
    listening = socket.create_server(("127.0.0.1", 0))
    held: list[Any] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                held.append(connection)
                connection.settimeout(2)
                connection.recv(65_536)
                if answer is not None:
                    connection.sendall(answer)
                    connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/timeout"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(3)
        for connection in held:
            connection.close()


@each_client
def test_nobody_listens(get: Get) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert classify_upstream(_error(get, f"http://127.0.0.1:{port}/")) == "CONNECTION_REFUSED"


@each_client
def test_no_answer_in_time(get: Get) -> None:
    with _server(None) as url:
        assert classify_signature(classify_upstream(_error(get, url))) is UpstreamClass.TIMEOUT


@each_client
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_an_error_status(get: Get, status: int) -> None:
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with _server(head.encode()) as url:
        assert classify_upstream(_error(get, url)) == f"HTTP_{status}"


@each_client
def test_a_body_that_ends_early(get: Get) -> None:
    with _server(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart") as url:
        assert classify_upstream(_error(get, url)) == "STREAM_BROKEN"


@each_client
def test_a_connection_that_is_closed_without_an_answer(get: Get) -> None:
    with _server(b"") as url:
        assert classify_signature(classify_upstream(_error(get, url))) is UpstreamClass.CONNECTION
