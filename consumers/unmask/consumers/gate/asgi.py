"""ASGI middleware: a request that continues a session reaches the application only when the gate has admitted it.

The request names its predecessor in the header `unmask-predecessor`, and may name itself in `unmask-successor`. A
refusal is answered here, with a status of its own for each answer and the reason as JSON.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from unmask.consumers.gate.admission import Admission
from unmask.consumers.gate.gate import DEFAULT_TIMEOUT, Gate
from unmask.schemas.codes import AdmissionAnswer

__all__ = ["PREDECESSOR_HEADER", "REFUSAL_STATUS", "SUCCESSOR_HEADER", "AdmissionMiddleware"]

PREDECESSOR_HEADER = b"unmask-predecessor"
SUCCESSOR_HEADER = b"unmask-successor"
REFUSAL_STATUS: dict[AdmissionAnswer, int] = {
    AdmissionAnswer.RECONCILE_FIRST: 409,
    AdmissionAnswer.HALTED: 423,
    AdmissionAnswer.NO_VERDICT: 425,
    AdmissionAnswer.WITHDRAWN: 410,
    AdmissionAnswer.UNPROVEN: 424,
    AdmissionAnswer.UNVERIFIABLE: 403,
    AdmissionAnswer.NOT_READY: 503,
}
"""The HTTP status of every refusing answer."""

_UNNAMED = 428
_POLICY_VIOLATION = 1008
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class AdmissionMiddleware:
    """Wraps an ASGI application. The admission of what passes is in the scope, as `unmask.admission`.

    What names no predecessor continues nothing and passes, unless `required`: then it is refused with 428.
    """

    def __init__(self, app: App, gate: Gate, *, required: bool = False, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._app = app
        self._gate = gate
        self._required = required
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        predecessor = _header(scope, PREDECESSOR_HEADER)
        if predecessor is None:
            if self._required:
                await _refuse(scope, receive, send, _UNNAMED, {"answer": None, "reason": _SAY_SO})
            else:
                await self._app(scope, receive, send)
            return
        admission = await self._gate.aadmit(
            predecessor,
            # A websocket may do anything later on.
            mutating=scope.get("method", "POST").upper() not in _SAFE_METHODS,
            timeout=self._timeout,
            successor=_header(scope, SUCCESSOR_HEADER),
        )
        if admission.admitted:
            scope["unmask.admission"] = admission
            await self._app(scope, receive, send)
            return
        await _refuse(scope, receive, send, REFUSAL_STATUS[admission.answer], _told(admission))


_SAY_SO = "Name the session that this request continues in the header unmask-predecessor."


def _told(admission: Admission) -> dict[str, Any]:
    return {
        "answer": str(admission.answer),
        "reason": admission.reason,
        "directive": None if admission.directive is None else str(admission.directive),
        "session_id": admission.session_id,
        "admission_id": admission.admission_id,
    }


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, told: dict[str, Any]) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": str(told["answer"])})
        return
    body = json.dumps(told).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == REFUSAL_STATUS[AdmissionAnswer.NOT_READY]:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _header(scope: Scope, name: bytes) -> str | None:
    """A header's value; of several, the first would be as good a guess as the last, so that they are taken together."""
    found = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
    return ", ".join(found) if found and any(found) else None
