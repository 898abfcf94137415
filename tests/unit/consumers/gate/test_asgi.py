"""A request that continues a session reaches the application only when the gate has admitted it."""

import asyncio
from typing import Any

import httpx
import pytest
from tests.unit.consumers.gate.asking import SESSION, StubGate

from unmask.consumers.gate import AdmissionAnswer
from unmask.consumers.gate.asgi import REFUSAL_STATUS, AdmissionMiddleware, Receive, Scope, Send
from unmask.consumers.testing import clean_verdict, degraded_verdict, failed_verdict


class Application:
    """Answers 200 with the answer of the admission in its scope, and remembers what reached it."""

    def __init__(self) -> None:
        self.reached: list[Any] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission = scope.get("unmask.admission")
        self.reached.append(None if admission is None else str(admission.answer))
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"done"})


def ask(app: AdmissionMiddleware, method: str = "POST", **headers: str) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://agent.example") as client:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, "/work", headers=named)

    return asyncio.run(send())


def guarded(gate: StubGate, **options: Any) -> tuple[AdmissionMiddleware, Application]:
    inner = Application()
    return AdmissionMiddleware(inner, gate, **options), inner  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "answer"),
    [
        (None, "NO_VERDICT"),
        ("The broker is down.", "NOT_READY"),
        (degraded_verdict(SESSION), "RECONCILE_FIRST"),
        (failed_verdict(SESSION), "HALTED"),
        (clean_verdict(SESSION, evidence="LOSSY"), "UNPROVEN"),
        ({**clean_verdict(SESSION), "operations": 1}, "UNVERIFIABLE"),
    ],
)
def test_a_refused_request_never_reaches_the_application(now: Any, answer: str) -> None:
    app, inner = guarded(StubGate(now))
    response = ask(app, unmask_predecessor=SESSION)
    assert response.status_code == REFUSAL_STATUS[AdmissionAnswer(answer)]
    assert response.json()["answer"] == answer
    assert inner.reached == []
    assert ("retry-after" in response.headers) is (answer == "NOT_READY")


def test_every_refusal_has_a_status_of_its_own() -> None:
    refusing = set(AdmissionAnswer) - {AdmissionAnswer.ADMITTED, AdmissionAnswer.ADMITTED_READ_ONLY}
    assert set(REFUSAL_STATUS) == refusing
    assert len(set(REFUSAL_STATUS.values())) == len(refusing)


def test_an_admitted_request_reaches_it_with_its_admission() -> None:
    gate = StubGate(clean_verdict(SESSION))
    app, inner = guarded(gate)
    assert ask(app, unmask_predecessor=SESSION, unmask_successor="session-2").status_code == 200
    assert inner.reached == ["ADMITTED"]


def test_safe_methods_ask_for_reads() -> None:
    gate = StubGate(degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True))
    app, inner = guarded(gate)
    assert ask(app, "GET", unmask_predecessor=SESSION).status_code == 200
    assert ask(app, "DELETE", unmask_predecessor=SESSION).status_code == 409
    assert inner.reached == ["ADMITTED_READ_ONLY"]


def test_what_continues_nothing_passes_unless_a_predecessor_is_required() -> None:
    app, inner = guarded(StubGate())
    assert ask(app).status_code == 200
    strict, behind = guarded(StubGate(), required=True)
    response = ask(strict)
    assert response.status_code == 428
    assert "unmask-predecessor" in response.json()["reason"]
    assert (inner.reached, behind.reached) == ([None], [])


def test_a_header_that_is_given_twice_names_no_session_of_either_name() -> None:
    gate = StubGate(clean_verdict(SESSION))
    app, _ = guarded(gate)

    async def send() -> None:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://agent.example") as client:
            twice = [("unmask-predecessor", SESSION), ("unmask-predecessor", "session-2")]
            await client.post("/work", headers=twice)

    asyncio.run(send())
    assert gate.asked == [(f"{SESSION}, session-2", True)]


def socket(app: AdmissionMiddleware, headers: list[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app({"type": "websocket", "headers": headers}, receive, send))
    return sent


def test_a_websocket_is_closed_unless_it_may_change_things() -> None:
    gate = StubGate(degraded_verdict(SESSION, operations=100, degraded=5, equivalent=True))
    app, inner = guarded(gate)
    header = [(b"Unmask-Predecessor", SESSION.encode())]
    assert socket(app, header) == [{"type": "websocket.close", "code": 1008, "reason": "RECONCILE_FIRST"}]
    assert inner.reached == []
    gate.now = clean_verdict(SESSION)
    assert socket(app, header) == []
    assert inner.reached == ["ADMITTED"]


def test_the_lifespan_of_the_application_is_its_own() -> None:
    app, inner = guarded(StubGate(), required=True)

    async def nothing(*_: Any) -> Any:
        return {}

    asyncio.run(app({"type": "lifespan"}, nothing, nothing))
    assert inner.reached == [None]
