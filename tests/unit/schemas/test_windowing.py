"""Windows tile the time axis in UTC, and every instant is in exactly one of a size."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from unmask.schemas.windowing import LIFETIME, MICROS, window_end, window_start, windows_touching

INSTANTS = st.integers(-(10**17), 10**17)
SIZES = st.sampled_from([10, 60, 3600])


@given(INSTANTS, SIZES)
def test_an_instant_is_in_its_window(micros: int, seconds: int) -> None:
    start = window_start(micros, seconds)
    assert start <= micros < window_end(start, seconds)
    assert start % (seconds * MICROS) == 0


def test_a_window_ends_where_the_next_begins() -> None:
    assert window_start(window_end(0, 60), 60) == 60 * MICROS
    assert window_start(window_end(0, 60) - 1, 60) == 0


def test_the_lifetime_window_holds_everything() -> None:
    assert window_start(10**15, LIFETIME) == 0
    assert list(windows_touching(5, 10**15, LIFETIME)) == [0]


@given(INSTANTS, st.integers(0, 10**9), SIZES)
def test_the_windows_that_touch_an_interval_are_all_of_it_and_no_more(first: int, length: int, seconds: int) -> None:
    last = first + length
    starts = list(windows_touching(first, last, seconds))
    assert starts[0] == window_start(first, seconds)
    assert starts[-1] == window_start(last, seconds)
    assert all(b - a == seconds * MICROS for a, b in pairwise(starts))
