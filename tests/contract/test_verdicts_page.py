"""docs/verdicts.md says what the rules and the gate do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.schemas.describe.decisions import decisions

PAGE = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text("utf-8")
MADE = re.findall(r"<!-- Made by `(python -m [\w.]+)`; .*? -->\n\n(.*?)\n\n<!-- End", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "block"), MADE, ids=[command for command, _ in MADE])
def test_a_table_is_its_command_s_output(command: str, block: str) -> None:
    line = [sys.executable, *command.split()[1:]]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == block, f"put the output of {command} into docs/verdicts.md"


def test_both_tables_are_on_it() -> None:
    assert [command for command, _ in MADE] == [
        "python -m unmask.streams.verdict.describe",
        "python -m unmask.consumers.gate.describe",
    ]


def test_every_combination_is_in_exactly_one_row_and_decides_as_it_did() -> None:
    conditions = {"a": ("1", "2", "3"), "b": ("x", "y"), "c": ("p", "q")}

    def decide(a: str, b: str, c: str) -> tuple[str, ...] | None:
        return None if (a, b) == ("3", "y") else ("low" if a == "1" else f"high {b}",)

    rows = decisions(conditions, decide)
    assert len(rows) < 5
    for a in conditions["a"]:
        for b in conditions["b"]:
            for c in conditions["c"]:
                fitting = [decided for cells, decided in rows if a in cells[0] and b in cells[1] and c in cells[2]]
                assert fitting == ([] if decide(a, b, c) is None else [decide(a, b, c)])
