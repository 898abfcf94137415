"""Live updates: every second a page is made anew, and what changed of it is sent to its viewers."""

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from unmask.streams.web.page.views import View

__all__ = ["Live"]

_EVERY_S = 1.0


@dataclass(slots=True)
class _Made:
    """A page as it was last made; viewers of one page share it."""

    at: float = 0.0
    view: View | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Live:
    """Makes pages for all viewers, in the event loop that it is used in."""

    def __init__(self, view: Callable[[str], View | None], executor: Executor) -> None:
        self._view = view
        self._executor = executor
        self._made: dict[str, _Made] = {}
        self._viewers: dict[str, int] = {}
        self.stopping = asyncio.Event()

    @property
    def viewers(self) -> int:
        """How many pages are kept up to date just now."""
        return sum(self._viewers.values())

    def join(self, path: str) -> None:
        """A viewer of a page comes."""
        self._viewers[path] = self._viewers.get(path, 0) + 1

    def leave(self, path: str) -> None:
        """A viewer of a page goes."""
        self._viewers[path] -= 1
        if not self._viewers[path]:
            del self._viewers[path]
            self._made.pop(path, None)

    async def view(self, path: str) -> View | None:
        """The page, at most about a second old."""
        made = self._made.setdefault(path, _Made())
        async with made.lock:
            if time.monotonic() - made.at > _EVERY_S / 2:
                loop = asyncio.get_running_loop()
                made.view, made.at = await loop.run_in_executor(self._executor, self._view, path), time.monotonic()
        if path not in self._viewers:
            self._made.pop(path, None)
        return made.view

    async def pause(self) -> bool:
        """Waits until the next update; False when there will be none."""
        try:
            await asyncio.wait_for(self.stopping.wait(), _EVERY_S)
        except TimeoutError:
            return True
        return False

    @staticmethod
    def message(view: View, known: dict[str, str], at: str) -> str:
        """What changed since `known`, which is brought up to date, as a server-sent event."""
        changed = {name: html for name, html in view.sections.items() if known.get(name) != html}
        known.update(changed)
        return f"data: {json.dumps({'at': at, 'sections': changed})}\n\n"
