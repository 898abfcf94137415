"""The HTML report: whole in one file, for eyes, paper and screen readers."""

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

import pytest

from unmask.consumers.report import ReportRow, Selection, TimeRange, build_rows
from unmask.consumers.report.pipeline import PipelineState, Stage
from unmask.consumers.report_html import to_html
from unmask.consumers.report_html.palette import VARIABLES
from unmask.consumers.testing import window_record
from unmask.consumers.windows_view import WindowRecords
from unmask.schemas.codes import Evidence
from unmask.schemas.models import Window, from_avro
from unmask.schemas.windowing import MICROS

pytest.importorskip("matplotlib")

NOON = 1_767_268_800 * MICROS
MINUTE = 60 * MICROS
WANTED = TimeRange(NOON, NOON + 6 * MINUTE, 60)
WELL = PipelineState(Stage.CAUGHT_UP, "A worker runs & counts.")


def windows() -> list[dict[str, Any]]:
    """Complete, lossy, complete, absent, complete, pending."""
    found = []
    for number, state in enumerate((Evidence.COMPLETE, Evidence.LOSSY, Evidence.COMPLETE, None, Evidence.COMPLETE)):
        if state is None:
            continue
        counts: dict[str, Any] = {
            "attempts": 40, "fallbacks_total": 4, "fallbacks_by_reason": {"timeout": 3, "rate_limited": 1},
        }  # fmt: skip
        start = NOON + number * MINUTE
        found.append(window_record(start, scope=None, states=state, **counts))
        found += [window_record(start, states=state, capability=name, **counts) for name in (None, "search")]
    return found


def page(
    selection: Selection | None = None, state: PipelineState = WELL, found: list[dict[str, Any]] | None = None
) -> str:
    selection = selection or Selection()
    models = tuple(from_avro(Window, window) for window in (windows() if found is None else found))
    records = WindowRecords(models, (), (60,))
    now = NOON + 5 * MINUTE

    def lines(by: Selection) -> list[ReportRow]:
        return build_rows(records, WANTED, by, now=now)

    return to_html(
        lines(selection), WANTED, overall=lines(Selection(by="window")), generated_at=now, selection=selection,
        pipeline=state,
    )  # fmt: skip


class Outline(HTMLParser):
    """Elements with their attributes, and which of them are not closed."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def text() -> str:
    return page()


@pytest.fixture(scope="module")
def outline(text: str) -> Outline:
    return Outline(text)


def test_it_is_well_formed_and_no_name_is_given_twice(outline: Outline) -> None:
    assert outline.open == []
    names = Counter(attributes["id"] for _, attributes in outline.elements if "id" in attributes)
    assert [name for name, count in names.items() if count > 1] == []


def test_it_needs_nothing_from_a_network(text: str, outline: Outline) -> None:
    for tag, attributes in outline.elements:
        assert tag not in ("script", "link", "img", "iframe", "object"), tag
        for name in ("src", "href", "xlink:href"):
            target = attributes.get(name)
            assert target is None or target.startswith("#"), (tag, target)
    assert re.findall(r"@import|url\((?!#)", text) == []
    assert any("default-src 'none'" in (meta.get("content") or "") for meta in outline.of("meta"))


def test_all_links_and_references_lead_to_something(text: str, outline: Outline) -> None:
    names = {attributes["id"] for _, attributes in outline.elements if "id" in attributes}
    wanted = {target[1:] for a in outline.of("a") if (target := a["href"]) is not None}
    wanted |= set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    for _, attributes in outline.elements:
        wanted |= set((attributes.get("aria-labelledby") or "").split())
    assert wanted <= names


def test_a_screen_reader_finds_landmarks_headings_and_captions(outline: Outline) -> None:
    for landmark in ("header", "nav", "main", "footer"):
        assert len(outline.of(landmark)) == 1, landmark
    assert outline.of("html")[0]["lang"] == "en"
    assert len(outline.of("h1")) == 1
    assert all(section.get("aria-labelledby") for section in outline.of("section"))
    tables = outline.of("table")
    assert len(tables) == len(outline.of("caption")) == 6
    assert {heading.get("scope") for heading in outline.of("th")} == {"col", "row"}
    regions = [div for div in outline.of("div") if div.get("role") == "region"]
    assert len(regions) == 5
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions), "scrolled by keyboard too"


def test_every_plot_has_a_title_and_a_description_and_a_table_beside_it(text: str, outline: Outline) -> None:
    plots = outline.of("svg")
    assert len(plots) == 4
    for plot in plots:
        assert plot["role"] == "img"
        assert re.search(f'<title id="{plot["aria-labelledby"]}">[^<]+</title>', text)
        assert re.search(f'<desc id="{plot["aria-describedby"]}">[^<]+</desc>', text)
    assert text.count('<div class="pair">') == 4
    assert "Of 6 times, 1 LOSSY, 1 PENDING, 1 ABSENT; these are hatched." in text


def test_missing_evidence_is_hatched_in_every_plot_over_time(text: str) -> None:
    plots = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    for plot in plots:
        for state in ("LOSSY", "PENDING", "ABSENT"):
            assert f">{state}</text>" in plot
            assert re.search(rf"<pattern.*?var\(--{state.lower()}\).*?</pattern>", plot, re.DOTALL), state
    complete = [{**w, "window_start": NOON + n * MINUTE} for n in range(6) for w in windows()[:3]]
    whole = page(found=complete, selection=Selection(by="window"))
    first = re.findall(r"<svg.*?</svg>", whole, re.DOTALL)[0]
    assert "<pattern" not in first
    assert "LOSSY" not in first


def test_an_unwitnessed_time_is_a_gap_and_not_drawn_at_zero(text: str) -> None:
    attempts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)[0]
    # Two stretches of known attempts, with the absent minute between them; the sixth minute is pending.
    assert (
        len(re.findall(r'<path d="[^"]*"[^>]*style="fill: var\(--series-0\)', attempts)) == 3
    )  # and one in the legend


def test_colours_are_the_pages_own_so_that_they_follow_it_into_the_dark_and_onto_paper(text: str) -> None:
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert not any(colour in drawn for colour in VARIABLES)
    for variable in VARIABLES.values():
        assert text.count(f"{variable[4:-1]}:") == 3, variable  # light, dark, print


def test_series_are_told_apart_without_colour(text: str) -> None:
    fallbacks = re.findall(r"<svg.*?</svg>", text, re.DOTALL)[1]
    assert re.search(r"<pattern.*?var\(--paper\)", fallbacks, re.DOTALL), "the second reason is hatched"


def test_nothing_is_nan_and_what_is_unknown_is_no_number(text: str) -> None:
    assert re.search(r"\bnan\b|\binf\b", text, re.IGNORECASE) is None
    assert 'class="unknown"' in text


def test_texts_from_outside_are_escaped(text: str) -> None:
    assert "A worker runs &amp; counts." in text
    spoilt = page(state=PipelineState(Stage.STUCK, "<script>alert(1)</script>", "<b>do</b>"))
    assert "<script" not in spoilt
    assert "&lt;b&gt;do&lt;/b&gt;" in spoilt


def test_the_same_report_is_the_same_file(text: str) -> None:
    assert page() == text


def test_a_pipeline_without_windows_still_says_its_state() -> None:
    empty = to_html([], WANTED, overall=[], generated_at=NOON, pipeline=PipelineState(Stage.NOT_STARTED, "Nobody."))
    assert "NOT_STARTED" in empty
    assert "nothing to report on" in empty
    assert Outline(empty).open == []


def test_windows_that_nobody_witnessed_are_hatched_from_end_to_end() -> None:
    text = page(found=[])
    assert "No fallbacks are known." in text
    assert "There is no rate" in text


def test_all_time_has_no_plots_but_its_line() -> None:
    lifetime = TimeRange(0, NOON, 0)
    record = from_avro(Window, window_record(0, 0, states=Evidence.PENDING, attempts=9))
    rows = build_rows(WindowRecords((record,), (), (0,)), lifetime, Selection(by="scope"), now=NOON)
    text = to_html(rows, lifetime, overall=rows, generated_at=NOON, pipeline=WELL)
    assert "<svg" not in text
    assert "since the beginning" in text
