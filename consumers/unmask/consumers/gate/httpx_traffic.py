"""httpx clients whose traffic waits for the gate: nothing is dispatched before a passage has admitted it.

    passage = Passage(gate, "session-41", successor="session-42")
    client = httpx.Client(transport=GatedTransport(passage))

A refused request raises the refusal (ReconcileFirst, NotReady ...) instead of being sent. Safe methods (GET, HEAD,
OPTIONS, TRACE) ask for reads, all others for changes. Where `hosts` are given, only requests to them are asked for,
redirects to them included; an upstream that has several names must be given by all of them. A client's `proxy` and
`mounts` go past its transport; use the hook there. Needs httpx, which nothing else here does.
"""

from collections.abc import Awaitable, Callable, Collection

try:
    import httpx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("gating httpx clients needs httpx: pip install httpx", name="httpx") from error

from unmask.consumers.gate.hosts import hosts_of, is_among
from unmask.consumers.gate.passage import Passage

__all__ = ["AsyncGatedTransport", "GatedTransport", "async_request_hook", "request_hook"]


class GatedTransport(httpx.BaseTransport):
    """A transport that sends only what the passage admits, by `inner` or by httpx's own.

    With `hosts`, requests to other hosts are not asked for.
    """

    def __init__(
        self, passage: Passage, inner: httpx.BaseTransport | None = None, *, hosts: Collection[str] | None = None
    ) -> None:
        self._passage = passage
        self._inner = httpx.HTTPTransport() if inner is None else inner
        self._hosts = hosts_of(hosts)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Ask, then send. Raises AdmissionRefused."""
        if is_among(request, self._hosts):
            self._passage.check_method(request.method)
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncGatedTransport(httpx.AsyncBaseTransport):
    """GatedTransport for asynchronous clients; the event loop is not blocked while the gate is asked."""

    def __init__(
        self, passage: Passage, inner: httpx.AsyncBaseTransport | None = None, *, hosts: Collection[str] | None = None
    ) -> None:
        self._passage = passage
        self._inner = httpx.AsyncHTTPTransport() if inner is None else inner
        self._hosts = hosts_of(hosts)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Ask, then send. Raises AdmissionRefused."""
        if is_among(request, self._hosts):
            await self._passage.acheck_method(request.method)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


def request_hook(passage: Passage, *, hosts: Collection[str] | None = None) -> Callable[[httpx.Request], None]:
    """For a client that exists: `client.event_hooks["request"].append(request_hook(passage))`."""
    concerned = hosts_of(hosts)

    def ask(request: httpx.Request) -> None:
        if is_among(request, concerned):
            passage.check_method(request.method)

    return ask


def async_request_hook(
    passage: Passage, *, hosts: Collection[str] | None = None
) -> Callable[[httpx.Request], Awaitable[None]]:
    """request_hook for asynchronous clients."""
    concerned = hosts_of(hosts)

    async def ask(request: httpx.Request) -> None:
        if is_among(request, concerned):
            await passage.acheck_method(request.method)

    return ask
