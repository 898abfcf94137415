"""The page's addresses as browsers use them: how many are served at one time, who is let go, and what is said then."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession, TCPConnector
from aiohttp.test_utils import TestServer
from aiohttp.web import Application
from confluent_kafka import KafkaError, KafkaException
from tests.unit.streams.web.page.answering import Reader, setting

from unmask.streams.web.page import routes
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.lines.sessions import SessionFacts
from unmask.streams.web.page.lookup import LookupTimeout
from unmask.streams.web.page.markup import Html
from unmask.streams.web.page.memory import Memory
from unmask.streams.web.page.routes import Page
from unmask.streams.web.page.views import View


class ReadAlready(Reader):
    """A page's reader that has nothing to read."""

    def __init__(self, *_: Any) -> None:
        super().__init__(Memory(Limits()))
        self.caught_up = threading.Event()
        self.caught_up.set()

    def touch(self) -> None:
        """Somebody looks."""

    def stop(self) -> None:
        """Nothing runs."""


@asynccontextmanager
async def served(**limits: Any) -> AsyncIterator[tuple[Page, str]]:
    page = Page("127.0.0.1:1", setting(**limits))
    app = Application()
    app.router.add_routes(page.routes())
    server = TestServer(app)
    await server.start_server()
    try:
        yield page, f"http://127.0.0.1:{server.port}"
    finally:
        await page.stop()
        await server.close()


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "PageReader", ReadAlready)


def held_up(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Has look-ups wait for this event, and find nothing."""
    going_on = threading.Event()

    def look_up(*_: Any) -> None:
        going_on.wait(20)

    monkeypatch.setattr(routes, "look_up", look_up)
    return going_on


def test_of_many_viewers_who_come_together_no_more_are_let_in_than_there_is_room_for() -> None:
    async def crowd() -> list[int]:
        async with served(viewers=4) as (_, address), ClientSession(connector=TCPConnector(limit=0)) as client:
            answers = await asyncio.gather(*(client.get(f"{address}/events") for _ in range(40)))
            for answer in answers:
                answer.close()
            return [answer.status for answer in answers]

    statuses = asyncio.run(crowd())
    assert statuses.count(200) == 4
    assert statuses.count(503) == 36


def test_a_viewer_who_takes_nothing_is_let_go_and_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10_000))
    # Much more than the kernel keeps for a connection, and another text each time.
    large = lambda _self, _path: View("t", "h", {"status": Html(f"{next(numbers)} " * 1_000_000)})  # noqa: E731
    monkeypatch.setattr("unmask.streams.web.page.views.Views.view", large)

    async def wait() -> None:
        async with served(viewers=1, slow_s=0.3) as (page, address):
            loop, port = asyncio.get_running_loop(), int(address.rpartition(":")[2])
            with socket.socket() as mute:
                mute.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                mute.setblocking(False)
                await loop.sock_connect(mute, ("127.0.0.1", port))
                await loop.sock_sendall(mute, b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
                seen: set[int] = set()
                for _ in range(600):
                    seen.add(page._live.viewers)
                    if seen == {0, 1} and page._live.viewers == 0:
                        return
                    await asyncio.sleep(0.05)
                raise AssertionError(f"viewers at one time or another: {seen}")

    asyncio.run(wait())


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (LookupTimeout("session could not be looked up within 20 s"), "within 20 s"),
        (KafkaException(KafkaError(KafkaError._TRANSPORT)), "The broker does not answer"),
        (TimeoutError(), "The broker does not answer"),
    ],
)
def test_what_cannot_be_answered_now_is_no_fault_of_the_page(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, said: str
) -> None:
    def fail(*_: Any) -> SessionFacts | None:
        raise raised

    monkeypatch.setattr(routes, "look_up", fail)
    assert asyncio.run(_ask("/api/sessions/nobody")) == (503, True, said), said


def test_more_look_ups_than_are_taken_on_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    going_on = held_up(monkeypatch)

    async def many() -> list[int]:
        async with served() as (_, address), ClientSession(connector=TCPConnector(limit=0)) as client:
            asked = {asyncio.ensure_future(client.get(f"{address}/api/sessions/s-{n}")) for n in range(20)}
            while len([one for one in asked if one.done()]) < 12:
                await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED, timeout=0.05)
            going_on.set()
            answers = await asyncio.gather(*asked)
            busy = [answer for answer in answers if answer.status == 503]
            for answer in busy:
                assert "ask again in a moment" in await answer.text()
            return [answer.status for answer in answers]

    statuses = asyncio.run(many())
    # Those that were taken on are known not to be; of the others nothing is said.
    assert (statuses.count(404), statuses.count(503)) == (8, 12)


async def _ask(path: str) -> tuple[int, bool, str]:
    async with served() as (_, address), ClientSession() as client, client.get(address + path) as answer:
        text = await answer.text()
        guarded = answer.headers["X-Content-Type-Options"] == "nosniff"
        return (
            answer.status,
            guarded,
            next(part for part in ("within 20 s", "The broker does not answer") if part in text),
        )


def test_a_session_that_is_still_looked_up_is_not_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    going_on = held_up(monkeypatch)
    monkeypatch.setattr(routes, "_LOOK_UP_S", 0.2)
    monkeypatch.setattr(routes, "_FIRST_LOOK_S", 0.2)

    async def twice() -> list[tuple[int, str]]:
        async with served() as (_, address), ClientSession() as client:
            found = []
            for wait in (True, False):
                for path in ("/api/sessions/s", "/sessions/s"):
                    async with client.get(address + path) as answer:
                        found.append((answer.status, await answer.text()))
                if wait:
                    going_on.set()
                    await asyncio.sleep(0.1)
            return found

    (first, said), (_, waits), (second, _), (_, unknown) = asyncio.run(twice())
    assert (first, second) == (503, 404)
    assert "still being looked up" in said
    assert "is looked up on the topics" in waits
    assert "Nothing stands of a session with this id" in unknown
