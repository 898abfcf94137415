"""The operations pages say of every alert and topic what holds, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from unmask.schemas.codes import AlertKind
from unmask.schemas.topics import Topics
from unmask.streams.web.page.describe import answers_page

ROOT = Path(__file__).resolve().parents[4]
PAGES = sorted((ROOT / "docs/operations").glob("*.md"))
ALERTS = (ROOT / "docs/operations/alerts.md").read_text()
RULES = (ROOT / "deploy/prometheus/unmask.rules.yml").read_text()
NAMES = re.findall(r"- alert: (\w+)", RULES)
KINDS = [kind.value for kind in AlertKind if kind is not AlertKind.UNKNOWN_ALERT]
MILLISECONDS_A_DAY = 86_400_000


def section(heading: str) -> str:
    found = re.search(rf"^### {heading}\n(.*?)(?=^##|\Z)", ALERTS, re.DOTALL | re.MULTILINE)
    assert found is not None, f"there is no section {heading}"
    return found[1]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", [*KINDS, *NAMES])
def test_every_alert_has_one_section_that_says_what_to_do(name: str) -> None:
    assert ALERTS.count(f"### {name}\n") == 1
    assert len(section(name).split()) >= 10


def test_no_section_is_about_an_alert_that_is_gone() -> None:
    assert set(re.findall(r"^### (.*)$", ALERTS, re.MULTILINE)) == {*KINDS, *NAMES}


def test_every_rule_leads_to_its_section() -> None:
    runbooks = re.findall(r"runbook: (\S+)#(\S+)", RULES)
    assert runbooks == [("docs/operations/alerts.md", name.lower()) for name in NAMES]
    assert {anchor for _, anchor in runbooks} <= anchors(ROOT / "docs/operations/alerts.md")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs/page.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
        # Written by the benchmarks, which run elsewhere.
        if target.endswith("performance.md"):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.is_file(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_the_table_of_topics_is_what_is_created() -> None:
    text = (ROOT / "docs/operations/retention.md").read_text()
    table = re.search(r"<!-- topics -->\n(.*?)\n<!-- /topics -->", text, re.DOTALL)
    assert table is not None
    written = re.findall(r"^\| `([\w.]+)` \| ([\w, ]+) \| ([\w ]+) \|", table[1], re.MULTILINE)
    expected = []
    for spec in Topics().all():
        retention = spec.config.get("retention.ms")
        kept = "for ever" if retention is None else f"{int(retention) // MILLISECONDS_A_DAY} days"
        expected.append((spec.name, spec.config["cleanup.policy"].replace(",", ", "), kept))
    assert written == expected


def test_the_json_answers_are_documented_as_they_are() -> None:
    text = (ROOT / "docs/page.md").read_text()
    found = re.search(r"<!-- answers -->\n(.*?)\n<!-- /answers -->", text, re.DOTALL)
    assert found is not None
    assert found[1] == answers_page()
