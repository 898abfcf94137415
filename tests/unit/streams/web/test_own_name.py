"""A worker that listens on this machine only answers to this machine's own names."""

import asyncio

import aiohttp
import pytest
from aiohttp import web

from unmask.streams.web.own_name import answer_to_own_names, is_loopback


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8080", "127.8.0.1", "localhost:80", "LOCALHOST.", "[::1]:8080", "::1"]
)
def test_this_machines_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ":80",
        "evil.example",
        "evil.example:8080",
        "10.0.0.7",
        "[2001:db8::1]:80",
        "127.0.0.1.evil.example",
        "localhost.evil",
    ],
)
def test_other_names(host: str) -> None:
    assert not is_loopback(host)


def _status(listens_on: str, host: str) -> int:
    async def run() -> int:
        async def hello(_: web.Request) -> web.Response:
            return web.Response(text="hello")

        app = web.Application(middlewares=[answer_to_own_names(listens_on)])
        app.router.add_get("/", hello)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
            async with aiohttp.ClientSession() as client, client.get(url, headers={"Host": host}) as answer:
                return answer.status
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def test_a_page_from_elsewhere_whose_name_points_here_is_refused() -> None:
    assert _status("127.0.0.1", "evil.example:8080") == 421
    assert _status("localhost", "evil.example") == 421
    assert _status("127.0.0.1", "localhost:8080") == 200


def test_a_worker_that_listens_for_others_answers_to_any_name() -> None:
    assert _status("0.0.0.0", "worker-1.internal:8080") == 200
