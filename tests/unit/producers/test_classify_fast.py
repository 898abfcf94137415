"""What makes the classifiers fast does not change what they answer."""

import gc
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.producers import classify_reason, classify_refusal, classify_upstream, spellings
from unmask.producers.classify_kinds import PerClass, kind_of
from unmask.producers.remembered import LONGEST, Remembered
from unmask.producers.sieve import Sieve
from unmask.schemas.codes import ReasonCode

SPELLINGS = [
    *((spellings._SIEVE, bit, pattern) for bit, _, pattern in spellings._WORDS),
    (spellings._SIEVE, spellings._PHRASE_BIT, spellings._PHRASE),
    *((classify_reason._SIEVE, bit, pattern) for bit, _, pattern in classify_reason._WORDS),
]


@pytest.mark.parametrize(("sieve", "bit", "pattern"), SPELLINGS, ids=lambda value: str(value)[:30])
def test_the_sieve_keeps_every_text_that_a_pattern_matches(sieve: Sieve, bit: int, pattern: re.Pattern[str]) -> None:
    @settings(max_examples=60, database=None, deadline=None)
    @given(st.from_regex(pattern), st.sampled_from(["", " and 7 more", "\n"]))
    def check(text: str, rest: str) -> None:
        if pattern.search(text + rest):
            assert sieve.of(text + rest) & bit

    check()


@given(st.from_regex(classify_reason._OPERATOR, fullmatch=True).map(lambda text: text.replace("_", " ")))
def test_an_operators_choice_passes_the_sieve(text: str) -> None:
    assert classify_reason._SIEVE.of(text) & classify_reason._NORMAL_BIT


@pytest.mark.parametrize("code", list(ReasonCode))
def test_a_code_in_another_spelling_passes_the_sieve(code: ReasonCode) -> None:
    assert classify_reason._SIEVE.of(f"<{code.replace('_', '-').upper()}>") & classify_reason._NORMAL_BIT


def test_letters_that_are_the_same_only_where_case_is_ignored_pass_the_sieve() -> None:
    assert classify_upstream("connection re\u017fet") == "CONNECTION_RESET"


def test_an_answer_is_the_same_the_second_time() -> None:
    asked: list[str] = []

    def ask(text: str) -> int:
        asked.append(text)
        return len(text)

    length = Remembered(ask)
    texts = ["", "a", "b" * LONGEST, "c" * (LONGEST + 5)]
    assert [length(text) for text in texts * 2] == [0, 1, LONGEST, LONGEST] * 2
    assert len(asked) == len(texts)
    for number in range(5_000):
        assert length(f"{number:x}") == len(f"{number:x}")
    assert len(length._known) <= 1_024


def test_nothing_is_remembered_of_a_text_but_its_hash() -> None:
    assert classify_refusal("the account of canary-4711 timed out") is ReasonCode.TIMEOUT
    assert classify_refusal(RuntimeError("canary-4711 again: rate limit")) is ReasonCode.RATE_LIMITED
    kept = [spellings._SIEVE._known, classify_reason._SIEVE._known, spellings.signature_in._known,
            classify_reason._of_text._known, classify_reason._spelled._known]  # fmt: skip
    assert all(kept)
    assert "canary" not in repr(kept)


def test_a_text_of_a_class_of_its_own_is_not_remembered() -> None:
    class Odd(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return hash("x")

        def __getitem__(self, key: object) -> "Odd":
            return self

    length = Remembered(len)
    assert [length("x"), length(Odd("xyz")), length("x")] == [1, 3, 1]


def test_what_a_class_says_is_worked_out_once_and_not_kept_for_ever() -> None:
    asked: list[str] = []

    def ask(cls: type[BaseException]) -> str:
        asked.append(cls.__name__)
        return cls.__name__

    named = PerClass(ask)
    assert [named[ValueError], named[ValueError]] == ["ValueError"] * 2
    assert asked == ["ValueError"]
    for number in range(3_000):
        assert named[type(f"Made{number}", (Exception,), {})] == f"Made{number}"
    assert len(named) <= 1_024


def test_a_class_that_looks_attributes_up_in_its_own_way_is_asked_for_each() -> None:
    class Lazy(Exception):
        def __getattr__(self, name: str) -> int:
            if name == "status_code":
                return 503
            raise AttributeError(name)

    assert not kind_of[Lazy].plain
    assert classify_upstream(Lazy()) == "HTTP_503"
    assert classify_refusal(Lazy()) is ReasonCode.UPSTREAM_ERROR


def test_a_code_on_one_exception_says_nothing_about_the_next_of_its_class() -> None:
    class ReadTimeout(Exception):
        pass

    plain, coded = ReadTimeout(), ReadTimeout()
    coded.code = "insufficient_quota"  # type: ignore[attr-defined]
    reasons = [classify_refusal(error) for error in (plain, coded, plain)]
    assert reasons == [ReasonCode.TIMEOUT, ReasonCode.QUOTA_EXHAUSTED, ReasonCode.TIMEOUT]


def test_what_was_being_handled_is_still_asked_where_an_exception_says_nothing() -> None:
    quiet = RuntimeError("it did not work")
    assert classify_refusal(quiet) is ReasonCode.UNKNOWN_REFUSAL
    quiet.__context__ = TimeoutError()
    assert classify_refusal(quiet) is ReasonCode.TIMEOUT
    quiet.__suppress_context__ = True
    assert classify_refusal(quiet) is ReasonCode.UNKNOWN_REFUSAL
    assert classify_refusal(RuntimeError(ConnectionRefusedError())) is ReasonCode.UPSTREAM_UNREACHABLE


def test_the_fields_of_an_exception_may_be_any_mapping_of_the_hosts() -> None:
    class Fields(dict[str, object]):
        pass

    error = RuntimeError("x")
    error.__dict__ = Fields(status_code=503)
    assert classify_upstream(error) == "HTTP_503"
    assert gc.is_tracked(error)
