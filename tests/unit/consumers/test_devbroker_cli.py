import os
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from unmask.consumers.cli import _commands
from unmask.consumers.cli._commands import app, command_names, load
from unmask.consumers.devbroker.ports import free_ports

RUN = CliRunner()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "UNMASK_DEV_BROKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UNMASK_BROKER_DIR", str(tmp_path / "broker"))


def test_status_exits_with_one_when_no_broker_answers() -> None:
    result = RUN.invoke(app, ["broker", "status"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "unmask broker start" in result.stderr


def test_stopping_where_nothing_was_started_says_so() -> None:
    result = RUN.invoke(app, ["broker", "stop"])
    assert result.exit_code == 0
    assert "No broker was started here" in result.stderr


def test_a_failed_start_is_one_clear_message_and_exit_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{free_ports(1)[0]}")
    result = RUN.invoke(app, ["broker", "start"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "no broker answers there" in result.stderr


def test_every_module_of_the_command_line_is_a_command_that_loads() -> None:
    assert "broker" in command_names()
    for name in _commands._own_names():
        assert isinstance(load(name), typer.Typer), name


def test_an_unknown_command_is_refused() -> None:
    assert load("no-such-command") is None
    assert RUN.invoke(app, ["no-such-command"]).exit_code == 2


def test_a_command_whose_modules_are_missing_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules is how Python itself marks a module that must not be found.
    for name in [name for name in sys.modules if name.startswith("unmask.streams")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(_commands, "entry_points", _entry_point_to_a_missing_module)
    result = RUN.invoke(app, ["stream", "--only", "ledger"])
    assert result.exit_code == 1
    assert "pip install 'unmask[streams]'" in result.stderr


def test_calling_one_command_imports_no_other_commands_dependencies() -> None:
    probe = (
        "import sys; from unmask.consumers.cli._commands import load; load('broker'); "
        "sys.exit(','.join(sorted({'faust', 'aiohttp', 'numpy'} & set(sys.modules))) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_without_the_cli_extra_the_script_says_how_to_install_it(tmp_path: Path) -> None:
    probe = "import sys; sys.modules['typer'] = None; from unmask.consumers.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False, env={**os.environ})
    assert run.returncode == 1
    assert "pip install 'unmask[cli]'" in run.stderr


def _entry_point_to_a_missing_module(group: str, name: str = "stream") -> EntryPoints:
    point = EntryPoint("stream", "a_module_that_is_not_installed:stream", _commands.ENTRY_POINT_GROUP)
    return EntryPoints([point]).select(group=group, name=name)
