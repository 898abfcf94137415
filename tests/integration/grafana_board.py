"""The Grafana dashboard as a test reads it: its panels, and its queries with the variables put in."""

import json
from pathlib import Path
from typing import Any

__all__ = ["BOARD", "panels", "queries", "variable_queries"]

BOARD: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "deploy/grafana/unmask.json").read_text(encoding="utf-8")
)


def panels() -> list[dict[str, Any]]:
    """All panels that show something."""
    return [panel for panel in BOARD["panels"] if panel["type"] != "row"]


def queries(values: dict[str, str]) -> dict[str, str]:
    """Panel title (and letter) to query, with each `$name` of `values` replaced."""
    return {
        f"{panel['title']} {target['refId']}": _filled(target["expr"], values)
        for panel in panels()
        for target in panel["targets"]
    }


def variable_queries(values: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Variable to its label_values: series and label."""
    found = {}
    for variable in BOARD["templating"]["list"]:
        if variable["type"] == "query":
            inner = _filled(variable["query"]["query"], values).removeprefix("label_values(").removesuffix(")")
            series, _, label = inner.rpartition(", ")
            found[variable["name"]] = (series, label)
    return found


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in sorted(values.items(), key=lambda item: -len(item[0])):
        text = text.replace(f"${name}", value)
    return text
