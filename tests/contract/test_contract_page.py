"""docs/contract.md says what the code says."""

import subprocess
import sys
from pathlib import Path

from unmask.schemas.describe import contract_page
from unmask.schemas.describe.markdown import table
from unmask.schemas.history import RECORDS, latest
from unmask.schemas.topics import Topics

PAGE = Path(__file__).parents[2] / "docs" / "contract.md"


def test_the_page_is_the_commands_output() -> None:
    command = [sys.executable, "-m", "unmask.schemas.describe"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == PAGE.read_text("utf-8"), "run python -m unmask.schemas.describe > docs/contract.md"


def test_every_record_with_every_field_and_every_topic_is_on_it() -> None:
    page = contract_page()
    for record in RECORDS:
        section = page.split(f"\n### {record}\n")[1].split("\n### ")[0]
        for field in latest(record).source["fields"]:
            assert f"\n| `{field['name']}` | " in section
    for spec in Topics().all():
        assert page.count(f"\n| `{spec.name}` | ") == 2


def test_bars_inside_cells_do_not_end_them() -> None:
    assert table(("a", "b"), [("x|y", "z")]).splitlines()[-1] == "| x\\|y | z |"
