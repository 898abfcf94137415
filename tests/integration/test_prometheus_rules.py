"""The rules for Prometheus, checked and tested by Debian's promtool; and Alertmanager's example by its amtool."""

import subprocess
from pathlib import Path

import pytest
from tests.debian_commands import debian_command

# Longer than usual, since what it drives may have to be installed first.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy/prometheus"
RULES, RULE_TESTS = FOLDER / "unmask.rules.yml", FOLDER / "unmask.rules.test.yml"


def run(command: str, *arguments: str, folder: Path = FOLDER) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [debian_command(command), *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def alert_names() -> list[str]:
    lines = (line.strip() for line in RULES.read_text().splitlines())
    return [line.removeprefix("- alert: ") for line in lines if line.startswith("- alert: ")]


def without(alert: str, text: str) -> str:
    """The rules with one alert's expression replaced by one that never holds."""
    head, _, tail = text.partition(f"- alert: {alert}\n")
    lines = tail.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.strip().startswith("expr:"))
    last = first + 1
    while lines[last].startswith(" " * 10):
        last += 1
    return head + f"- alert: {alert}\n" + "".join([*lines[:first], "        expr: vector(0) > 1\n", *lines[last:]])


def test_the_rules_and_the_scrape_configuration_are_valid() -> None:
    for arguments in (
        ("check", "rules", "--lint=all", "--lint-fatal", RULES.name),
        ("check", "config", "prometheus.yml"),
    ):
        checked = run("promtool", *arguments)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_rules_do_what_their_tests_say() -> None:
    tested = run("promtool", "test", "rules", RULE_TESTS.name)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.mark.parametrize("alert", alert_names())
def test_no_alert_could_stop_firing_unnoticed(alert: str, tmp_path: Path) -> None:
    (tmp_path / RULES.name).write_text(without(alert, RULES.read_text()))
    (tmp_path / RULE_TESTS.name).write_text(RULE_TESTS.read_text())
    assert run("promtool", "check", "rules", RULES.name, folder=tmp_path).returncode == 0
    assert run("promtool", "test", "rules", RULE_TESTS.name, folder=tmp_path).returncode == 1


def test_the_example_for_alertmanager_is_valid() -> None:
    checked = run("amtool", "check-config", "alertmanager.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_rule_points_to_its_own_runbook() -> None:
    lines = [line.strip() for line in RULES.read_text().splitlines()]
    runbooks = [line.removeprefix("runbook: ") for line in lines if line.startswith("runbook: ")]
    assert runbooks == [f"docs/operations/alerts.md#{name.lower()}" for name in alert_names()]
