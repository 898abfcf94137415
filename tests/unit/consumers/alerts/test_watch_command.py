"""`unmask watch` with a receiver: mistakes of the call, and what is said where nothing can be read."""

import pytest
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app

RUN = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": "", "UNMASK_NAMESPACE": "", "TERM": "dumb", "COLUMNS": "200"})
NOWHERE = ["--bootstrap", "127.0.0.1:1"]
WEBHOOK = ["--webhook", "https://user:pass@hooks.example.org/s3cret?key=k3y"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--webhook", "http://a.example/", "--alertmanager", "http://b.example/"], "one watcher serves one receiver"),
        (["--webhook", "hooks.example.org"], "https://hooks.example.org"),
        (["--alertmanager", "am:9093"], "no http:// or https://"),
        ([*WEBHOOK, "--name", "no such name"], "at most 64"),
        ([*WEBHOOK, "--timeout", "0"], "--timeout"),
        ([*WEBHOOK, "--resolve-after", "1"], "--resolve-after"),
    ],
)
def test_what_makes_no_sense_is_a_mistake_of_the_call(options: list[str], said: str) -> None:
    result = RUN.invoke(app, ["watch", *NOWHERE, *options])
    assert result.exit_code == 2
    assert said in result.output


def test_without_a_broker_it_fails_names_it_and_shows_nothing_secret() -> None:
    result = RUN.invoke(app, ["watch", *NOWHERE, *WEBHOOK], env={"UNMASK_WATCH_AUTHORIZATION": "Bearer t0ken"})
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr
    for secret in ("pass", "s3cret", "k3y", "t0ken", "Traceback"):
        assert secret not in result.output


def test_the_receiver_may_come_from_the_environment() -> None:
    result = RUN.invoke(app, ["watch", *NOWHERE], env={"UNMASK_WATCH_WEBHOOK": "nonsense"})
    assert result.exit_code == 2
    assert "--webhook" in result.output


def test_a_credential_is_no_option_that_whoever_lists_processes_could_read() -> None:
    assert RUN.invoke(app, ["watch", *NOWHERE, *WEBHOOK, "--authorization", "x"]).exit_code == 2
    result = RUN.invoke(app, ["watch", *NOWHERE, *WEBHOOK], env={"UNMASK_WATCH_AUTHORIZATION": "a\nb"})
    assert result.exit_code == 2
    assert "authorization" in result.output


def test_a_file_that_cannot_be_written_is_named_before_anything_is_read(tmp_path: object) -> None:
    result = RUN.invoke(app, ["watch", *NOWHERE, *WEBHOOK, "--set-aside", f"{tmp_path}/none/x"])
    assert result.exit_code == 1
    assert "--set-aside" in result.stderr


def test_the_help_says_where_progress_stands_and_where_credentials_come_from() -> None:
    shown = " ".join(RUN.invoke(app, ["watch", "--help"]).output.split())
    assert "no alert is lost while the receiver is away" in shown
    assert "UNMASK_WATCH_AUTHORIZATION" in shown
