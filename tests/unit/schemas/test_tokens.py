"""Only bounded tokens get out; what is none becomes a digest or a fixed word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.schemas.tokens import INVALID_LABEL, all_tokens, is_token, label, opaque_id

SECRETS = [
    "sk-proj-abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuvwx",
    "AKIAABCDEFGHIJKLMNOP",
    "xoxb-1234567890-abc",
    "hf_abcdefghijklmnopqrstuv",
]
NOT_TOKENS = ["", "-a", ".a", "a b", "a/b", "user@example.com", "https://example.com", "a\n", "é", "a" * 65, "a|b"]


@pytest.mark.parametrize("text", ["a", "A1", "_x", "gpt-5.1", "a" * 64, "2026.1"])
def test_tokens_pass_unchanged(text: str) -> None:
    assert is_token(text)
    assert opaque_id(text) == text
    assert label(text) == text


@pytest.mark.parametrize("text", NOT_TOKENS + SECRETS)
def test_whatever_is_no_token_or_looks_like_a_credential_never_gets_out(text: str) -> None:
    assert not is_token(text)
    assert label(text) == INVALID_LABEL
    assert opaque_id(text).startswith("sha256-")
    assert is_token(opaque_id(text))


@given(st.text())
def test_identifiers_always_become_tokens_and_the_same_one_each_time(text: str) -> None:
    assert is_token(opaque_id(text))
    assert opaque_id(text) == opaque_id(text)
    assert opaque_id(opaque_id(text)) == opaque_id(text)


@given(st.text())
def test_labels_always_become_tokens(text: str) -> None:
    assert is_token(label(text))


def test_other_objects_are_taken_by_their_text() -> None:
    assert opaque_id(42) == "42"
    assert label(None) == "None"


@given(st.lists(st.text(max_size=5), max_size=4))
def test_many_at_once_agree_with_one_by_one(texts: list[str]) -> None:
    assert all_tokens(texts) == all(map(is_token, texts))


def test_a_line_break_inside_a_text_does_not_pass_for_two_tokens() -> None:
    assert not all_tokens(["a", "b\nc", ""])
    assert not all_tokens(["b\nc"])
