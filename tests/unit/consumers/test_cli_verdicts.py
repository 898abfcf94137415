"""`unmask verdicts` and `unmask gate stats` where no broker is needed, or none answers."""

import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_keys import load_signing_key, load_trusted_keys

RUN = CliRunner(
    env={
        "KAFKA_BOOTSTRAP_SERVERS": "", "UNMASK_NAMESPACE": "", "UNMASK_SIGNING_KEY": "", "UNMASK_TRUSTED_KEYS": "",
        "TERM": "dumb", "COLUMNS": "200",
    }
)  # fmt: skip
NOWHERE = ["--bootstrap", "127.0.0.1:1"]
WITHDRAW = ["verdicts", "withdraw", "s-1", "--by", "ana", "--reason-code", "drill"]


def test_a_key_is_made_and_told_of_without_its_secret(tmp_path: Path) -> None:
    path = tmp_path / "worker.pem"
    result = RUN.invoke(app, ["verdicts", "keygen", str(path), "--use", "verdicts"])
    assert result.exit_code == 0, result.output
    key = load_signing_key(path)
    assert key.key_id in result.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(line in result.stdout for line in path.read_text().splitlines())
    signature = {"key_id": key.key_id, "algorithm": "ed25519", "value": key.sign(b"x").hex()}
    trust = load_trusted_keys(path.with_name("worker.pem.pub"))
    assert trust.flaw(b"x", signature, KeyUse.VERDICTS) is None
    assert trust.flaw(b"x", signature, KeyUse.ADMISSIONS) is not None
    again = RUN.invoke(app, ["verdicts", "keygen", str(path)])
    assert again.exit_code == 1
    assert "does not exist yet" in again.stderr


@pytest.mark.parametrize("command", [["verdicts", "show", "s-1"], WITHDRAW, ["gate", "stats"]])
def test_without_any_broker_named_each_command_says_how_to_name_one(command: list[str]) -> None:
    result = RUN.invoke(app, command)
    assert result.exit_code == 1
    assert "KAFKA_BOOTSTRAP_SERVERS" in result.stderr


@pytest.mark.parametrize("command", [["verdicts", "show", "s-1"], WITHDRAW, ["gate", "stats"]])
def test_a_broker_that_does_not_answer_is_one_message_and_no_traceback(command: list[str]) -> None:
    result = RUN.invoke(app, [*command, "--timeout", "0.5", *NOWHERE])
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "command", [["gate", "s-1", "--trusted-keys"], ["gate", "stats", "--trusted-keys"], [*WITHDRAW, "--signing-key"]]
)
def test_a_key_file_that_is_not_there_is_named(command: list[str], tmp_path: Path) -> None:
    result = RUN.invoke(app, [*command, str(tmp_path / "missing.pem"), *NOWHERE])
    assert result.exit_code == 1
    assert "missing.pem" in result.stderr


def test_a_session_by_the_name_of_a_subcommand_can_be_asked_for() -> None:
    result = RUN.invoke(app, ["gate", "ask", "stats", "--timeout", "0.3", "--json", *NOWHERE])
    assert result.exit_code == 26
    assert '"session_id": "stats"' in result.stdout
