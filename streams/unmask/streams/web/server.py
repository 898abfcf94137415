"""The web server: /healthz, /readyz, /metrics, and the page's addresses, in the worker's event loop."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from unmask.streams.web.own_name import answer_to_own_names

__all__ = ["EndpointUnavailable", "Readiness", "WebServer"]

_SHUTDOWN_S = 2.0


class EndpointUnavailable(OSError):
    """The address of the web endpoints cannot be listened on. Choose another port, or 0 for a free one."""

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        super().__init__(
            f"cannot listen on {host}:{port} ({cause.strerror or cause}); choose another --port, or 0 for a free one"
        )


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a worker does its work, and why not."""

    reasons: dict[str, str]
    """Part to the reason why it is not ready."""
    ready_parts: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether all parts are."""
        return not self.reasons


class WebServer:
    """Serves a worker's endpoints."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        collector: Collector,
        alive: Callable[[], bool],
        readiness: Callable[[], Readiness],
        routes: Iterable[web.RouteDef] = (),
    ) -> None:
        self._host, self._port = host, port
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(collector)
        self._alive = alive
        self._readiness = readiness
        app = web.Application(middlewares=[answer_to_own_names(host)])
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_routes(routes)
        # Requests are not logged: scrapes come every few seconds, and say nothing.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S)

    async def start(self) -> int:
        """Listens; the port. Raises EndpointUnavailable where it is taken."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise EndpointUnavailable(self._host, self._port, error) from error
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stops listening."""
        await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        # That this is answered shows that the event loop turns.
        alive = self._alive()
        return web.Response(text="ok\n" if alive else "failed\n", status=200 if alive else 503)

    async def _readyz(self, _: web.Request) -> web.Response:
        readiness = self._readiness()
        body = {"ready": readiness.ready, "parts": list(readiness.ready_parts), "not_ready": readiness.reasons}
        return web.json_response(body, status=200 if readiness.ready else 503, dumps=json.dumps)

    async def _metrics(self, request: web.Request) -> web.Response:
        encoder, content_type = choose_encoder(request.headers.get("Accept", ""))
        response = web.Response(body=encoder(self._registry))
        response.headers["Content-Type"] = content_type
        return response
