"""Updates carry what changed and nothing else; look-ups are made once, and their answers kept for a while."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from unmask.streams.web.page.lines.sessions import SessionFacts
from unmask.streams.web.page.live import Live
from unmask.streams.web.page.lookups import Lookups, LookupsBusy
from unmask.streams.web.page.markup import Html
from unmask.streams.web.page.views import View


def view(**sections: str) -> View:
    return View("t", "h", {name: Html(html) for name, html in sections.items()})


def test_only_what_changed_is_sent() -> None:
    known: dict[str, str] = {}

    def sent(**sections: str) -> dict[str, str]:
        message = Live.message(view(**sections), known, "now")
        assert message.startswith("data: ")
        assert message.endswith("\n\n")
        assert message.count("\n") == 2
        return dict(json.loads(message.removeprefix("data: "))["sections"])

    assert sent(status="a\nb", alerts="c") == {"status": "a\nb", "alerts": "c"}
    assert sent(status="a\nb", alerts="c") == {}
    assert sent(status="a\nb", alerts="d") == {"alerts": "d"}


def test_a_page_is_made_once_for_all_who_look_at_it_within_a_moment() -> None:
    made: list[str] = []

    def make(path: str) -> View:
        made.append(path)
        return view(status=path)

    async def run() -> None:
        with ThreadPoolExecutor(1) as executor:
            live = Live(make, executor)
            live.join("/")
            live.join("/")
            assert live.viewers == 2
            await asyncio.gather(*(live.view("/") for _ in range(20)))
            assert made == ["/"]
            live.leave("/")
            live.leave("/")
            assert live.viewers == 0
            live.stopping.set()
            assert await live.pause() is False

    asyncio.run(run())


def test_a_session_is_looked_up_once_however_often_it_is_asked_for() -> None:
    asked: list[str] = []

    def look_up(session_id: str) -> SessionFacts | None:
        asked.append(session_id)
        return None

    lookups = Lookups(look_up)
    for _ in range(5):
        assert lookups.ask("s1").result(10) is None
    assert asked == ["s1"]
    lookups.stop()


def test_many_look_ups_at_one_time_are_refused_and_not_queued() -> None:
    going = threading.Event()

    def wait(_: str) -> None:
        going.wait(20)

    lookups = Lookups(wait)
    waiting = [lookups.ask(f"s{number}") for number in range(8)]
    with pytest.raises(LookupsBusy, match="ask again"):
        lookups.ask("one more").result(10)
    going.set()
    assert [future.result(10) for future in waiting] == [None] * 8
    assert lookups.ask("one more").result(10) is None
    lookups.stop()
