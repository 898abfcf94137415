"""The Grafana dashboard, read without Grafana; test_prometheus_live.py asks a real Prometheus its queries."""

import re
from pathlib import Path

from tests.integration.grafana_board import BOARD, panels, queries, variable_queries

from unmask.streams.web import metrics

RULES = (Path(__file__).resolve().parents[2] / "deploy/prometheus/unmask.rules.yml").read_text()
NAMES = re.compile(r"\b(unmask(?::[a-z_]+)+|unmask_[a-z_]+)\b")


def declared() -> set[str]:
    """Every series that workers or rules have."""
    source = Path(metrics.__file__).read_text()
    names = set(re.findall(r'"(unmask_[a-z_]+)"', source))
    return names | {f"{name}_total" for name in names} | set(re.findall(r"record: (\S+)", RULES))


def test_every_panel_says_what_it_shows_and_asks_the_chosen_prometheus() -> None:
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    for panel in panels():
        assert panel["description"].endswith("."), panel["title"]
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_panels_lie_beside_one_another_and_not_on_one_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_query_names_series_that_exist_and_one_namespace_alone() -> None:
    for title, query in queries({}).items():
        named = set(NAMES.findall(query))
        assert named <= declared(), (title, named - declared())
        assert query.count("{") == query.count('job="$job"'), title


def test_every_variable_that_a_query_uses_is_defined() -> None:
    defined = {variable["name"] for variable in BOARD["templating"]["list"]} | {"__rate_interval"}
    titles = " ".join(panel["title"] for panel in panels())
    used = set(re.findall(r"\$(\w+)", " ".join([*queries({}).values(), titles])))
    assert used <= defined
    assert set(variable_queries({})) == {"job", "window_seconds", "family", "capability"}


def test_no_rate_is_shown_without_its_evidence() -> None:
    assert not any("/" in query for query in queries({}).values())
