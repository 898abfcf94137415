"""`unmask verify` where nothing can be read: one message, no traceback, exit code 2."""

import pytest
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app

RUN = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": "", "UNMASK_NAMESPACE": "", "TERM": "dumb", "COLUMNS": "200"})
NOWHERE = ["--bootstrap", "127.0.0.1:1", "--timeout", "1"]


def test_without_a_broker_that_answers_it_could_not_be_checked() -> None:
    result = RUN.invoke(app, ["verify", *NOWHERE])
    assert result.exit_code == 2
    assert "KAFKA_BOOTSTRAP_SERVERS" in result.stderr
    assert "Traceback" not in result.output


def test_without_any_broker_named_it_says_how_to_name_one() -> None:
    result = RUN.invoke(app, ["verify"])
    assert result.exit_code == 2
    assert "KAFKA_BOOTSTRAP_SERVERS" in result.stderr


@pytest.mark.parametrize("options", [["--namespace", "Not_One"], ["--window-seconds", "-1"], ["--threshold", "1.5"]])
def test_an_option_that_cannot_be_is_a_mistake_of_the_call(options: list[str]) -> None:
    assert RUN.invoke(app, ["verify", *NOWHERE, *options]).exit_code == 2
