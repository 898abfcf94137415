"""docs/alerts.md says of every kind, field and label what the code does."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.alert_records import alert, alert_of_kind

from unmask.consumers.alerts import WebhookBody
from unmask.consumers.alerts.alertmanager import labels
from unmask.consumers.alerts.webhook import webhook_body
from unmask.consumers.alerts.words import KINDS
from unmask.schemas.codes import AlertKind

PAGE = (Path(__file__).resolve().parents[4] / "docs/alerts.md").read_text()
KNOWN = [kind for kind in AlertKind if kind is not AlertKind.UNKNOWN_ALERT]
COMMON = {"alertname", "severity", "namespace", "alert_id"}


def between(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def section(heading: str) -> str:
    found = re.search(rf"^### {heading}\n(.*?)(?=^##)", PAGE + "\n##", re.DOTALL | re.MULTILINE)
    assert found is not None, f"there is no section {heading}"
    return found[1]


@pytest.mark.parametrize("kind", KNOWN)
def test_every_kind_has_a_section_that_says_when_it_fires_when_it_ends_and_what_to_do(kind: AlertKind) -> None:
    text = section(kind.value)
    for part in ("- **Fires**", "- **Resolved**", "- **Do**"):
        assert text.count(part) == 1


def test_the_table_of_kinds_is_what_alertmanager_gets() -> None:
    rows = [
        f"| [{kind.value}](#{kind.value.lower()}) | `{KINDS[kind].name}` | {KINDS[kind].severity} "
        f"| {', '.join(f'`{name}`' for name in labels('unmask', alert_of_kind(kind)) if name not in COMMON) or '-'} |"
        for kind in KNOWN
    ]
    # Only a stalled partition has labels of its own; the other condition of that kind is about everybody.
    rows = [row.replace("| - |", "| `condition`, `source_partition` |") for row in rows]
    assert between("kinds").splitlines()[2:] == rows


def test_the_fields_of_the_body_are_those_of_the_model() -> None:
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| (.*) \|$", between("webhook-fields"), re.MULTILINE)
    fields = {found.alias or name: found.description or "" for name, found in WebhookBody.model_fields.items()}
    assert [name for name, _ in rows] == list(fields)
    for name, meaning in rows:
        assert meaning.startswith(fields[name].rstrip(".")), name


def test_the_example_is_what_the_code_sends() -> None:
    fenced = between("webhook-example").removeprefix("```json\n").removesuffix("\n```")
    written = webhook_body("unmask", alert(), datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC)).model_dump_json()
    assert json.loads(fenced) == json.loads(written)
    assert fenced == json.dumps(json.loads(written), indent=2)
