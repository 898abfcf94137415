"""The reading commands where nothing can be read: one message, no traceback, and an exit code that says so."""

import json

import pytest
from typer.testing import CliRunner

from unmask.consumers.cli._commands import app
from unmask.consumers.gate import EXIT_CODES, AdmissionAnswer
from unmask.consumers.record_answers import EXIT_CODES as READ_CODES
from unmask.consumers.record_answers import RecordAnswer

RUN = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": "", "UNMASK_NAMESPACE": "", "TERM": "dumb", "COLUMNS": "200"})
NOWHERE = ["--bootstrap", "127.0.0.1:1"]


@pytest.mark.parametrize(
    "command",
    [
        ["topics", "check"],
        ["topics", "create"],
        ["gate", "s-1"],
        ["report", "windows"],
        ["watch"],
        ["doctor"],
        ["timeline", "s-1"],
        ["delegations"],
        ["enforcement"],
        ["gate", "appeal", "s-1", "--by", "ana", "--reason-code", "drill"],
    ],
)
def test_without_any_broker_named_each_command_says_how_to_name_one(command: list[str]) -> None:
    result = RUN.invoke(app, command)
    assert result.exit_code == 1
    assert "KAFKA_BOOTSTRAP_SERVERS" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "command",
    [
        ["gate", "s-1"],
        ["report", "windows"],
        ["watch"],
        ["doctor"],
        ["topics", "check"],
        ["timeline", "s-1"],
        ["delegations"],
        ["enforcement"],
        ["gate", "vindicate", "s-1", "--by", "ana", "--reason-code", "drill"],
    ],
)
def test_a_namespace_that_cannot_be_one_is_a_mistake_of_the_call(command: list[str]) -> None:
    result = RUN.invoke(app, [*command, *NOWHERE, "--namespace", "Not_One"])
    assert result.exit_code == 2
    assert "underscores" in result.output


def test_a_gate_without_a_broker_is_not_ready_by_its_own_exit_code() -> None:
    result = RUN.invoke(app, ["gate", "s-1", "--timeout", "0.5", "--json", *NOWHERE])
    assert result.exit_code == EXIT_CODES[AdmissionAnswer.NOT_READY]
    answer = json.loads(result.stdout)
    assert (answer["answer"], answer["admitted"], answer["mutating"]) == ("NOT_READY", False, True)
    assert "127.0.0.1:1" in answer["reason"]


def test_the_gate_documents_every_exit_code() -> None:
    shown = RUN.invoke(app, ["gate", "--help"]).output
    for answer, code in EXIT_CODES.items():
        assert f"{code:>2}  {answer}:" in shown


def test_an_override_needs_both_a_name_and_a_reason() -> None:
    for half in (["--override-by", "ana"], ["--reason-code", "drill"]):
        assert RUN.invoke(app, ["gate", "s-1", *half, *NOWHERE]).exit_code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--since", "2026-01-01T00:00:00"], "no time zone"),
        (["--since", "soon"], "is no time"),
        (["--until", "9999-12-31T23:00:00Z"], "after the year 9999"),
        (["--capability", "=cmd|x"], "one word of"),
        (["--release-line", "\x1b[31m"], "one word of"),
        (["--composition", "+1"], "one word of"),
        (["--since", "2026-01-01T00:00:00+02:00"], "another zone"),
        (["--since", "400d", "--granularity", "1m"], "larger windows"),
        (["--by", "colour"], "divided by"),
        (["--unknown-tenant", "merge"], "--tenant"),
        (["--json", "--csv"], "choose one"),
    ],
)
def test_a_report_that_makes_no_sense_is_a_mistake_of_the_call(options: list[str], said: str) -> None:
    result = RUN.invoke(app, ["report", "windows", *options, *NOWHERE])
    assert result.exit_code == 2
    assert said in result.output


def test_a_report_and_the_doctor_without_a_broker_fail_and_name_it() -> None:
    for command in (["report", "windows", "--timeout", "0.5"], ["doctor", "--timeout", "0.5"]):
        result = RUN.invoke(app, [*command, *NOWHERE])
        assert result.exit_code == 1
        assert "127.0.0.1:1" in result.output
        assert "Traceback" not in result.output


def test_a_setting_that_the_client_does_not_know_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_KAFKA_NO_SUCH_OPTION", "1")
    result = RUN.invoke(app, ["gate", "s-1", *NOWHERE])
    assert result.exit_code == 1
    assert "no.such.option" in result.stderr
    assert "UNMASK_KAFKA_" in result.stderr


@pytest.mark.parametrize("command", ["timeline", "delegations"])
def test_what_cannot_be_shown_has_its_exit_codes_in_the_help(command: str) -> None:
    shown = RUN.invoke(app, [command, "--help"]).output
    for answer, code in READ_CODES.items():
        assert f"{code:>2}  {answer}:" in shown


@pytest.mark.parametrize("command", ["timeline", "delegations", "enforcement"])
def test_a_schema_is_printed_without_any_broker(command: str) -> None:
    result = RUN.invoke(app, [command, "--schema"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["properties"]["format"] == {"const": 1, "title": "Format", "type": "integer"}


@pytest.mark.parametrize("command", [["timeline", "s-1"], ["delegations"], ["delegations", "d-1", "--session", "s-1"]])
def test_a_broker_that_does_not_answer_makes_nothing_ready_and_is_no_absence(command: list[str]) -> None:
    result = RUN.invoke(app, [*command, "--timeout", "0.5", "--json", *NOWHERE])
    assert result.exit_code == READ_CODES[RecordAnswer.NOT_READY]
    found = json.loads(result.stdout)
    assert found["answer"] == "NOT_READY"
    assert "127.0.0.1:1" in found["reason"]


def test_enforcement_without_a_broker_fails_and_names_it() -> None:
    result = RUN.invoke(app, ["enforcement", "--timeout", "0.5", *NOWHERE])
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("turns", ["a", "9-3", "-"])
def test_turns_that_make_no_sense_are_a_mistake_of_the_call(turns: str) -> None:
    result = RUN.invoke(app, ["timeline", "s-1", f"--turns={turns}", *NOWHERE])
    assert result.exit_code == 2
    assert "--turns" in result.output


def test_a_help_text_breaks_where_the_terminal_does_and_not_where_the_code_did() -> None:
    told = CliRunner().invoke(app, ["verify", "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}).output
    assert "with 2 when it could not be checked. All times are UTC" in " ".join(told.split(" "))
