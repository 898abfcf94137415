"""The worker's endpoints."""

import asyncio
from collections.abc import Iterable
from typing import Any

import aiohttp
import pytest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from unmask.streams.web.server import Readiness, WebServer


class One(Collector):
    """One counter."""

    def collect(self) -> Iterable[Any]:
        family = CounterMetricFamily("unmask_fallbacks", "Fallbacks.", labels=("capability",))
        family.add_metric(("search",), 1)
        return [family]


def ask(path: str, *, alive: bool = True, reasons: dict[str, str] | None = None, accept: str = "") -> Any:
    async def run() -> Any:
        server = WebServer(
            "127.0.0.1",
            0,
            collector=One(),
            alive=lambda: alive,
            readiness=lambda: Readiness(reasons or {}, ("tables",)),
        )
        port = await server.start()
        try:
            async with aiohttp.ClientSession() as client:
                headers = {"Accept": accept} if accept else {}
                async with client.get(f"http://127.0.0.1:{port}{path}", headers=headers) as answer:
                    body = await answer.text()
                    return answer.status, answer.headers["Content-Type"], body
        finally:
            await server.stop()

    return asyncio.run(run())


@pytest.mark.parametrize(("alive", "status"), [(True, 200), (False, 503)])
def test_health_says_whether_the_worker_lives(alive: bool, status: int) -> None:
    assert ask("/healthz", alive=alive)[0] == status


def test_a_ready_worker_is_ready() -> None:
    status, kind, body = ask("/readyz")
    assert (status, kind) == (200, "application/json; charset=utf-8")
    assert body == '{"ready": true, "parts": ["tables"], "not_ready": {}}'


def test_a_worker_that_is_not_ready_says_why() -> None:
    status, _, body = ask("/readyz", reasons={"ledger": "joining"})
    assert (status, '"ledger": "joining"' in body, '"ready": false' in body) == (503, True, True)


def test_metrics_come_as_text_and_as_openmetrics() -> None:
    """L03: once each, without a doubled suffix."""
    _, text_kind, text = ask("/metrics")
    _, open_kind, openmetrics = ask("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert text_kind.startswith("text/plain")
    assert open_kind.startswith("application/openmetrics-text")
    for body in (text, openmetrics):
        assert body.count('unmask_fallbacks_total{capability="search"} 1.0') == 1
        assert "_created" not in body
