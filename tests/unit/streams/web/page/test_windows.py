"""A window on the page says what the report says: no count without evidence, no rate without proof."""

import pytest
from tests.table_records import BLUE, GREEN, at
from tests.unit.streams.web.page.answering import overview_of
from tests.unit.streams.web.page.remembering import memory, put_window, window

from unmask.schemas.codes import Evidence
from unmask.streams.web.page.html.windows import windows_section
from unmask.streams.web.page.limits import Limits
from unmask.streams.web.page.lines.windows import labelled_windows, whole_windows
from unmask.streams.web.page.values import WindowLine


def line_of(**parts: object) -> WindowLine:
    known = memory()
    put_window(known, window(**parts))  # type: ignore[arg-type]
    (size,) = whole_windows(known, at(1))
    (line,) = size.windows
    return line


def test_a_complete_window_has_counts_and_a_rate() -> None:
    line = line_of()
    assert (line.attempts, line.fallbacks_total, line.rate, line.rate_state) == (100, 3, 0.03, "COMPLETE")
    assert line.over


@pytest.mark.parametrize("state", ["LOSSY", "PENDING"])
def test_a_window_that_proves_less_has_its_counts_and_no_rate(state: str) -> None:
    line = line_of(state=state)
    assert (line.attempts, line.rate, line.rate_state) == (100, None, state)


def test_an_absent_window_has_no_counts_at_all() -> None:
    line = line_of(state="ABSENT", attempts=0, fallbacks=0)
    assert (line.attempts, line.fallbacks_total, line.masked_errors, line.emitters) == (None, None, None, None)
    assert (line.rate, line.rate_state) == (None, "ABSENT")


def test_no_attempts_are_no_rate_of_zero() -> None:
    line = line_of(attempts=0, fallbacks=0)
    assert (line.rate, line.rate_state) == (None, "NO_ATTEMPTS")


def test_a_rate_needs_both_of_its_families_and_no_other() -> None:
    assert line_of(states={"kernel_fallback": "LOSSY"}).rate is None
    other = line_of(states={"masked_error": "LOSSY"})
    assert (other.state, other.rate) == (Evidence.LOSSY, 0.03)


def test_counts_of_two_compositions_have_no_rate_together() -> None:
    known = memory()
    other = BLUE._replace(release_line="r3", switchboard="board.b")
    for scope in (None, BLUE, GREEN, other):
        put_window(known, window(scope=scope))
    found = labelled_windows(known, 60, at(0), at(2))
    assert found is not None
    whole, lines = found
    assert (whole.rate, whole.rate_state) == (None, "MIXED_COMPOSITIONS")
    assert [line.rate for line in lines] == [0.03, 0.03, 0.03]
    idle = memory()
    for scope in (None, BLUE):
        put_window(idle, window(scope=scope))
    put_window(idle, window(scope=other, attempts=0, fallbacks=0))
    assert overview_of(idle).sizes[0].windows[0].rate == 0.03


def test_losses_are_told_by_cause_and_without_a_word() -> None:
    evidence = window(state="LOSSY")["evidence"]
    evidence[0] |= {"missing": 4, "causes": ["gap"], "dropped": [{"cause": "buffer_full", "count": 2}]}
    line = line_of(evidence=evidence)
    assert (line.losses, line.causes) == ({"buffer_full": 2, "missing": 4}, ("gap",))


def test_a_capability_knows_nothing_of_what_is_not_counted_by_capability() -> None:
    known = memory()
    put_window(known, window())
    for scope in (GREEN, BLUE):
        put_window(known, window(scope=scope))
        put_window(known, window(scope=scope, capability="search", masked_errors=0))
    found = labelled_windows(known, 60, at(0), at(2))
    assert found is not None
    whole, lines = found
    assert (whole.release_line, whole.capability) == (None, None)
    assert [(line.release_line, line.capability) for line in lines] == [
        ("r1", None), ("r1", "search"), ("r2", None), ("r2", "search"),
    ]  # fmt: skip
    assert [line.masked_errors for line in lines] == [2, None, 2, None]
    assert labelled_windows(known, 60, at(1), at(2)) is None


def test_every_state_is_told_by_word_and_by_a_shape_of_its_own() -> None:
    known = memory()
    for minute, state in enumerate(Evidence):
        put_window(known, window(state=state.value, minute=minute))
    html = windows_section(overview_of(known), Limits())
    shapes = {"COMPLETE": "good", "LOSSY": "bad", "PENDING": "wait", "ABSENT": "none"}
    for word, shape in shapes.items():
        assert f'<use href="#i-{shape}"></svg><span>{word}</span>' in html
        assert f'<use href="#i-{shape}"></svg><span class="unseen">' in html
    assert len(set(shapes.values())) == len(shapes)


def test_a_window_that_is_not_over_shows_how_much_of_it_has_passed() -> None:
    known = memory()
    put_window(known, window(state="PENDING"))
    assert '<progress value="25" max="100"' in windows_section(overview_of(known, now=at(0.25)), Limits())
    assert "<progress" not in windows_section(overview_of(known, now=at(1)), Limits())


def test_nothing_known_is_said_in_words() -> None:
    assert "No window is known yet" in windows_section(overview_of(memory()), Limits())
