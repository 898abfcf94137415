"""`unmask stream` before it reaches a broker."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app

RUNNER = CliRunner()


def run(*arguments: str) -> tuple[int, str]:
    environment = {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    command = [sys.executable, "-m", "unmask.consumers.cli.main", "stream", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--only", "everything"), "--only is one of ledger, tables, effects"),
        (("--window-seconds", "a,b"), "--window-seconds is a list"),
        (("--window-seconds", "3600,60"), "smallest first"),
        (("--threshold", "7"), "threshold is a share"),
        (("--capabilities", "https://x/y"), "--capabilities is a list of labels"),
    ],
)
def test_an_option_that_cannot_work_is_refused_with_what_would(arguments: tuple[str, ...], expected: str) -> None:
    code, errors = run(*arguments)
    assert code == 1
    assert f"unmask stream: SettingsError: {expected}" in errors or expected in errors
    assert "Traceback" not in errors


def test_help_names_every_option() -> None:
    answer = RUNNER.invoke(app, ["stream", "--help"], env={"COLUMNS": "200"})
    assert answer.exit_code == 0
    for option in ("--only", "--instance", "--window-seconds", "--grace-seconds", "--threshold", "--capabilities"):
        assert option in answer.output


def test_nobody_who_only_asks_for_help_pays_for_faust() -> None:
    code = "import sys, unmask.streams.cli; sys.exit('faust' in sys.modules or 'aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
