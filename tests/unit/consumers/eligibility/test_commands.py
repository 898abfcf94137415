"""`unmask report eligibility` and `unmask evidence` before anything is read: one message, and an exit code."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.consumers.eligibility import EXIT_CODES

RUN = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": "", "UNMASK_NAMESPACE": "", "TERM": "dumb", "COLUMNS": "200"})
NOWHERE = ["--bootstrap", "127.0.0.1:1", "--timeout", "0.5"]
ELIGIBILITY = ["report", "eligibility", *NOWHERE]


def test_the_help_documents_every_exit_code_and_that_nothing_is_authorised() -> None:
    shown = " ".join(RUN.invoke(app, ["report", "eligibility", "--help"]).output.split())
    assert "It authorises nothing" in shown
    for answer, code in EXIT_CODES.items():
        assert f"{code} {answer}" in shown


@pytest.mark.parametrize("command", [ELIGIBILITY, ["evidence", "list", *NOWHERE]])
def test_a_broker_that_is_not_there_is_a_failure_and_no_answer(command: list[str]) -> None:
    result = RUN.invoke(app, command)
    assert result.exit_code == 1
    assert "No Kafka broker at 127.0.0.1:1" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--days", "0"], "1 to 180"),
        (["--attempts", "0"], "at least 1"),
        (["--parity-max-age", "7"], "no age"),
        (["--parity-max-age", "0d"], "parity run"),
        (["--suite", "two words"], "a suite is one word"),
        (["--capability", "two words"], "a capability is one word"),
        (["--policy", "/nowhere.toml"], "cannot be read"),
        (["--set-by", "a\tb"], "printable"),
    ],
)
def test_a_policy_that_cannot_be_is_a_mistake_of_the_call(options: list[str], said: str) -> None:
    result = RUN.invoke(app, [*ELIGIBILITY, *options])
    assert result.exit_code == 2
    assert said in result.output


def publish(
    folder: Path, *options: str, text: str = '<testsuite timestamp="2026-01-01T12:00:00Z"/>'
) -> tuple[int, str]:
    file = folder / "run.xml"
    file.write_text(text)
    words = ["evidence", "publish", "--suite", "golden", "--release-line", "2026.1", "--junit", str(file), *NOWHERE]
    result = RUN.invoke(app, [*words, *options])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--suite", "two words"], "a suite is one word"),
        (["--release-line", "https://x"], "a release line is one word"),
        (["--composition", "*"], "a composition is one word"),
        (["--capability", "a|b"], "a capability is one word"),
        (["--run-at", "2999-01-01T00:00:00Z"], "in the future"),
        (["--run-at", "now"], "may not make it younger"),
        (["--run-at", "2025-12-31T00:00:00Z"], "No Kafka broker"),
        ([], "No Kafka broker"),
    ],
)
def test_what_cannot_be_published_is_refused_with_the_reason(tmp_path: Path, options: list[str], said: str) -> None:
    code, output = publish(tmp_path, *options)
    assert (code, said in output) == (1, True), output


def test_when_a_run_began_is_never_guessed(tmp_path: Path) -> None:
    code, output = publish(tmp_path, text="<testsuite timestamp='2026-01-01T12:00:00'/>")
    assert (code, "--run-at" in output) == (1, True)
    assert publish(tmp_path, "--run-at", "2026-01-01T12:00:00")[0] == 2
    assert publish(tmp_path, "--run-at", "9999-12-31T23:59:59-14:00")[0] == 2


def test_a_file_with_a_document_type_is_not_published(tmp_path: Path) -> None:
    code, output = publish(tmp_path, text="<!DOCTYPE testsuite><testsuite/>")
    assert (code, "document type" in output) == (1, True)
