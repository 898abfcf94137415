"""The HTML report in a real browser: no request leaves, nothing overflows a phone, and the dark is dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.debian_commands import debian_command
from tests.unit.consumers.report_html.test_page import page as made

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("matplotlib")
# Longer than usual, since Chromium may have to be installed first.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    command = debian_command("chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=command, args=["--no-sandbox"])
        yield browser
        browser.close()


def test_it_is_whole_without_a_network_at_every_width_in_the_dark_and_on_paper(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(made(), encoding="utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    asked: list[str] = []
    told: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.goto(file.as_uri())
    assert asked == [file.as_uri()]
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ink, paper = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    assert (ink, paper) == ("rgb(232, 233, 235)", "rgb(20, 22, 26)")
    label = "document.querySelector('figure svg text')"
    assert page.evaluate(f"getComputedStyle({label}).fill") == ink

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the report"
    for _ in range(8):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "region", "tables scroll by keyboard"

    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    heights = page.evaluate("[...document.querySelectorAll('.scroll')].map(e => e.scrollHeight - e.clientHeight)")
    assert set(heights) == {0}, "nothing is cut off on paper"
    tree = page.locator("main").aria_snapshot()
    for part in ('heading "Attempts"', 'img "Attempts"', 'table "Attempts"', 'columnheader "evidence"', "rowheader"):
        assert part in tree
