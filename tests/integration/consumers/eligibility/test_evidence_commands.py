"""`unmask evidence` on a real broker: the newest run of each key stands, and what cannot be read is named."""

import json
from pathlib import Path

import pytest
from tests.integration.consumers.conftest import Publish
from typer.testing import CliRunner, Result

from unmask.consumers.cli._commands import app
from unmask.schemas.keys import parity_key
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration


def run(kafka: str, namespace: str, *words: str) -> Result:
    return CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": kafka, "UNMASK_NAMESPACE": namespace}).invoke(app, words)


def put(kafka: str, namespace: str, folder: Path, outcome: str, *options: str) -> Result:
    file = folder / "run.xml"
    file.write_text(
        f'<testsuite timestamp="2026-01-01T12:00:00Z"><testcase name="secret">{outcome}</testcase></testsuite>'
    )
    words = ("evidence", "publish", "--suite", "golden", "--release-line", "2026.1", "--junit", str(file))
    return run(kafka, namespace, *words, *options)


def test_a_later_run_replaces_the_one_before_it_of_the_same_key_alone(
    kafka: str, topics: Topics, tmp_path: Path
) -> None:
    where = topics.namespace
    composition = "0123456789abcdef"
    assert run(kafka, where, "evidence", "list").stdout == "No parity run is published.\n"
    red = put(kafka, where, tmp_path, "<failure/>", "--json")
    assert red.exit_code == 0, red.output
    assert json.loads(red.stdout)["failures"] == 1
    assert put(kafka, where, tmp_path, "<skipped/>", "--composition", composition).exit_code == 0
    green = put(kafka, where, tmp_path, "", "--capability", "summarize", "--capability", "search")
    assert green.stdout.startswith(
        f"Published on {topics.parity.name}: suite golden for 2026.1 / any: 1 tests, 0 failed"
    )
    first, second = run(kafka, where, "evidence", "list").stdout.splitlines()
    assert first.startswith(
        "golden  2026.1 / any  green: 1 tests, 0 failed, 0 in error, 0 skipped, for search, summarize"
    )
    assert second.startswith(f"golden  2026.1 / {composition}  not green: 1 tests, 0 failed, 0 in error, 1 skipped")


def test_a_record_that_is_none_is_named_and_never_taken_for_a_run(
    kafka: str, topics: Topics, publish: Publish, tmp_path: Path
) -> None:
    assert put(kafka, topics.namespace, tmp_path, "").exit_code == 0
    publish(
        topics.parity.name,
        [(parity_key("golden", "2026.2", None), b"nonsense"), ("gone|2026.1|*", None), ("a\x1b[2J\n|b", b"x")],
    )
    listed = run(kafka, topics.namespace, "evidence", "list")
    assert listed.stdout.count("\n") == 1
    assert listed.stderr.splitlines() == [
        "The record of a\\x1b[2J\\n|b cannot be read.",
        "The record of golden|2026.2|* cannot be read.",
    ]


def test_a_topic_that_is_not_there_is_told_with_what_makes_it(kafka: str, namespace: str, tmp_path: Path) -> None:
    for result in (
        put(kafka, namespace, tmp_path, ""),
        run(kafka, namespace, "evidence", "list"),
        run(kafka, namespace, "report", "eligibility"),
    ):
        assert result.exit_code == 1
        assert "unmask topics create" in result.stderr
        assert result.stdout == ""


def test_an_empty_pipeline_refuses_in_words(kafka: str, topics: Topics) -> None:
    result = run(kafka, topics.namespace, "report", "eligibility")
    assert result.exit_code == 31
    assert "Nothing that was asked for was counted in the last 28 d. That is not a zero." in result.stdout
    assert "Pipeline NOT_STARTED: No worker has ever run here" in result.stdout
    assert "start a worker" in result.stderr
