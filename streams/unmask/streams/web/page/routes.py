"""The page's addresses: /, /sessions/…, /windows/…, /events for updates, /api/… for JSON, /assets/…."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.resources import files

from aiohttp import web
from confluent_kafka import KafkaException

from unmask.streams.ledger.pieces import LedgerStateUnreadable
from unmask.streams.web.page.answers import Answers, PageSetting
from unmask.streams.web.page.html.layout import document
from unmask.streams.web.page.lines.sessions import SessionFacts
from unmask.streams.web.page.live import Live
from unmask.streams.web.page.lookup import LookupTimeout, look_up
from unmask.streams.web.page.lookups import Lookups, LookupsBusy
from unmask.streams.web.page.reader import PageReader
from unmask.streams.web.page.values import Answer
from unmask.streams.web.page.views import Views

__all__ = ["Page"]

_logger = logging.getLogger(__name__)
_FIRST_LOOK_S = 2.0
_API_WAIT_S = 10.0
_LOOK_UP_S = 20.0
_ASSETS = {
    "page.css": "text/css",
    "live.js": "text/javascript",
    "morph.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Page:
    """Serves the live page of a namespace."""

    def __init__(self, bootstrap: str, setting: PageSetting) -> None:
        groups = (setting.ledger_group, setting.tables_group)
        self._bootstrap = bootstrap
        self._setting = setting
        self.reader = PageReader(bootstrap, setting.topics, groups, setting.limits)
        self._answers = Answers(setting, self.reader)
        self._lookups = Lookups(self._look_up)
        self._views = Views(self._answers, setting.limits, self._lookups)
        # Answers are made one at a time, so that many viewers cannot take the worker's threads.
        self._maker = ThreadPoolExecutor(1, "unmask-page-maker")
        self._live = Live(self._views.view, self._maker)
        self._assets = {name: (files(__package__) / "assets" / name).read_bytes() for name in _ASSETS}

    def routes(self) -> list[web.RouteDef]:
        """What to serve."""
        table: dict[str, _Handler] = {
            "/": self._page,
            "/sessions/{session_id:[^/]+}": self._page,
            "/windows/{seconds}/{start}": self._page,
            "/events": self._events,
            "/api/overview": self._api(lambda _: self._answers.overview()),
            "/api/workers": self._api(lambda _: self._answers.workers()),
            "/api/sessions/{session_id:[^/]+}": self._api(lambda r: self._views.session(r.match_info["session_id"])),
            r"/api/windows/{seconds:\d{1,9}}/{start:\d{1,12}}": self._api(
                lambda r: self._views.window(int(r.match_info["seconds"]), int(r.match_info["start"]))
            ),
            "/assets/{name}": self._asset,
        }
        # Nobody who asks for the head of a stream without an end shall wait for it.
        return [web.get(path, _guarded(handler), allow_head=path != "/events") for path, handler in table.items()]

    async def stop(self) -> None:
        """Ends all updates, and the reader."""
        self._live.stopping.set()
        self._lookups.stop()
        await asyncio.get_running_loop().run_in_executor(None, self.reader.stop)
        self._maker.shutdown(wait=False, cancel_futures=True)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        await self._wait(_FIRST_LOOK_S)
        path = request.rel_url.raw_path
        await self._look(path, _FIRST_LOOK_S)
        view = await self._live.view(path)
        if view is None:
            raise web.HTTPNotFound(text="There is no such page.\n")
        html = document(
            namespace=self._setting.topics.namespace, title=view.title, heading=view.heading, sections=view.sections,
            at=datetime.now(UTC), home=path == "/",
        )  # fmt: skip
        return web.Response(text=html, content_type="text/html", status=200 if view.found else 404)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        path = request.query.get("page", "/")
        if self._live.viewers >= self._setting.limits.viewers:
            limit = self._setting.limits.viewers
            raise web.HTTPServiceUnavailable(text=f"{limit} pages are kept up to date already; close one.\n")
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        # At once, so that many who come together are not let in together.
        self._live.join(path)
        known: dict[str, str] = {}
        try:
            await response.prepare(request)
            going = True
            while going and not self._live.stopping.is_set():
                self.reader.touch()
                view = await self._live.view(path)
                if view is None:
                    break
                # Whoever takes nothing any more must not keep others out.
                message = self._live.message(view, known, _now()).encode()
                await asyncio.wait_for(response.write(message), self._setting.limits.slow_s)
                going = await self._live.pause()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            pass
        finally:
            self._live.leave(path)
        return response

    def _api(self, ask: Callable[[web.Request], Answer | None]) -> _Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            await self._wait(_API_WAIT_S)
            await self._look(request.rel_url.raw_path.removeprefix("/api"), _LOOK_UP_S)
            found = await asyncio.get_running_loop().run_in_executor(self._maker, ask, request)
            if found is None:
                return web.json_response({"error": "not known"}, status=404)
            return web.Response(text=found.model_dump_json(), content_type="application/json")

        return answer

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in _ASSETS:
            raise web.HTTPNotFound(text="There is no such file.\n")
        return web.Response(body=self._assets[name], content_type=_ASSETS[name], charset="utf-8")

    async def _wait(self, seconds: float) -> None:
        """Has the topics read, and waits for a while until they are."""
        self.reader.touch()
        deadline = asyncio.get_running_loop().time() + seconds
        # The event is another thread's, and no thread shall wait for it on behalf of everybody who asks.
        while not self.reader.caught_up.is_set() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def _look(self, path: str, seconds: float) -> None:
        """Looks up what a page needs, and waits for a while until that is done."""
        if waiting := [asyncio.wrap_future(future) for future in self._views.looked_up(path)]:
            for future in waiting:
                # What went wrong is told by whoever makes the answer, also where that is long after this wait.
                future.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait(waiting, timeout=seconds)

    def _look_up(self, session_id: str) -> SessionFacts | None:
        topics, check = self._setting.topics, self._setting.check
        return look_up(self._bootstrap, topics, session_id, check, _LOOK_UP_S)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _guarded(handler: _Handler) -> _Handler:
    """The handler with this page's headers; what it cannot answer it says in words."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        try:
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(_HEADERS)
            raise
        except (LookupTimeout, LookupsBusy, LedgerStateUnreadable) as error:
            response = web.Response(text=f"{error}\n", status=503)
        except (KafkaException, TimeoutError):
            response = web.Response(text="The broker does not answer; ask again later.\n", status=503)
        except Exception as error:
            _logger.warning("the page could not be made: %s: %s", type(error).__name__, error)
            response = web.Response(text="This page could not be made; the worker's log says why.\n", status=500)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    return guarded
