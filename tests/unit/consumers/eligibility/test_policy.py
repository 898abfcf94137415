"""The policy: whoever sets it is printed, and one that asks for nothing is none."""

from pathlib import Path

import pytest

from unmask.consumers.eligibility import DAY, Policy, PolicyError, policy_from, read_policy_file
from unmask.consumers.eligibility.policy_file import PolicyFile

FILE = """
days = 14
attempts = 500
parity_max_age_days = 3
suites = ["golden"]
capabilities = ["search", "summarize"]
set_by = "ana"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_default_is_four_weeks_and_ten_thousand_attempts_set_by_nobody() -> None:
    policy = policy_from(None)
    assert (policy.days, policy.attempts, policy.parity_max_age) == (28, 10_000, 7 * DAY)
    assert (policy.set_by, policy.source, policy.weaker_in()) == (None, "the defaults", ())


def test_a_file_sets_everything_and_says_who_did(tmp_path: Path) -> None:
    file = read_policy_file(written(tmp_path, FILE))
    policy = policy_from(file, name="policy.toml")
    assert policy == Policy(14, 500, 3 * DAY, ("golden",), "ana", "the file policy.toml")
    assert file.capabilities == ("search", "summarize")
    assert policy.weaker_in() == ("days", "attempts")


def test_what_a_file_leaves_out_is_the_default_s(tmp_path: Path) -> None:
    assert policy_from(read_policy_file(written(tmp_path, "attempts = 20_000")), name="f").days == 28


def test_options_go_before_the_file_and_its_author_does_not_answer_for_them(tmp_path: Path) -> None:
    file = read_policy_file(written(tmp_path, FILE))
    policy = policy_from(file, name="policy.toml", days=7)
    assert (policy.days, policy.attempts, policy.set_by) == (7, 500, None)
    assert policy.source == "the file policy.toml and options"
    assert policy_from(file, name="policy.toml", days=7, set_by="bo").set_by == "bo"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("days = 0", "1 to 180"),
        ("days = 28.5", "days"),
        ('days = "28"', "days"),
        ("days = true", "days"),
        ("attempts = 0", "at least 1"),
        ("dayz = 3", "a policy has days, attempts"),
        ('suites = ["two words"]', "suites"),
        ("parity_max_age_days = 0", "parity run"),
        ('set_by = ""', "printable"),
        ('set_by = "a\\u0007b"', "printable"),
        ("days = ", "no TOML"),
    ],
)
def test_a_file_that_cannot_be_a_policy_is_refused_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        policy_from(read_policy_file(written(tmp_path, text)), name="policy.toml")


def test_a_file_that_is_not_there_is_a_policy_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        read_policy_file(tmp_path / "none.toml")


def test_a_file_s_name_is_printed_without_what_a_terminal_would_obey() -> None:
    policy = policy_from(PolicyFile(days=1), name="p\n\x1b[2Jset by: nobody.toml")
    assert policy.source == "the file p??[2Jset by: nobody.toml"
