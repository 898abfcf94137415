"""The HTTP client: posts in the background, each within a time that nothing a receiver does can stretch."""

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from datetime import UTC, datetime
from importlib.metadata import version
from types import TracebackType
from typing import Self

import httpx

from unmask.consumers.alerts.answer import Answer, Failed, read_status
from unmask.consumers.alerts.outbox import Content
from unmask.consumers.alerts.receiver import BadAddress, Receiver

__all__ = ["Poster"]

_CLOSE_SECONDS = 5.0
_DROP_SECONDS = 1.0
_DROP_BYTES = 64 * 1024


class Poster:
    """Posts to one receiver, from any thread. `timeout`, in seconds, bounds a request from beginning to end.

    Proxies and certificate authorities are taken from the environment, as for every HTTP client. Raises BadAddress.
    """

    def __init__(self, receiver: Receiver, *, timeout: float) -> None:
        try:
            self._endpoint = httpx.URL(receiver.endpoint)
        except httpx.InvalidURL as error:
            raise BadAddress("the address cannot be read") from error
        self._timeout = timeout
        headers = {"Content-Type": "application/json", "User-Agent": f"unmask/{version('unmask')}"}
        if receiver.authorization is not None:
            headers["Authorization"] = receiver.authorization
        self._client = httpx.AsyncClient(timeout=timeout, follow_redirects=False, headers=headers)
        # A thread of its own, so that whoever waits for Kafka does not keep a request from its end.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="alert-poster", daemon=True)
        self._thread.start()

    def post(self, content: Content) -> "Future[Answer]":
        """Begins a request; the future holds what the answer means."""
        return asyncio.run_coroutine_threadsafe(self._post(content), self._loop)

    def close(self) -> None:
        """Ends what is under way, and lets go of the connections."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _post(self, content: Content) -> Answer:
        try:
            async with asyncio.timeout(self._timeout):
                request = self._client.build_request(
                    "POST", self._endpoint, content=content.body, headers=content.headers
                )
                response = await self._client.send(request, stream=True)
        except (TimeoutError, httpx.TimeoutException):
            return Failed(f"no answer within {self._timeout:g} s")
        except httpx.HTTPError as error:
            return Failed(type(error).__name__)
        try:
            return read_status(response.status_code, response.headers.get("Retry-After"), datetime.now(UTC))
        finally:
            await _drop(response)

    async def _end(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()


async def _drop(response: httpx.Response) -> None:
    """Passes over what a receiver says beside its status: a little, so that the connection can be used again."""
    with contextlib.suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_DROP_SECONDS):
            left = _DROP_BYTES
            async for piece in response.aiter_raw():
                left -= len(piece)
                if left < 0:
                    break
    with contextlib.suppress(httpx.HTTPError):
        await response.aclose()
