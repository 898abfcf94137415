"""An httpx client behind a passage sends nothing that was not admitted."""

import asyncio
import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest
from tests.unit.consumers.gate.asking import SESSION, StubGate

from unmask.consumers.gate import NotReady, NoVerdict, Passage, ReconcileFirst
from unmask.consumers.gate.httpx_traffic import (
    AsyncGatedTransport,
    GatedTransport,
    async_request_hook,
    request_hook,
)
from unmask.consumers.testing import clean_verdict, degraded_verdict

Sent = list[str]
URL = "http://prices.example/now"


@pytest.fixture
def sent() -> Sent:
    """Requests that really went out."""
    return []


@pytest.fixture
def upstream(sent: Sent) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.method} {request.url.host}")
        return httpx.Response(200)

    return httpx.MockTransport(answer)


def by_transport(passage: Passage, upstream: httpx.MockTransport, **options: object) -> httpx.Client:
    return httpx.Client(transport=GatedTransport(passage, upstream, **options))  # type: ignore[arg-type]


def by_hook(passage: Passage, upstream: httpx.MockTransport, **options: object) -> httpx.Client:
    hook = request_hook(passage, **options)  # type: ignore[arg-type]
    return httpx.Client(transport=upstream, event_hooks={"request": [hook]})


def by_async_transport(passage: Passage, upstream: httpx.MockTransport) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=AsyncGatedTransport(passage, upstream))


def by_async_hook(passage: Passage, upstream: httpx.MockTransport) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=upstream, event_hooks={"request": [async_request_hook(passage)]})


@pytest.mark.parametrize("make", [by_transport, by_hook])
def test_a_refused_request_is_never_sent_and_raises_its_refusal(
    make: Callable[..., httpx.Client], upstream: httpx.MockTransport, sent: Sent
) -> None:
    gate = StubGate("The broker is down.")
    with make(Passage(gate, SESSION), upstream) as client:
        with pytest.raises(NotReady):
            client.get(URL)
        assert sent == []
        gate.now = clean_verdict(SESSION)
        assert client.post(URL).status_code == 200
    assert sent == ["POST prices.example"]


@pytest.mark.parametrize("make", [by_transport, by_hook])
def test_reads_of_proven_equal_answers_pass_and_changes_do_not(
    make: Callable[..., httpx.Client], upstream: httpx.MockTransport, sent: Sent
) -> None:
    gate = StubGate(degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True))
    with make(Passage(gate, SESSION), upstream) as client:
        client.get(URL)
        with pytest.raises(ReconcileFirst):
            client.post(URL)
    assert sent == ["GET prices.example"]


@pytest.mark.parametrize("make", [by_transport, by_hook])
def test_only_the_named_hosts_wait_for_the_gate(
    make: Callable[..., httpx.Client], upstream: httpx.MockTransport, sent: Sent
) -> None:
    gate = StubGate()
    with make(Passage(gate, SESSION), upstream, hosts=["Prices.example"]) as client:
        client.post("http://telemetry.example/")
        with pytest.raises(Exception, match="NO_VERDICT"):
            client.get(URL)
    assert sent == ["POST telemetry.example"]
    assert gate.asked == [(SESSION, False)]


@pytest.mark.parametrize("make", [by_transport, by_hook])
@pytest.mark.parametrize("to", ["http://PRICES.example.:8080/now", "//prices.example/now"])
def test_a_redirect_leads_nobody_past_the_gate(make: Callable[..., httpx.Client], to: str, sent: Sent) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.host)
        return httpx.Response(307, headers={"location": to})

    upstream = httpx.MockTransport(answer)
    with make(Passage(StubGate(), SESSION), upstream, hosts=["prices.example"]) as client:
        client.follow_redirects = True
        with pytest.raises(NoVerdict):
            client.post("http://elsewhere.example/")
    assert sent == ["elsewhere.example"]


@pytest.mark.parametrize("make", [by_async_transport, by_async_hook])
def test_asynchronous_clients_wait_too(
    make: Callable[..., httpx.AsyncClient], upstream: httpx.MockTransport, sent: Sent
) -> None:
    gate = StubGate("The broker is down.")

    async def use() -> None:
        async with make(Passage(gate, SESSION), upstream) as client:
            with pytest.raises(NotReady):
                await client.get(URL)
            assert sent == []
            gate.now = clean_verdict(SESSION)
            await client.post(URL)

    asyncio.run(use())
    assert sent == ["POST prices.example"]


def test_without_httpx_the_gate_works_and_only_this_module_says_what_it_needs() -> None:
    script = """
import sys
sys.modules["httpx"] = None
import unmask.consumers.gate, unmask.consumers.gate.asgi
try:
    import unmask.consumers.gate.httpx_traffic
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install httpx" in done.stdout
