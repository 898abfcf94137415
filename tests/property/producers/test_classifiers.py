"""Whatever comes in, the classifiers answer from their closed sets and keep nothing of it."""

import re
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from unmask.producers import classify_refusal, classify_upstream
from unmask.schemas.codes import ReasonCode
from unmask.schemas.signatures import is_signature

CANARY = "canary8f3e"

fragments = st.sampled_from(
    ["timed out", "503", "after 5 s", "rate limit", "quota", "finish_reason: error", "connection reset", "rollback",
     "https://user:pass@host/x?key=1", "a@b.org", "sk-live-0123456789abcdef", "\n", "\x00", "ß", "TIMEOUT_1ms",
     "7000ms"]
)  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.one_of(fragments, st.text(max_size=8))).map(" ".join))
anything: st.SearchStrategy[Any] = st.one_of(
    texts,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(),
    st.lists(texts),
    st.dictionaries(texts, texts),
)


class Hostile(Exception):
    """An exception whose every reading does what the test says."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args[:1])
        self.answer = args[1]

    def __str__(self) -> str:
        text: str = _do(object.__getattribute__(self, "answer"))
        return text

    def __getattr__(self, name: str) -> Any:
        return _do(object.__getattribute__(self, "answer"))


def _do(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


answers = st.one_of(
    anything,
    st.sampled_from([ValueError("x"), RecursionError(), MemoryError(), UnicodeDecodeError("utf-8", b"x", 0, 1, "")]),
)


@given(anything)
@example("x" * 100_000)
@example("time" * 50_000)
@example("timed " * 50_000)
@example(10**400)
def test_signatures_are_always_of_the_grammar(raw: object) -> None:
    assert is_signature(classify_upstream(raw))


@given(anything)
@example("roll_back_" * 10_000)
def test_reasons_are_always_of_the_set(raw: object) -> None:
    reason = classify_refusal(raw)
    assert reason is None or type(reason) is ReasonCode


@given(st.lists(anything, max_size=3), answers)
def test_no_exception_can_make_a_classifier_raise(arguments: list[Any], answer: Any) -> None:
    error = Hostile(arguments, answer)
    assert is_signature(classify_upstream(error))
    assert type(classify_refusal(error)) is ReasonCode


@given(texts, texts)
def test_nothing_of_the_text_is_in_the_answer(before: str, after: str) -> None:
    text = f"{before} {CANARY} {after}"
    for raw in (text, ValueError(text), type(CANARY, (Exception,), {"code": CANARY, "type": CANARY})(text)):
        answers = f"{classify_upstream(raw)} {classify_refusal(raw)}"
        assert CANARY not in answers.lower()
        assert re.fullmatch(r"[A-Z_]+(?:_?\d+(?:ms)?)? [a-z_]+|[A-Z_0-9ms]+ None", answers), answers
