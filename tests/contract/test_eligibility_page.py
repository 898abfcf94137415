"""docs/eligibility.md says what the decision does."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from unmask.consumers.eligibility import EXIT_CODES, Answer, Fault, FindingCode
from unmask.consumers.eligibility.policy_file import PolicyFile

PAGE = (Path(__file__).parents[2] / "docs" / "eligibility.md").read_text("utf-8")
MADE = re.findall(r"<!-- Made by `(python -m [\w.]+)`; .*? -->\n\n(.*?)\n\n<!-- End", PAGE, re.DOTALL)


def test_the_tables_are_their_command_s_output() -> None:
    ((command, block),) = MADE
    line = [sys.executable, *command.split()[1:]]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == block, f"put the output of {command} into docs/eligibility.md"


def test_only_one_row_of_what_the_facts_come_to_is_eligible() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| none |") and line.endswith("| `ELIGIBLE` |")]
    assert rows == ["| none | green | 28 days and more | healthy | enough | well | `ELIGIBLE` |"]


def test_every_finding_answer_and_fault_is_on_it() -> None:
    for code in FindingCode:
        assert f"| `{code}` | `" in PAGE
    for answer in Answer:
        assert f"| `{answer}` | {EXIT_CODES[answer]} | " in PAGE
    for fault in Fault:
        assert f"`{fault}`" in PAGE


def test_its_policy_file_is_one_and_has_every_key() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    document = tomllib.loads(text)
    assert set(document) == set(PolicyFile.model_fields)
    PolicyFile.model_validate(document)
