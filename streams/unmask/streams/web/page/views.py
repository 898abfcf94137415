"""Which page an address is: its title and its sections, made anew for every look."""

import re
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote

from unmask.schemas.tokens import opaque_id
from unmask.schemas.windowing import MICROS
from unmask.streams.web.page.answers import Answers
from unmask.streams.web.page.html.alerts import alerts_section
from unmask.streams.web.page.html.emitters import emitters_section
from unmask.streams.web.page.html.layout import status
from unmask.streams.web.page.html.parts import section
from unmask.streams.web.page.html.session_page import session_sections
from unmask.streams.web.page.html.sessions import sessions_section
from unmask.streams.web.page.html.window_page import window_sections
from unmask.streams.web.page.html.windows import totals_section, windows_section
from unmask.streams.web.page.html.workers import workers_section
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.lines.sessions import SessionFacts
from unmask.streams.web.page.lookups import Lookups, StillLookedUp
from unmask.streams.web.page.markup import Html, el
from unmask.streams.web.page.values import SessionAnswer, WindowAnswer

__all__ = ["View", "Views"]

_WINDOW = re.compile(r"/windows/([1-9][0-9]{0,8})/([0-9]{1,12})")
_SESSION = re.compile(r"/sessions/([^/]{1,600})")
_MISSING = (
    "Nothing is remembered of this window. The page keeps the newest of each size; `unmask report windows` has all."
)
_UNKNOWN = (
    "Nothing stands of a session with this id: no host has told of it, or it is older than the topics keep. A verdict "
    "is kept for 90 days."
)
_LOOKING_UP = "This session is looked up on the topics; it appears here, or it is said that there is none."
_NOT_LOOKED_UP = "This session could not be looked up; `unmask gate` asks too."


@dataclass(frozen=True, slots=True)
class View:
    """A page at one moment."""

    title: str
    heading: str
    sections: dict[str, Html]
    found: bool = True


class Views:
    """Makes pages, one at a time."""

    def __init__(self, answers: Answers, limits: Limits, lookups: Lookups) -> None:
        self._answers = answers
        self._limits = limits
        self._lookups = lookups

    def view(self, path: str) -> View | None:
        """The page of an address; None where there is none of that form. Raises LedgerStateUnreadable."""
        if path == "/":
            return self._overview()
        if (found := _WINDOW.fullmatch(path)) is not None:
            return self._window(int(found[1]), int(found[2]))
        if (found := _SESSION.fullmatch(path)) is not None:
            return self._session(unquote(found[1]))
        return None

    def looked_up(self, path: str) -> list[Future[SessionFacts | None]]:
        """What has to be looked up for the page of an address."""
        found = _SESSION.fullmatch(path)
        return [] if found is None else self._looked_up(unquote(found[1]))

    def _looked_up(self, asked: str) -> list[Future[SessionFacts | None]]:
        names = _names(asked)
        if any(self._answers.remembered(name) is not None for name in names):
            return []
        return [self._lookups.ask(name) for name in names]

    def session(self, asked: str) -> SessionAnswer | None:
        """A session by its id, or by what a host calls it; None where nothing stands of it.

        Raises StillLookedUp while that is not known, and what looking it up raised.
        """
        for name in _names(asked):
            if (facts := self._answers.remembered(name)) is not None:
                return self._answers.session(facts)
        asked_for = self._looked_up(asked)
        facts = next((one for future in asked_for if future.done() and (one := future.result()) is not None), None)
        if facts is not None:
            return self._answers.session(facts)
        if not all(future.done() for future in asked_for):
            raise StillLookedUp("this session is still being looked up; ask again in a moment")
        return None

    def window(self, seconds: int, start: int) -> WindowAnswer | None:
        """A window by size and start, both in seconds; None where nothing is remembered of it."""
        return self._answers.window(seconds, start * MICROS)

    def _overview(self) -> View:
        answer, workers = self._answers.overview(), self._answers.workers()
        sections = {
            "status": status(answer.condition),
            "alerts": alerts_section(answer),
            "windows": windows_section(answer, self._limits),
            "sessions": sessions_section(answer),
            "emitters": emitters_section(answer),
            "workers": workers_section(workers),
            "totals": totals_section(answer.totals),
        }
        return View("Overview", "What is counted, and what it proves", sections)

    def _window(self, seconds: int, start: int) -> View:
        answer = self.window(seconds, start)
        try:
            begins = f"{datetime.fromtimestamp(start, UTC):%Y-%m-%d %H:%M:%S}"
        except (OverflowError, ValueError):
            begins = str(start)
        title = f"Window of {seconds} s from {begins} UTC"
        if answer is None:
            return self._missing(title, "window", _MISSING)
        return View(title, title, {"status": status(answer.condition), **window_sections(answer)})

    def _session(self, asked: str) -> View:
        title = f"Session {asked[:80]}"
        try:
            answer = self.session(asked)
        except StillLookedUp:
            return self._missing(title, "session", _LOOKING_UP)
        except Exception as error:
            return self._missing(title, "session", f"{_NOT_LOOKED_UP} ({type(error).__name__}: {error})")
        if answer is None:
            return self._missing(title, "session", _UNKNOWN)
        title = f"Session {answer.session.session_id}"
        return View(title, title, {"status": status(answer.condition), **session_sections(answer)})

    def _missing(self, title: str, name: str, text: str) -> View:
        workers = self._answers.workers()
        sections = {
            "status": status(workers.condition),
            name: section(name, "Not known", el("p", text, class_="empty")),
        }
        return View(title, title, sections, found=False)


def _names(asked: str) -> list[str]:
    return list(dict.fromkeys((asked, opaque_id(asked))))
